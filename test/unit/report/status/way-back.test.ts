import { expect, test } from 'vitest';
import { adviseWayBack, wayBackRows } from '../../../../src/report/status/way-back.ts';
import type { Status } from '../../../../src/report/status/status-data.ts';
import { deadLetters } from '../../../../src/report/watch/moved.ts';
import { inWordsOf } from '../../../../src/report/watch/page.ts';
import { wayBack as wayBackOfPage } from '../../../../src/report/watch/way-back.ts';
import { factsOf } from '../watch/making.ts';
import { beginLease, NOW_MS } from '../../state/making.ts';

const HOUR_MS = 3_600_000;
const IN_USE: NonNullable<Status['wayBack']> = {
  leadsTo: 'source',
  state: 'in use',
  keptUntil: new Date(NOW_MS + 24 * HOUR_MS).toISOString(),
  returnWouldSucceed: true,
  why: [],
  unsafe: [],
  isRepairable: true,
  lastStopMs: null,
  stopEstimate: null,
  ruPerSecondNow: null,
  ruPerSecond: { source: 1, target: 3 },
  moneyPerDay: { amount: 0.14, currency: 'USD', pricesOf: '2026-05-15' },
};

test.each([
  ['a minute', 60_000, '720 RU of the source and 7,200 RU of the target so far'],
  [
    'an hour',
    HOUR_MS,
    '1 RU/s of the source and 3 RU/s of the target on average: 345,600 RU a day, 0.14 USD at the list price of manual throughput',
  ],
])('way back: in use for %s -> what it costs, without a guess', (_name, passedMs, costs) => {
  const facts = factsOf((ledger) => beginLease(ledger, { phase: 'tail' }));
  if (facts.is !== 'known') throw new Error(facts.why);
  const wayBack = IN_USE;
  const ru = { source: 720, target: 7200 };
  const began = new Date(NOW_MS).toISOString();
  const rows = wayBackRows({ ...facts.status, began, ru, wayBack }, NOW_MS + passedMs);
  expect(rows.find(([name]) => name === 'costs')?.[1]).toBe(costs);
  // After a rollback the same facts are about the next cutover.
  const forth = { ...wayBack, leadsTo: 'target' as const, lastStopMs: 5500 };
  expect(wayBackRows({ ...facts.status, began, ru, wayBack: forth }, NOW_MS).slice(0, 2)).toEqual([
    ['target kept', 'until 2026-01-02 00:00:00Z (1 d left)'],
    ['cutover now', 'should succeed; the rollback stopped writers for 5.5 s'],
  ]);
  const back = wayBackRows({ ...facts.status, began, ru, wayBack: forth }, NOW_MS, true).slice(0, 2);
  expect(back.map(([name]) => name)).toEqual(['way back', 'return now']);
});

test.each([
  ['cutover', false, 'Way back to <'],
  ['rollback', true, 'The target is kept <'],
] as const)('page, after a %s -> says which container is kept', (_name, leadsBack, words) => {
  const facts = factsOf((ledger) => beginLease(ledger, { phase: 'tail' }));
  if (facts.is !== 'known') throw new Error(facts.why);
  const wayBack = { ...IN_USE, state: 'prepared' } as const;
  const shown = { ...facts, leadsBack, status: { ...facts.status, wayBack } };
  expect(inWordsOf(shown, { back: wayBackOfPage(shown)?.text ?? '' })['back']).toContain(words);
});

test('status: a cutover has something left to do after its commit -> that comes before the way back', () => {
  const wayBack = { ...IN_USE, state: 'prepared' } as const;
  const unsafe = { lost: [], ranges: [], byOthers: [], missed: [] };
  const none = {
    at: '',
    why: null,
    stoppedMs: 5500,
    stoppedSince: null,
    lateWrites: [],
    state: 'committed',
  } as const;
  const next = (left: NonNullable<Status['cutover']>['left']): string | null =>
    adviseWayBack(wayBack, { phase: 'committed', running: null, cutover: { ...none, left } }, unsafe);
  expect(next([])).toMatch(/^cosmig reverse keeps/);
  expect(next(['hook'])).toMatch(
    /^run cosmig cutover again: the command of --on-commit .*; then cosmig reverse/,
  );
});

test('page: a way back that would be refused -> no estimate for how long it stops writers; a letter is as old as its last attempt', () => {
  const facts = factsOf((ledger) => {
    beginLease(ledger, { phase: 'tail' });
    const letter = {
      identity: Buffer.alloc(16, 1),
      reason: 'collision',
      code: 'slot-taken',
      why: 'taken',
    } as const;
    const where = {
      id: '"a"',
      sourceKey: '["A"]',
      targetKey: null,
      slot: null,
      waits: { for: 'nothing' },
    } as const;
    ledger.letters.change({ change: 'open', letter: { ...letter, ...where, atMs: NOW_MS } });
  }, NOW_MS + 6000);
  if (facts.is !== 'known') throw new Error(facts.why);
  expect(deadLetters(facts).text).toContain('No. 1, last tried 6 s ago</span>');
  const way: typeof IN_USE = { ...IN_USE, stopEstimate: { ms: 6000, changes: 3, comparesAll: false } };
  const shown = (one: typeof way): string =>
    wayBackOfPage({ ...facts, status: { ...facts.status, wayBack: one } })?.text ?? '';
  expect(shown(way)).toContain('A return stops writers</dt><dd><b>for about 6 s</b>');
  const why = ['1 dead letter must be resolved'];
  const refused = shown({ ...way, returnWouldSucceed: false, why });
  expect(refused).toContain('A return would be refused now: 1 dead letter must be resolved.');
  expect(refused).not.toContain('stops writers');
});
