/**
 * Computes bounds of physical ranges in the hash space: those of a new container, and the one in the middle of a range
 * that is split.
 */
import { assert } from '../lib/assert.ts';
import type { KeyKind } from './effective-key.ts';
import { readOrderedNumber, scratchOf, writeOrderedNumber } from './encoding.ts';

/** The start of every hash space, and its excluded end. */
const START = '';
const END = 'FF';

/**
 * Returns the `count + 1` bounds of `count` ranges of equal size, from '' to 'FF'. The bounds are fractions of the
 * highest hash, as in the service, which shows 1FFF...FF between two ranges, or 05C1DFFFFFFFFC in V1.
 */
export function initialBounds(kind: KeyKind, count: number): string[] {
  assert(Number.isInteger(count) && count > 0, 'a container has at least one range');
  const { bitsPerLevel } = SPACES[kind];
  const last = (1n << bitsPerLevel) - 1n;
  const inner = Array.from({ length: count - 1 }, (_, i) => (last * BigInt(i + 1)) / BigInt(count));
  return [START, ...inner.map((hash) => toBound(kind, hash, 1)), END];
}

/**
 * Returns a bound strictly inside [min, max) that divides this range into halves. The bound has as few levels as
 * possible: only a hierarchical range with a single prefix is split below that prefix. Returns undefined for a range of
 * one hash, which cannot be split.
 */
export function middleOf(kind: KeyKind, min: string, max: string): string | undefined {
  const { bitsPerLevel, levelsMax } = SPACES[kind];
  const low = toPosition(kind, min);
  const high = toPosition(kind, max);
  for (let levels = 1; levels <= levelsMax; levels += 1) {
    const unitBits = bitsPerLevel * BigInt(levelsMax - levels);
    // A unit is the least distance between two bounds of so many levels. A range of at least two units has a middle
    // above `low`, even when the middle is rounded down to a unit.
    if (high - low >= 2n << unitBits) return toBound(kind, (low + high) >> (unitBits + 1n), levels);
  }
  return undefined;
}

/** Returns where a bound lies in the hash space, from 0 to 1. */
export function positionOf(kind: KeyKind, bound: string): number {
  if (bound === START) return 0;
  if (bound === END) return 1;
  // Version 1 writes a hash as a floating point number, whose digits are not proportional to its value.
  if (kind === 'hash-v1') return readOrderedNumber(bound) / 2 ** 32;
  return Number.parseInt(bound.slice(0, 12).padEnd(12, '0'), 16) / 2 ** 46;
}

interface Space {
  /** Number of bits in the hash of one level. */
  readonly bitsPerLevel: bigint;
  /** The most levels that a bound may have. */
  readonly levelsMax: number;
}

const SPACES: Readonly<Record<KeyKind, Space>> = {
  'hash-v1': { bitsPerLevel: 32n, levelsMax: 1 },
  'hash-v2': { bitsPerLevel: 126n, levelsMax: 1 },
  'multi-hash': { bitsPerLevel: 126n, levelsMax: 3 },
};

const LEVEL_DIGITS = 32;

/** Returns a bound as an integer: the hashes of its levels side by side, with missing levels as zero. */
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
    const { bytes, view } = scratchOf(16);
    return bytes.toString('hex', 0, writeOrderedNumber(view, 0, Number(position))).toUpperCase();
  }
  const { bitsPerLevel } = SPACES[kind];
  let bound = '';
  for (let level = levels - 1; level >= 0; level -= 1) {
    const hash = BigInt.asUintN(Number(bitsPerLevel), position >> (bitsPerLevel * BigInt(level)));
    bound += hash.toString(16).padStart(LEVEL_DIGITS, '0').toUpperCase();
  }
  return bound;
}
