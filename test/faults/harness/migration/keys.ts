/**
 * The key rules of the scenarios, written a second time for the oracle: which key a document must have in the target, or
 * why it has none. Shares nothing with src/keys.
 */
import type { Derivation, KeyRules, Part } from './scenario.ts';

/** A level of a key; undefined is the missing value. */
export type Level = string | number | boolean | null | undefined;

/** What a document must become. */
export type Expected =
  | {
      readonly kind: 'key';
      readonly levels: readonly Level[];
      /** Properties that the target document has besides, by path. */
      readonly additions: ReadonlyMap<string, Level>;
    }
  | {
      readonly kind: 'refused';
      readonly reason: 'missing-key' | 'invalid-key' | 'key-conflict' | 'key-too-long';
      /** What its key would be, if there is only something in the way: an older version of it may stay there. */
      readonly levels?: readonly Level[];
    };

const KEY_BYTES_MAX = 2_048;

interface Rules {
  readonly key: KeyRules;
  readonly sourceKey: readonly string[];
  readonly missingKey: 'keep' | 'dead-letter';
}

/** The value at a path of a parsed document; undefined when there is none. */
export function valueAt(document: unknown, path: string): unknown {
  let value = document;
  for (const step of path.slice(1).split('/')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

type Found = { readonly value: Level } | 'missing-key' | 'invalid-key';

function asLevel(value: unknown): Found {
  if (value === undefined) return 'missing-key';
  if (typeof value === 'number') return Number.isFinite(value) ? { value } : 'invalid-key';
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { value };
  return 'invalid-key';
}

function partOf(part: Part, document: unknown): Found {
  const found = asLevel(valueAt(document, part.path));
  if (typeof found === 'string' || part.filter === undefined) return found;
  if (typeof found.value === 'number' && Math.abs(found.value) > Number.MAX_SAFE_INTEGER)
    return 'invalid-key';
  return { value: bucketOf(found.value, part.filter.hash) };
}

function derived({ parts }: Derivation, document: unknown): Found {
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object' && only.filter === undefined)
    return partOf(only, document);
  let text = '';
  for (const part of parts) {
    const found = typeof part === 'string' ? { value: part } : partOf(part, document);
    if (typeof found === 'string') return found;
    if (typeof found.value === 'number' && Math.abs(found.value) > Number.MAX_SAFE_INTEGER)
      return 'invalid-key';
    text += String(found.value);
  }
  return { value: text };
}

/** What a source document must become in the target. */
export function expectedOf({ key, sourceKey, missingKey }: Rules, document: unknown): Expected {
  const additions = new Map<string, Level>();
  const refused = (reason: Exclude<Expected, { kind: 'key' }>['reason']): Expected => ({
    kind: 'refused',
    reason,
  });
  for (const derivation of key.derive) {
    const found = derived(derivation, document);
    if (found === 'invalid-key' || (found === 'missing-key' && missingKey === 'dead-letter'))
      return refused(found);
    if (typeof found === 'object') additions.set(derivation.path, found.value);
  }
  if (key.keepSourceKeyAs !== undefined) {
    const kept = asLevel(valueAt(document, sourceKey[0] ?? ''));
    if (typeof kept === 'object') additions.set(key.keepSourceKeyAs, kept.value);
  }
  const levels: Level[] = [];
  let sizeBytes = 0;
  for (const path of key.partitionKey) {
    const isDerived = key.derive.some((derivation) => derivation.path === path);
    const present = isDerived ? additions.get(path) : valueAt(document, path);
    const isMissing = typeof present === 'object' && present !== null;
    const found = isMissing ? 'missing-key' : asLevel(present);
    if (found === 'invalid-key' || (found === 'missing-key' && missingKey === 'dead-letter'))
      return refused(found);
    const level = typeof found === 'object' ? found.value : undefined;
    if (typeof level === 'string') sizeBytes += Buffer.byteLength(level);
    levels.push(level);
  }
  if (sizeBytes > KEY_BYTES_MAX) return refused('key-too-long');
  for (const path of addedPaths(key)) {
    // What overlaps the source key takes its place; an old value that stayed would pass for a new one.
    if (sourceKey.includes(path)) {
      if (!additions.has(path)) return refused('missing-key');
      continue;
    }
    const present = valueAt(document, path);
    if (present !== undefined && !(additions.has(path) && isSame(present, additions.get(path))))
      return { kind: 'refused', reason: 'key-conflict', levels };
  }
  return { kind: 'key', levels, additions };
}

/** Every path at which the mover may write. */
export function addedPaths(key: KeyRules): string[] {
  const paths = key.derive.map(({ path }) => path);
  return key.keepSourceKeyAs === undefined ? paths : [...paths, key.keepSourceKeyAs];
}

/** Equal as key values: -0 is 0. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other;
}

/** Who a document is, or where it is: id and key as one text. */
export function identityText(id: unknown, levels: readonly unknown[]): string {
  return JSON.stringify([id, ...levels.map(orMissing)]);
}

/** A level as a request states it: {} is the missing value, for which the service takes an object or an array too. */
export function orMissing(level: unknown): unknown {
  return level === undefined || (typeof level === 'object' && level !== null) ? {} : level;
}

const MASK = 0xffff_ffff_ffff_ffffn;

/** A stable bucket, as the README promises it: of the value's place in the hash space of version 2 keys. */
export function bucketOf(value: Level, buckets: number): number {
  return Number(murmur128(hashedForm(value))[0] & 0xffff_ffffn) % buckets;
}

function hashedForm(value: Level): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.of(8), Buffer.from(value), Buffer.of(255)]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9, 5);
    bytes.writeDoubleLE(value === 0 ? 0 : value, 1);
    return bytes;
  }
  if (value === undefined) return Buffer.of(0);
  return Buffer.of(value === null ? 1 : value ? 3 : 2);
}

