import { expect, test } from 'vitest';
import { nearest } from '../../../src/lib/nearest.ts';

test.each([
  ['prot', 'port'],
  ['emulatr', 'emulator'],
  ['certificate-ot', 'certificate-out'],
  ['por', 'port'],
  ['port', 'port'],
  ['x', undefined],
  ['frobnicate', undefined],
  ['', undefined],
])('nearest: %j -> %j', (word, expected) => {
  expect(nearest(word, ['host', 'port', 'emulator', 'certificate-out'])).toBe(expected);
});
