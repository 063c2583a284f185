import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { effectiveKey } from '../src/epk/effective-key.ts';
import type { KeyComponent } from '../src/epk/effective-key.ts';
import type { Result } from './report.ts';

type SdkHash = (values: readonly KeyComponent[], definition: object) => string;

/**
 * Loads the hash function of the SDK by its file path, since the package does not export it. A comparison may bypass
 * the exports.
 */
function sdkHash(): SdkHash {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve('@azure/cosmos'));
  const loaded: unknown = require(join(root, 'utils/hashing/hash.js'));
  return (loaded as { hashPartitionKey: SdkHash }).hashPartitionKey;
}

const KEYS = 4096;
const KEYS_MEASURED = 1_000_000;
const SDK_KEYS_MEASURED = 100_000;

/** Measures for how many keys per second cosmig and the SDK compute the position in the hash space. */
export async function benchKeys(): Promise<Result[]> {
  const theirs = sdkHash();
  const device = (i: number): KeyComponent[] => [`device-${(i * 7919) % 1_000_000}`];
  const number = (i: number): KeyComponent[] => [i * 1.5];
  const levels = (i: number): KeyComponent[] => [`tenant-${i % 50}`, `user-${i}`, i % 12];
  const cases = [
    ['V2, short string', 'hash-v2', { kind: 'Hash', version: 2 }, device, 'at least 1,000,000'],
    ['V2, number', 'hash-v2', { kind: 'Hash', version: 2 }, number, undefined],
    ['V1, short string', 'hash-v1', { kind: 'Hash', version: 1 }, device, undefined],
    ['hierarchical, 3 levels', 'multi-hash', { kind: 'MultiHash', version: 2 }, levels, undefined],
  ] as const;
  return cases.map(([name, kind, definition, keyOf, target]) => {
    const keys = Array.from({ length: KEYS }, (_, i) => keyOf(i));
    const rate = measure(keys, KEYS_MEASURED, (key) => effectiveKey(kind, key));
    const sdkRate = measure(keys, SDK_KEYS_MEASURED, (key) => theirs(key, definition));
    return {
      name: `effective key, ${name}`,
      value: rate,
      unit: 'keys/s',
      ratio: { value: rate / sdkRate, to: "the SDK's" },
      ...(target === undefined ? {} : { target }),
    };
  });
}

/** Returns the best rate of five rounds, since other work on the machine can only make a round slower. */
function measure(
  keys: readonly KeyComponent[][],
  count: number,
  hash: (key: KeyComponent[]) => string,
): number {
  let bestMs = Infinity;
  for (let round = 0; round < 5; round += 1) {
    const start = performance.now();
    let digits = 0;
    for (let done = 0; done < count; done += keys.length) for (const key of keys) digits += hash(key).length;
    bestMs = Math.min(bestMs, performance.now() - start);
    if (digits === 0) throw new Error('the hash gave nothing');
  }
  return (Math.ceil(count / keys.length) * keys.length * 1000) / bestMs;
}
