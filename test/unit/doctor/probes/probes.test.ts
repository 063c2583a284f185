/** The questions of `cosmig doctor --probe`, and where they are documented. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PROBES } from '../../../../src/doctor/probes/all.ts';
import { resultOf } from '../../../../src/doctor/probes/probe.ts';
import { UNASKED } from '../../../../src/doctor/probes/unasked.ts';
import { DEVIATION_ROWS } from '../../../helpers/migration/deviations.ts';
import { must } from '../../../../src/lib/assert.ts';
import { DEVIATIONS } from '../../../../src/emulator/account/deviations.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8');

const ASKED = PROBES.filter((probe) => !UNASKED.includes(probe));

describe('probes', () => {
  test('docs/internals/probes.md says of each question what cosmig does where the answer differs', () => {
    const cells = (row: string): string[] =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
    const rows = [...read('internals/probes.md').matchAll(/^\| `.*\|$/gm)].map(([row]) => cells(row));
    const asked = ASKED.map(({ id, fact }) => {
      const of = Object.entries(DEVIATION_ROWS).filter(([, { probe }]) => probe === id);
      expect([id, of.length]).toEqual([id, 1]);
      const [deviation, { does, how }] = must(of[0], 'each question has a deviation');
      return [`\`${id}\``, fact, `\`${deviation}\``, does, how];
    });
    const open = UNASKED.map(({ id, fact, claim }) => [`\`${id}\``, fact, claim]);
    expect(rows).toEqual([...asked, ...open]);
  });

  test('each fact that is unverified or inferred has a question, or a reason for none', () => {
    const facts = [
      ...(read('internals/service-facts.md') + read('internals/sdk-facts.md')).matchAll(
        /^\| ((?:SVC|SDK)-\d+) .*\| ([^|]*(?:unverified|inferred)[^|]*)\|$/gm,
      ),
    ].map(([, id = '']) => id);
    expect(facts.length).toBeGreaterThan(8);
    const questions = PROBES.map(({ fact }) => fact);
    const reasons = read('internals/probes.md').match(/^Not a question[^]*?\n\n/m)?.[0] ?? '';
    expect(facts.filter((id) => !questions.includes(id) && !reasons.includes(`${id} `))).toEqual([]);
  });

  test('each names a fact of the documentation', () => {
    const facts = read('internals/service-facts.md') + read('internals/sdk-facts.md');
    expect(PROBES.filter(({ fact }) => !facts.includes(`| ${fact} `)).map(({ id }) => id)).toEqual([]);
  });

  test('docs/emulator.md lists each deviation, and the probe that asks about it', () => {
    const rows = [...read('emulator.md').matchAll(/^\| `([\w-]+)` .*\| `([\w-]+)` +\|$/gm)];
    expect(rows.map(([, deviation]) => deviation)).toEqual(DEVIATIONS);
    expect(new Set(rows.map(([, , probe]) => probe))).toEqual(new Set(ASKED.map(({ id }) => id)));
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
