/**
 * The effective partition key (EPK) of a key value: where it is in the hash space, as upper-case hex that is compared as
 * text. It decides which physical range holds a document. It agrees byte for byte with what Microsoft's SDK computes, with
 * one exception, -0 (encoding.ts). Invariant: functions are pure; the scratch memory is in use within one call only.
 */
import { UsageError } from '../lib/errors.ts';
import { roomFor, scratchOf, writeHashed, writeOrdered, writeOrderedNumber } from './encoding.ts';
import type { KeyComponent } from './encoding.ts';
import { BLOCK_BYTES, murmur128, murmur32 } from './murmur.ts';

export type { KeyComponent } from './encoding.ts';

/** How a container hashes its key. */
export type KeyKind = 'hash-v1' | 'hash-v2' | 'multi-hash';

/** The part of a container's `partitionKey` that decides how it hashes. */
export interface KeyDefinition {
  readonly kind?: string;
  readonly version?: number;
  readonly paths: readonly string[];
}

/** The kind that a container definition asks for. Hash without a version is V1, as in the SDK. */
export function keyKindOf({ kind = 'Hash', version }: KeyDefinition): KeyKind {
  if (kind === 'MultiHash') return 'multi-hash';
  if (kind === 'Hash') return version === 2 ? 'hash-v2' : 'hash-v1';
  throw new UsageError(`the partition key kind '${kind}' is not known`, {
    why: 'containers are Hash, or MultiHash with a hierarchical key',
    hint: 'use Hash or MultiHash',
  });
}

/**
 * The EPK of a key value, one component per path. A hierarchical key with fewer values than levels gives the
 * prefix that all keys below it share; '' without any value.
 */
export function effectiveKey(kind: KeyKind, values: readonly KeyComponent[]): string {
  if (kind === 'hash-v1') return hashV1(values[0]);
  if (kind === 'hash-v2' || values.length === 1) return hashV2(values);
  return values.map((value) => hashV2([value])).join('');
}

/** The part of the hash space below a prefix of a hierarchical key; `max` is excluded, and above every hex digit. */
export function prefixRange(values: readonly KeyComponent[]): { min: string; max: string } {
  const prefix = effectiveKey('multi-hash', values);
  return { min: prefix, max: `${prefix}FF` };
}

/** The service accepts key values of up to 2,048 bytes; a longer one gets memory of its own. */
const shared = scratchOf(8 * 1024);
/** The longest EPK is V1's: a number and 100 UTF-16 units. */
const out = scratchOf(512);

/** V1 looks at one component only, and at 100 UTF-16 units of a string: half of a surrogate pair becomes U+FFFD. */
function hashV1(component: KeyComponent): string {
  const value = typeof component === 'string' ? component.substring(0, 100) : component;
  const length = writeHashed(shared, 0, value, 0x00);
  clearBlock(shared.view, length);
  const end = writeOrdered(out, writeOrderedNumber(out.view, 0, murmur32(shared.view, length)), value);
  return out.bytes.toString('hex', 0, end).toUpperCase();
}

/** 128 bits of all components together; the two highest are cleared, so that an EPK is below "40". */
function hashV2(values: readonly KeyComponent[]): string {
  let room = BLOCK_BYTES;
  for (const value of values) room += roomFor(value);
  const scratch = room <= shared.bytes.length ? shared : scratchOf(room);
  let length = 0;
  for (const value of values) length = writeHashed(scratch, length, value, 0xff);
  clearBlock(scratch.view, length);
  murmur128(scratch.view, length, out.view);
  out.view.setUint8(0, out.view.getUint8(0) & 0x3f);
  return out.bytes.toString('hex', 0, 16).toUpperCase();
}

function clearBlock(view: DataView, at: number): void {
  view.setFloat64(at, 0);
  view.setFloat64(at + 8, 0);
}
