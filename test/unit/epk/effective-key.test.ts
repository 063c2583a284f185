import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/lib/errors.ts';
import { initialBounds } from '../../../src/epk/bounds.ts';
import { effectiveKey, keyKindOf, positionOf, prefixRange } from '../../../src/epk/effective-key.ts';
import { draws } from '../../helpers/generated.ts';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';

// Produced by @azure/cosmos 4.9.3 and 4.10.1; most are also in the test suites of the Java and Rust SDKs.
const VECTORS: ReadonlyArray<readonly [value: KeyComponent, v1: string, v2: string]> = [
  ['', '05C1CF33970FF80800', '32E9366E637A71B4E710384B2F4970A0'],
  ['abc', '05C1ED155F4F7C0862636400', '2424691CC38A7EEF2A65ADE404E1F528'],
  ['redmond', '05C1EFE313830C087366656E706F6500', '22E342F38A486A088463DFF7838A5963'],
  ['partitionKey', '05C1E1B3D9CD2608716273756A756A706F4C667A00', '013AEFCF77FA271571CF665A58C933F1'],
  ['é', '05C1B3CD91912008C4AA00', '007199F104E04116EE25AF912CA4889B'],
  ['日本', '05C1DB17971FC408E798A6E79DAD00', '2F64A78CFF1F1D412A8B6220090E9767'],
  [0, '05C1BF6DA115600580', '155B95BEDAC4B1E9EC1CDC9BB0DDDE58'],
  [1, '05C1ED172B6B2605BFF0', '20CD98B339BA78A5D0CF6953B87070B0'],
  [-1, '05C1D1A5BDDF9C054010', '19938E7A936C1C5B9E3AE842BBC16839'],
  [5.5, '05C1D7A771716C05C016', '0E2EE47829D1AF775EEFB6540FD1D0ED'],
  [1e15, '05C1D32F5B97BC05C30D35FDA563A0', '145AA95CF3F1BE29655E68548FDE6E63'],
  [-128, '05C1D73349F54C053FA0', '01DAEDABF913540367FE219B2AD06148'],
  [127, '05C1DD539DDFCC05C05FE0', '0C507ACAC853ECA7977BF4CEFB562A25'],
  [2147483647, '05C1E1F503DFB205C1DFFFFFFFFC', '2D9349D64712AEB5EB1406E2F0BE2725'],
  [true, '05C1D7C5A903D803', '0E711127C5B5A8E4726AC6DD306A3E59'],
  [false, '05C1DB857D857C02', '2FE1BE91E90A3439635E0E9E37361EF2'],
  [null, '05C1ED45D7475601', '378867E4430E67857ACE5C908374FE16'],
  [undefined, '05C1D529E345DC00', '11622DAA78F835834610ABE56EFF5CB5'],
  ['a'.repeat(101), `05C1EB5921F70608${'62'.repeat(100)}00`, '08042541D30C8BF90D7092B1519AE0BC'],
];

describe('the effective key of one value', () => {
  test.each(VECTORS)('%j in V1 -> %s', (value, v1) => {
    expect(effectiveKey('hash-v1', [value])).toBe(v1);
  });

  test.each(VECTORS)('%j in V2 -> not %s but the 128-bit %s', (value, _v1, v2) => {
    expect(effectiveKey('hash-v2', [value])).toBe(v2);
    expect(effectiveKey('multi-hash', [value])).toBe(v2);
  });

  test('EPK: -0 -> that of 0, unlike in the SDK, because the service stores 0', () => {
    expect(effectiveKey('hash-v1', [-0])).toBe('05C1BF6DA115600580');
    expect(effectiveKey('hash-v2', [-0])).toBe('155B95BEDAC4B1E9EC1CDC9BB0DDDE58');
    expect(effectiveKey('multi-hash', [-0, 1])).toBe(effectiveKey('multi-hash', [0, 1]));
  });

  test('EPK: a string of more than 100 units -> V1 ignores the rest, V2 does not', () => {
    const long = 'a'.repeat(100);
    expect(effectiveKey('hash-v1', [`${long}b`])).toBe(effectiveKey('hash-v1', [long]));
    expect(effectiveKey('hash-v2', [`${long}b`])).not.toBe(effectiveKey('hash-v2', [long]));
  });

  test.each(['hash-v1', 'hash-v2'] as const)('a lone surrogate in %s -> counts as U+FFFD', (kind) => {
    expect(effectiveKey(kind, ['x\ud800y'])).toBe(effectiveKey(kind, ['x\ufffdy']));
  });

  test('EPK: a value larger than the scratch memory -> later values are not affected', () => {
    const before = effectiveKey('hash-v2', ['abc']);
    expect(effectiveKey('hash-v2', ['é'.repeat(20_000)])).toMatch(/^[0-3][0-9A-F]{31}$/);
    expect(effectiveKey('hash-v2', ['abc'])).toBe(before);
  });
});

