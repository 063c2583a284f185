/**
 * The identity of a document, as the engine passes it around: a hash, and the values from which the hash is made. With
 * these values the service finds the document. Slots of the target are identified in the same way.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';
import type { PageScan } from '../../documents/page-scan.ts';

/** The identity of a source document. */
export interface SourceIdentity {
  /** The hash of the name, 16 bytes. */
  readonly hash: Buffer;
  /** The id, then the levels of the source key, as JSON texts; null for a missing value. */
  readonly name: readonly (string | null)[];
}

/** The place of one document in the target. The hash covers its id and its target key. */
export interface Slot {
  readonly hash: Buffer;
  readonly key: readonly KeyComponent[];
}

/** Returns the source key values in a name. */
export function keyOf({ name }: Pick<SourceIdentity, 'name'>): KeyComponent[] {
  return name.slice(1).map(valueOf);
}

/** Returns the bytes of the id in a name, which is JSON text. */
export function idOf({ name }: Pick<SourceIdentity, 'name'>): Buffer {
  return Buffer.from(name[0] ?? '""');
}

function valueOf(text: string | null): KeyComponent {
  if (text === null) return undefined;
  const value: unknown = JSON.parse(text);
  // An object or an array is not a key value. The service treats such a level as missing.
  return typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    value === null
    ? value
    : undefined;
}

/** Returns the JSON texts at these nodes of a row; null for a missing value. */
export function textsAt(scan: PageScan, row: number, nodes: readonly number[]): (string | null)[] {
  return nodes.map((node) =>
    scan.start(row, node) === 0
      ? null
      : scan.page.toString('utf8', scan.start(row, node), scan.end(row, node)),
  );
}