/** MurmurHash3 x64 128 with seed 0, after its definition: both halves. */
function murmur128(bytes: Buffer): readonly [bigint, bigint] {
  const c1 = 0x87c37b91114253d5n;
  const c2 = 0x4cf5ad432745937fn;
  const turn = (word: bigint, by: bigint): bigint => ((word << by) | (word >> (64n - by))) & MASK;
  const times = (one: bigint, other: bigint): bigint => (one * other) & MASK;
  const mix1 = (word: bigint): bigint => times(turn(times(word, c1), 31n), c2);
  const mix2 = (word: bigint): bigint => times(turn(times(word, c2), 33n), c1);
  const last = (word: bigint): bigint => {
    let mixed = times(word ^ (word >> 33n), 0xff51afd7ed558ccdn);
    mixed = times(mixed ^ (mixed >> 33n), 0xc4ceb9fe1a85ec53n);
    return mixed ^ (mixed >> 33n);
  };
  const whole = bytes.length - (bytes.length % 16);
  const padded = Buffer.concat([bytes, Buffer.alloc(16)]);
  let h1 = 0n;
  let h2 = 0n;
  for (let at = 0; at < whole; at += 16) {
    h1 ^= mix1(padded.readBigUInt64LE(at));
    h1 = (times((turn(h1, 27n) + h2) & MASK, 5n) + 0x52dce729n) & MASK;
    h2 ^= mix2(padded.readBigUInt64LE(at + 8));
    h2 = (times((turn(h2, 31n) + h1) & MASK, 5n) + 0x38495ab5n) & MASK;
  }
  if (whole < bytes.length) {
    h2 ^= mix2(padded.readBigUInt64LE(whole + 8));
    h1 ^= mix1(padded.readBigUInt64LE(whole));
  }
  const length = BigInt(bytes.length);
  h1 ^= length;
  h2 ^= length;
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  h1 = last(h1);
  h2 = last(h2);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  return [h1, h2];
}