describe('the effective key of several values', () => {
  test.each<[KeyComponent[], string]>([
    [[], ''],
    [['tenant1'], '0DAE0B8467B011E957BC0B8B0DEB5ACA'],
    [['tenant1', 'user1'], '0DAE0B8467B011E957BC0B8B0DEB5ACA236A5BE3329A7AD57D4B998E8602BD7B'],
    [
      ['t', 1, null],
      '3B310042FC8EA24E4CB78FD8BFEDBAA720CD98B339BA78A5D0CF6953B87070B0378867E4430E67857ACE5C908374FE16',
    ],
  ])('hierarchical %j -> the keys of its levels, joined', (values, expected) => {
    expect(effectiveKey('multi-hash', values)).toBe(expected);
  });

  test('EPK: a prefix of a hierarchical key -> covers exactly the keys below it', () => {
    expect(prefixRange(['tenant1'])).toEqual({
      min: '0DAE0B8467B011E957BC0B8B0DEB5ACA',
      max: '0DAE0B8467B011E957BC0B8B0DEB5ACAFF',
    });
    expect(prefixRange([])).toEqual({ min: '', max: 'FF' });
    const { min, max } = prefixRange(['t', 1]);
    const inside = effectiveKey('multi-hash', ['t', 1, 'anything']);
    const outside = effectiveKey('multi-hash', ['t', 2, 'anything']);
    expect([inside >= min && inside < max, outside >= min && outside < max]).toEqual([true, false]);
  });
});

describe('the kind of a container', () => {
  const paths = ['/id'];
  test.each([
    [{ paths }, 'hash-v1'],
    [{ paths, kind: 'Hash' }, 'hash-v1'],
    [{ paths, kind: 'Hash', version: 1 }, 'hash-v1'],
    [{ paths, kind: 'Hash', version: 2 }, 'hash-v2'],
    [{ paths, version: 2 }, 'hash-v2'],
    [{ paths, kind: 'MultiHash', version: 2 }, 'multi-hash'],
    [{ paths, kind: 'MultiHash' }, 'multi-hash'],
  ])('%j -> %s', (definition, kind) => {
    expect(keyKindOf(definition)).toBe(kind);
  });

  test('EPK: an unknown kind -> refused', () => {
    expect(() => keyKindOf({ paths, kind: 'Range' })).toThrow(UsageError);
  });
});

describe('the position of a key', () => {
  const values = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true }), fc.constant(null));

  test.each(['hash-v1', 'hash-v2', 'multi-hash'] as const)(
    'any key of %s -> in the part of the hash space that is the range of its effective key',
    (kind) => {
      fc.assert(
        fc.property(values, fc.integer({ min: 1, max: 40 }), (value, count) => {
          const key = effectiveKey(kind, [value]);
          const range = initialBounds(kind, count).findLastIndex((bound) => bound <= key);
          expect(Math.floor((positionOf(kind, [value]) * count) / 2 ** 30)).toBe(range);
        }),
        { numRuns: draws(300) },
      );
    },
  );
});
