import { describe, expect, test } from 'vitest';
import { keyOfLevels, type KeyLevel } from '../../../src/keys/key-levels.ts';
import type { Derived } from '../../../src/keys/strategies/strategy.ts';

const value = (of: string | number | null): Derived => ({ kind: 'value', value: of });
const missing: Derived = { kind: 'missing', path: ['b'] };
const composite: Derived = { kind: 'missing', path: ['b'], composite: true };
const invalid: Derived = { kind: 'invalid', path: ['b'], why: 'it is odd' };

function levels(...found: Derived[]): KeyLevel[] {
  return found.map((derived, index) => ({ path: ['abc'.charAt(index)], derived }));
}

describe('the levels of a key', () => {
  test.each<[name: string, levels: KeyLevel[], mayMiss: boolean, expected: object]>([
    ['one', levels(value('x')), false, { kind: 'key', values: ['x'], missing: false }],
    [
      'three, with their types',
      levels(value('x'), value(1), value(null)),
      false,
      { kind: 'key', values: ['x', 1, null], missing: false },
    ],
    [
      'one missing that may',
      levels(value('x'), missing, value(1)),
      true,
      { kind: 'key', values: ['x', undefined, 1], missing: true },
    ],
    ['all missing that may', levels(missing), true, { kind: 'key', values: [undefined], missing: true }],
    [
      'one missing that may not',
      levels(value('x'), missing),
      false,
      { kind: 'refused', reason: 'missing-key', why: '/b is missing' },
    ],
    [
      'an ingredient missing',
      levels(missing),
      false,
      { kind: 'refused', reason: 'missing-key', why: '/b is missing, which /a is made of' },
    ],
    [
      'an object that may be missing',
      levels(value('x'), composite),
      true,
      { kind: 'key', values: ['x', undefined], missing: true },
    ],
    [
      'an object that may not be missing',
      levels(value('x'), composite),
      false,
      {
        kind: 'refused',
        reason: 'missing-key',
        why: '/b holds an object or an array, which counts as missing',
      },
    ],
    [
      'invalid',
      levels(value('x'), invalid),
      true,
      { kind: 'refused', reason: 'invalid-key', why: '/b cannot be a key: it is odd' },
    ],
    ['none', [], false, { kind: 'key', values: [], missing: false }],
  ])('%s -> the key, or why there is none', (_name, found, mayMiss, expected) => {
    expect(keyOfLevels(found, mayMiss, 2048)).toEqual(expected);
  });

  test.each([
    ['a'.repeat(101), 101, true],
    ['a'.repeat(102), 101, false],
    ['é'.repeat(50), 101, true],
    ['é'.repeat(51), 101, false],
    ['🎉'.repeat(512), 2048, true],
    ['🎉'.repeat(513), 2048, false],
    ['\ud800'.repeat(34), 101, false],
  ])('%s in %i bytes -> %s', (text, bytesMax, fits) => {
    expect(keyOfLevels(levels(value(text)), false, bytesMax).kind).toBe(fits ? 'key' : 'refused');
  });

  test('several levels -> their sizes are added', () => {
    expect(keyOfLevels(levels(value('a'.repeat(1024)), value('b'.repeat(1025))), false, 2048)).toEqual({
      kind: 'refused',
      reason: 'key-too-long',
      why: 'the key has 2049 bytes, and the target takes 2048',
    });
  });
});
