/**
 * How a document is named in the runs: its id, the levels of its source key and those of its target key, as they stand
 * in its JSON. What always holds: no other value of it is kept.
 */
import type { ByteOutput } from '../documents/byte-output.ts';
import { isComposite } from '../documents/scalar.ts';
import type { PageScan } from '../documents/page-scan.ts';
import type { KeyComponent } from '../epk/effective-key.ts';

/** Values as JSON texts; null where there is none. */
export interface Name {
  readonly id: string;
  readonly sourceKey: readonly (string | null)[];
  readonly targetKey: readonly (string | null)[];
}

/** JSON has neither of them outside of strings that it escapes. */
const [NEXT, END] = [0x0a, 0x00];

/** Appends the name of a row: its values at the nodes, and then those that are given. */
export function putName(out: ByteOutput, { scan, row, nodes, values }: NameParts): void {
  const { page } = scan;
  for (const node of nodes) {
    const start = scan.start(row, node);
    // An object or an array is no key; it stands for none.
    if (start !== 0 && !isComposite(page, start)) out.putSlice(page, start, scan.end(row, node));
    out.putByte(NEXT);
  }
  for (const value of values) {
    if (value !== undefined) out.putText(JSON.stringify(value));
    out.putByte(NEXT);
  }
  out.putByte(END);
}

export interface NameParts {
  readonly scan: PageScan;
  readonly row: number;
  readonly nodes: readonly number[];
  readonly values: readonly KeyComponent[];
}

export function readName(bytes: Buffer, sourceLevels: number): Name {
  const texts = bytes
    .toString('utf8', 0, bytes.indexOf(END))
    .split('\n')
    .slice(0, -1)
    .map((text) => (text === '' ? null : text));
  return {
    id: texts[0] ?? '""',
    sourceKey: texts.slice(1, 1 + sourceLevels),
    targetKey: texts.slice(1 + sourceLevels),
  };
}

/** The key values in a name. */
export function keyOf(texts: readonly (string | null)[]): KeyComponent[] {
  return texts.map((text) => {
    if (text === null) return undefined;
    const value: unknown = JSON.parse(text);
    const isKey = value === null || ['string', 'number', 'boolean'].includes(typeof value);
    return isKey ? (value as KeyComponent) : undefined; // it is one of the four, by the line above
  });
}

/** The texts of key values. */
export function textsOf(key: readonly KeyComponent[]): (string | null)[] {
  return key.map((value) => (value === undefined ? null : JSON.stringify(value)));
}

/** A key as text; a missing level is not a null. */
export function placeText(key: readonly KeyComponent[]): string {
  return JSON.stringify(textsOf(key));
}
