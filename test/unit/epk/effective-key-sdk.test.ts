import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { effectiveKey, keyKindOf } from '../../../src/epk/effective-key.ts';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';
import { draws } from '../../helpers/generated.ts';

// Our hash against Microsoft's, key by key. The package's exports map hides the function, so this test, and only a
// test, loads it by file path. Intended differences, kept out of the generated keys: -0, which we hash as 0.

type Definition = { name?: string; paths: string[]; kind?: string; version?: number };
type SdkHash = (values: readonly unknown[], definition: Definition) => string;

function sdkHash(packageName: string): SdkHash {
  const require = createRequire(import.meta.url);
  // The main entry is dist/commonjs/index.js.
  const root = dirname(require.resolve(packageName));
  const loaded: unknown = require(join(root, 'utils/hashing/hash.js'));
  return (loaded as { hashPartitionKey: SdkHash }).hashPartitionKey;
}

const number = fc
  .oneof(
    fc.double({ noNaN: true }),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.constantFrom(0, 2, 5e-324, 2.2250738585072014e-308, -5e-324, Number.MAX_VALUE, -Number.MAX_VALUE),
    fc.constantFrom(Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 63)),
  )
  .map((value) => (value === 0 ? 0 : value));

const unit = fc.constantFrom('grapheme' as const, 'binary' as const, 'grapheme-ascii' as const);
const text = fc.oneof(
  unit.chain((kind) => fc.string({ unit: kind, maxLength: 60 })),
  // Every UTF-16 unit, so lone and torn surrogates too, around the 100 units where V1 stops.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 0, maxLength: 130 })
    .map((units) => String.fromCharCode(...units)),
  fc.integer({ min: 96, max: 104 }).chain((length) => fc.string({ minLength: length, maxLength: length })),
  fc
    .tuple(fc.integer({ min: 97, max: 100 }), fc.constantFrom('é', '日', '😀'))
    .map(([n, c]) => 'a'.repeat(n) + c),
  fc.string({ minLength: 1000, maxLength: 2100, size: 'max' }),
);

const component: fc.Arbitrary<KeyComponent> = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 4, arbitrary: number },
  { weight: 1, arbitrary: fc.constantFrom(true, false, null, undefined) },
);

const definitions: readonly Definition[] = [
  { name: 'Hash without a version', paths: ['/a'] },
  { name: 'Hash V1', paths: ['/a'], kind: 'Hash', version: 1 },
  { name: 'Hash V2', paths: ['/a'], kind: 'Hash', version: 2 },
  { name: 'MultiHash', paths: ['/a', '/b', '/c'], kind: 'MultiHash', version: 2 },
];

describe.each(['@azure/cosmos', 'cosmos-next'])('our effective key against %s', (packageName) => {
  const theirs = sdkHash(packageName);

  test.each(definitions)('any key of $name -> the same', (definition) => {
    const kind = keyKindOf(definition);
    fc.assert(
      fc.property(fc.array(component, { minLength: 1, maxLength: 3 }), (values) => {
        expect(effectiveKey(kind, values)).toBe(theirs(values, definition));
      }),
      { numRuns: draws(3000) },
    );
  });

  test.each(definitions)('a key without any value of $name -> the same', (definition) => {
    expect(effectiveKey(keyKindOf(definition), [])).toBe(theirs([], definition));
  });

  test('-0 -> taken for 0, which is the only difference', () => {
    const definition = { paths: ['/a'], kind: 'Hash', version: 2 };
    expect(theirs([-0], definition)).toBe('3D018BB1DF3DB27235766E81FD10406E');
    expect(effectiveKey('hash-v2', [-0])).toBe(theirs([0], definition));
  });
});
