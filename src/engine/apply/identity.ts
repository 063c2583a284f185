/**
 * The identity of a document, as the engine passes it around: a hash, and the values from which the hash is made. With
 * these values the service finds the document. Slots of the target are identified in the same way.
 */
import type { KeyComponent } from '../../epk/effective-key.ts';
import { assert } from '../../lib/assert.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { keyText } from '../../documents/scalar.ts';

/** The identity of a source document. */
export interface SourceIdentity {
  /** The hash of the name, 16 bytes. */
  readonly hash: Buffer;
  /** The id, then the levels of the source key, as JSON texts; null for a missing value, an object or an array. */
  readonly name: readonly (string | null)[];
}

/** Where a document is in the target. The hash covers its id and its target key. */
export interface Slot {
  readonly hash: Buffer;
  readonly key: readonly KeyComponent[];
}

/** Returns the source key values in a name. */
export function keyOf({ name }: Pick<SourceIdentity, 'name'>): KeyComponent[] {
  return name.slice(1).map(valueOf);
}

/** Returns the id in a name, as the bytes of its JSON text. */
export function idOf({ name }: Pick<SourceIdentity, 'name'>): Buffer {
  return Buffer.from(name[0] ?? '""');
}

function valueOf(text: string | null): KeyComponent {
  if (text === null) return undefined;
  const value: unknown = JSON.parse(text);
  assert(value === null || typeof value !== 'object', 'a name has no object or array');
  return value as KeyComponent;
}

/** Returns the name of the document in a row of a scan. `nodes` are the nodes of the values that make up the name. */
export function textsAt(scan: PageScan, row: number, nodes: readonly number[]): (string | null)[] {
  return nodes.map((node) => keyText(scan, row, node));
}
