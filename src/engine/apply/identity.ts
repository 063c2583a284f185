/**
 * The identity of a document, as the engine passes it around: a hash, and the values it is made of, by which the service
 * finds the document. Slots of the target are identified in the same way.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';
import type { PageScan } from '../../documents/page-scan.ts';

/** A document of the source. */
export interface SourceIdentity {
  /** 16 bytes. */
  readonly hash: Buffer;
  /** The id, then the levels of the source key, as JSON texts; null where there is none. */
  readonly name: readonly (string | null)[];
}

/** Room for one document in the target: an id and a key. */
export interface Slot {
  readonly hash: Buffer;
  readonly key: readonly KeyComponent[];
}

/** The key values in a name. */
export function keyOf({ name }: Pick<SourceIdentity, 'name'>): KeyComponent[] {
  return name.slice(1).map(valueOf);
}

/** The id in a name, as JSON text in bytes. */
export function idOf({ name }: Pick<SourceIdentity, 'name'>): Buffer {
  return Buffer.from(name[0] ?? '""');
}

function valueOf(text: string | null): KeyComponent {
  if (text === null) return undefined;
  const value: unknown = JSON.parse(text);
  // An object or an array is not a key value; the service takes the level as missing.
  return typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    value === null
    ? value
    : undefined;
}

/** The texts at these nodes of a row. */
export function textsAt(scan: PageScan, row: number, nodes: readonly number[]): (string | null)[] {
  return nodes.map((node) =>
    scan.start(row, node) === 0
      ? null
      : scan.page.toString('utf8', scan.start(row, node), scan.end(row, node)),
  );
}
