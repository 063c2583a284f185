import { assert } from '../lib/assert.ts';
import { NotReadyError, UsageError } from '../lib/errors.ts';
import {
  readOrderedNumber,
  roomFor,
  scratchOf,
  writeHashed,
  writeOrdered,
  writeOrderedNumber,
} from './encoding.ts';
import type { KeyComponent } from './encoding.ts';
import { BLOCK_BYTES, murmur128, murmur32 } from './murmur.ts';

/**
 * Where a partition key value lands in the hash space: the effective partition key (EPK), upper-case hex that is
 * compared as text. It decides which physical range holds a document, and agrees byte for byte with what
 * Microsoft's SDK computes; the one exception, -0, is explained in encoding.ts.
 *
 * Always true here: functions are pure, and the scratch memory is in use within one call only.
 */

export type { KeyComponent } from './encoding.ts';

/** How a container hashes its key. */
export type KeyKind = 'hash-v1' | 'hash-v2' | 'multi-hash';

/** The part of a container's `partitionKey` that decides how it hashes. */
export interface KeyDefinition {
  readonly kind?: string;
  readonly version?: number;
  readonly paths: readonly string[];
}

/** The kind a container definition asks for. Without a version, Hash is V1 to the SDK and so to us. */
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
 * prefix that every key below it shares: without any value, ''.
 */
export function effectiveKey(kind: KeyKind, values: readonly KeyComponent[]): string {
  if (kind === 'hash-v1') return hashV1(values[0]);
  if (kind === 'hash-v2' || values.length === 1) return hashV2(values);
  return values.map((value) => hashV2([value])).join('');
}

/** The part of the hash space below a prefix of a hierarchical key; `max` is outside, and above every hex digit. */
export function prefixRange(values: readonly KeyComponent[]): { min: string; max: string } {
  const prefix = effectiveKey('multi-hash', values);
  return { min: prefix, max: `${prefix}FF` };
}

/** Key values end at 2,048 bytes on the service; a longer one gets memory of its own. */
const shared = scratchOf(8 * 1024);
/** The longest EPK is V1's: a number and 100 UTF-16 units. */
const out = scratchOf(512);

/** V1 looks at one component only, and at 100 UTF-16 units of a string: a pair cut in two becomes U+FFFD. */
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

/** Where every hash space starts and, itself outside, ends. */
const START = '';
const END = 'FF';

/**
 * Bounds of `count` ranges of equal size: `count + 1` of them, from '' to 'FF'. They are fractions of the last
 * hash, which gives the bounds the service shows: 1FFF...FF between two ranges, in V1 05C1DFFFFFFFFC.
 */
export function initialBounds(kind: KeyKind, count: number): string[] {
  assert(Number.isInteger(count) && count > 0, 'a container has at least one range');
  const { bitsPerLevel } = SPACES[kind];
  const last = (1n << bitsPerLevel) - 1n;
  const inner = Array.from({ length: count - 1 }, (_, i) => (last * BigInt(i + 1)) / BigInt(count));
  return [START, ...inner.map((hash) => toBound(kind, hash, 1)), END];
}

/**
 * The bound that halves the hash space of [min, max), strictly inside, with as few levels as allow it: a
 * hierarchical range that holds a single prefix is split below that prefix. A range of one hash cannot be split.
 */
export function middleOf(kind: KeyKind, min: string, max: string): string {
  const { bitsPerLevel, levelsMax } = SPACES[kind];
  const low = toPosition(kind, min);
  const high = toPosition(kind, max);
  for (let levels = 1; levels <= levelsMax; levels += 1) {
    const unitBits = bitsPerLevel * BigInt(levelsMax - levels);
    // From two units on, the middle cut to whole units is above `low`.
    if (high - low >= 2n << unitBits) return toBound(kind, (low + high) >> (unitBits + 1n), levels);
  }
  throw new NotReadyError(`the range from '${min}' to '${max}' is too narrow to be split`, {
    why: 'no key has its place between both ends',
    hint: 'split another range',
  });
}

interface Space {
  /** Bits of a level's hash. */
  readonly bitsPerLevel: bigint;
  /** How many levels a bound may have. */
  readonly levelsMax: number;
}

const SPACES: Readonly<Record<KeyKind, Space>> = {
  'hash-v1': { bitsPerLevel: 32n, levelsMax: 1 },
  'hash-v2': { bitsPerLevel: 126n, levelsMax: 1 },
  'multi-hash': { bitsPerLevel: 126n, levelsMax: 3 },
};

const LEVEL_DIGITS = 32;

/** A bound as a whole number: its levels' hashes side by side, missing levels as zero. */
function toPosition(kind: KeyKind, bound: string): bigint {
  const { bitsPerLevel, levelsMax } = SPACES[kind];
  const missing = (levels: number): bigint => bitsPerLevel * BigInt(levelsMax - levels);
  if (bound === START) return 0n;
  if (bound === END) return ((1n << bitsPerLevel) - 1n) << missing(1);
  if (kind === 'hash-v1') return BigInt(readOrderedNumber(bound));
  const levels = Math.ceil(bound.length / LEVEL_DIGITS);
  assert(levels <= levelsMax, 'a bound has no more levels than its kind');
  const digits = bound.padEnd(levels * LEVEL_DIGITS, '0');
  let position = 0n;
  for (let at = 0; at < digits.length; at += LEVEL_DIGITS) {
    position = (position << bitsPerLevel) | BigInt(`0x${digits.slice(at, at + LEVEL_DIGITS)}`);
  }
  return position << missing(levels);
}

function toBound(kind: KeyKind, position: bigint, levels: number): string {
  if (kind === 'hash-v1') {
    const end = writeOrderedNumber(out.view, 0, Number(position));
    return out.bytes.toString('hex', 0, end).toUpperCase();
  }
  const { bitsPerLevel } = SPACES[kind];
  let bound = '';
  for (let level = levels - 1; level >= 0; level -= 1) {
    const hash = BigInt.asUintN(Number(bitsPerLevel), position >> (bitsPerLevel * BigInt(level)));
    bound += hash.toString(16).padStart(LEVEL_DIGITS, '0').toUpperCase();
  }
  return bound;
}
