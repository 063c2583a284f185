/**
 * The name of a document in an entry: its id, source key and target key, as JSON texts copied from the document.
 * Invariant: a name contains no other value of the document.
 */
import type { ByteOutput } from '../documents/byte-output.ts';
import { keyStart } from '../documents/scalar.ts';
import type { PageScan } from '../documents/page-scan.ts';
import type { KeyComponent } from '../epk/effective-key.ts';

/** The values of a name as JSON texts. Null in place of a value means that the document does not have it. */
export interface DocumentName {
  readonly id: string;
  readonly sourceKey: readonly (string | null)[];
  readonly targetKey: readonly (string | null)[];
}

/**
 * NEXT follows each value of a name, END the last one. A JSON text contains neither byte, because strings escape both.
 */
const [NEXT, END] = [0x0a, 0x00];

/** Appends the name of the document in a row: the values at `nodes` of the scan, then `values`. */
export function putName(out: ByteOutput, { scan, row, nodes, values }: NameParts): void {
  const { page } = scan;
  for (const node of nodes) {
    const start = keyStart(scan, row, node);
    if (start !== 0) out.putSlice(page, start, scan.end(row, node));
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

export function readName(bytes: Buffer, sourceLevels: number): DocumentName {
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

/** Parses the key values that a name has as JSON texts. */
export function parseKey(texts: readonly (string | null)[]): KeyComponent[] {
  return texts.map((text) => {
    if (text === null) return undefined;
    const value: unknown = JSON.parse(text);
    const isKey = value === null || ['string', 'number', 'boolean'].includes(typeof value);
    return isKey ? (value as KeyComponent) : undefined; // one of the four types, by the line above
  });
}

/** Returns the values of a key as JSON texts. */
export function keyTexts(key: readonly KeyComponent[]): (string | null)[] {
  return key.map((value) => (value === undefined ? null : JSON.stringify(value)));
}

/** Returns a key as one text, in which a missing level differs from the value null. */
export function keyText(key: readonly KeyComponent[]): string {
  return JSON.stringify(keyTexts(key));
}
