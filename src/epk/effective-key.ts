/**
 * Computes the effective partition key (EPK) of a key value: its position in the hash space, as upper-case hex that is
 * compared as text. The EPK decides which physical range holds a document. It equals what Microsoft's SDK computes,
 * byte for byte, with one exception, -0 (encoding.ts). Invariant: functions are pure; the scratch memory is in use
 * within one call only.
 */
import { UsageError } from '../lib/errors.ts';
import { bytesFor, scratchOf, writeHashed, writeOrdered, writeOrderedNumber } from './encoding.ts';
import type { KeyComponent } from './key-component.ts';
import { BLOCK_BYTES, murmur128, murmur32 } from './murmur.ts';

export type { KeyComponent } from './key-component.ts';

/** How a container hashes its key. */
export type KeyKind = 'hash-v1' | 'hash-v2' | 'multi-hash';

/** The part of a container's `partitionKey` that decides how it hashes. */
export interface KeyDefinition {
  readonly kind?: string;
  readonly version?: number;
  readonly paths: readonly string[];
}

/** Returns the kind that a container definition asks for. Hash without a version is V1, as in the SDK. */
export function keyKindOf({ kind = 'Hash', version }: KeyDefinition): KeyKind {
  if (kind === 'MultiHash') return 'multi-hash';
  if (kind === 'Hash') return version === 2 ? 'hash-v2' : 'hash-v1';
  throw new UsageError(`the partition key kind '${kind}' is not known`, {
    why: 'containers are Hash, or MultiHash with a hierarchical key',
    hint: 'use Hash or MultiHash',
  });
}

/**
 * Returns the EPK of a key value with one component per path. A hierarchical key with fewer values than levels gives
 * the prefix of all keys below it; without any value, ''.
 */
export function effectiveKey(kind: KeyKind, values: readonly KeyComponent[]): string {
  if (kind === 'hash-v1') return hashV1(values[0]);
  if (kind === 'hash-v2' || values.length === 1) return hashV2(values);
  return values.map((value) => hashV2([value])).join('');
}

/**
 * Returns where a key is in the hash space, as a number of 30 bits: the first bits of its hash. Equal parts of these
 * numbers are equal parts of the hash space, of which physical partitions are intervals.
 */
export function positionOf(kind: KeyKind, values: readonly KeyComponent[]): number {
  if (kind === 'hash-v1') return hashOfV1(values[0]) >>> 2;
  return Number.parseInt(effectiveKey(kind, values).slice(0, 8), 16);
}

/**
 * Returns the hash space below a prefix of a hierarchical key. `max` is excluded; it sorts after every key with this
 * prefix.
 */
export function prefixRange(values: readonly KeyComponent[]): { min: string; max: string } {
  const prefix = effectiveKey('multi-hash', values);
  return { min: prefix, max: `${prefix}FF` };
}

/** Memory for a key value. The service accepts values of up to 2,048 bytes; a longer value gets memory of its own. */
const shared = scratchOf(8 * 1024);
/** Memory for an EPK. The longest is one of V1: a number and 100 UTF-16 units. */
const out = scratchOf(512);

/**
 * Computes a V1 EPK from one component. Of a string only the first 100 UTF-16 units count, and half a surrogate pair
 * becomes U+FFFD.
 */
function hashV1(component: KeyComponent): string {
  const end = writeOrdered(out, writeOrderedNumber(out.view, 0, hashOfV1(component)), countedInV1(component));
  return out.bytes.toString('hex', 0, end).toUpperCase();
}

function hashOfV1(component: KeyComponent): number {
  const length = writeHashed(shared, 0, countedInV1(component), 0x00);
  clearBlock(shared.view, length);
  return murmur32(shared.view, length);
}

function countedInV1(component: KeyComponent): KeyComponent {
  return typeof component === 'string' ? component.substring(0, 100) : component;
}

/** Computes a V2 EPK: 128 bits of all components. The two highest bits are cleared, so an EPK is below "40". */
function hashV2(values: readonly KeyComponent[]): string {
  let sizeBytes = BLOCK_BYTES;
  for (const value of values) sizeBytes += bytesFor(value);
  const scratch = sizeBytes <= shared.bytes.length ? shared : scratchOf(sizeBytes);
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
