/** The questions of `cosmig doctor --probe`, and where they are documented. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PROBES } from '../../../../src/doctor/probes/all.ts';
import { resultOf } from '../../../../src/doctor/probes/probe.ts';
import { must } from '../../../../src/lib/assert.ts';
import { DEVIATIONS } from '../../../../src/emulator/account/deviations.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8');

describe('probes', () => {
  test('each names a fact of the documentation', () => {
    const facts = read('internals/service-facts.md') + read('internals/sdk-facts.md');
    expect(PROBES.filter(({ fact }) => !facts.includes(`| ${fact} `)).map(({ id }) => id)).toEqual([]);
  });

  test('docs/emulator.md lists each deviation, and the probe that asks about it', () => {
    const rows = [...read('emulator.md').matchAll(/^\| `([\w-]+)` .*\| `([\w-]+)` +\|$/gm)];
    expect(rows.map(([, deviation]) => deviation)).toEqual(DEVIATIONS);
    expect(new Set(rows.map(([, , probe]) => probe))).toEqual(new Set(PROBES.map(({ id }) => id)));
  });

  test.each([
    [{ holds: true, seen: 'x' }, 'holds', 'x', null],
    [{ holds: false, seen: 'x' }, 'differs', 'x', 'otherwise'],
    [{ notAsked: 'y' }, 'not asked', null, 'y'],
  ])('the answer %o -> %s', (answer, state, seen, note) => {
    const probe = { ...must(PROBES[0], 'there are probes'), otherwise: 'otherwise' };
    expect(resultOf(probe, answer)).toMatchObject({ state, seen, note });
  });
});
