/** Owns the error for a damaged page, and the texts of the faults that a page may have. */
import { ServiceError } from '../lib/errors.ts';

/**
 * The error for a page that is damaged at the byte `offset`. No part of a damaged page is used. Invariant: the message
 * contains no bytes of the page, which are the operator's data.
 */
export class PageError extends ServiceError {
  /** The offset of the first wrong byte in the page. */
  readonly offset: number;

  constructor(what: string, offset: number) {
    super(`the reply is damaged at byte ${offset}: ${what}`, {
      why: 'a page of documents must be whole, valid JSON in UTF-8',
      hint: 'run the command again; if it happens at the same place, a proxy in between may change replies',
      details: { offset },
    });
    this.offset = offset;
  }
}

/**
 * Returns the error for a document or a change in a change feed that has no LSN. It is not a PageError: the page is
 * whole, so another reading would show the same, and without the LSN nothing can be placed before or after an anchor.
 */
export function lsnMissing(): ServiceError {
  return new ServiceError('a document in a change feed has no _lsn', {
    why: 'it gives changes their order; the service adds it to every document in a feed',
    hint: 'check whether a proxy in between changes replies; if there is none, run cosmig doctor --probe and report the result',
  });
}

/**
 * The texts of the faults that the kernel reports. The index of a text is the number of the fault; 0 means no fault.
 */
export const FAULTS: readonly string[] = [
  'nothing',
  'it ends in the middle',
  'something follows its end',
  'it does not start as expected',
  'it has no array of documents',
  'a document is not an object',
  'a comma or the end of a list is missing',
  'a colon is missing',
  'a name is missing',
  'a control character stands in a text',
  'an escape is not known',
  'a value is missing',
  'a number is incomplete',
  'it is nested too deeply',
  'it has too many documents for the memory',
];
/** Faults that are detected before the kernel reads the page. */
export const NOT_UTF8 = 'it is not UTF-8';
export const TOO_LARGE = 'it is larger than any page';
