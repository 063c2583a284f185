/**
 * The page that is scanned, and the fault that was found in it. Invariant: a fault is recorded in `faultKind` and `faultAt`,
 * and ends the call with a trap.
 */

// The numbers of the faults. Their texts are in src/documents/page-error.ts.
export const END = 1;
export const TRAILING = 2;
export const PAGE = 3;
export const DOCUMENTS = 4;
export const ELEMENT = 5;
export const COMMA = 6;
export const COLON = 7;
export const NAME = 8;
export const CONTROL = 9;
export const ESCAPE = 10;
export const VALUE = 11;
export const NUMBER = 12;
export const DEPTH = 13;
export const MEMORY = 14;

export let faultKind: i32 = 0;
/** The offset of the fault in the page. */
export let faultAt: i32 = 0;

/** The address of the first byte of the page, and that after the last one. */
export let page: usize = 0;
export let end: usize = 0;

/** Begins with another page, and forgets the last fault. */
export function beginPage(from: usize, until: usize): void {
  page = from;
  end = until;
  faultKind = 0;
}

export function fail(kind: i32, at: usize): void {
  faultKind = at >= end ? END : kind;
  faultAt = i32((at >= end ? end : at) - page);
  unreachable();
}
