import { expect, test } from 'vitest';
import { swapWords } from '../../../../src/spec/turns/swapped-sides.ts';
import { adviseNext } from '../../../../src/report/status/status-advice.ts';
import { adviseWayBack, wayBackOf, wayBackRows } from '../../../../src/report/status/way-back.ts';
import type { Status } from '../../../../src/report/status/status-data.ts';
import { deadLetters } from '../../../../src/report/watch/moved.ts';
import { inWordsOf } from '../../../../src/report/watch/page.ts';
import { wayBack as wayBackOfPage } from '../../../../src/report/watch/way-back.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';
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
  catchUp: null,
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
  const next = (
    left: NonNullable<Status['cutover']>['left'],
    running: Status['running'] = null,
  ): string | null =>
    adviseWayBack(wayBack, { phase: 'committed', running, cutover: { ...none, left } }, unsafe);
  const plain =
    'cosmig reverse keeps the source up to date, so that cosmig rollback can switch to it again; cosmig finish gives that up';
  expect(next([])).toBe(plain);
  // After a rollback.
  expect(swapWords(plain)).toBe(
    'cosmig tail keeps the target up to date, so that cosmig cutover can switch to it again; cosmig finish gives that up',
  );
  expect(next(['hook'])).toMatch(/^run cosmig cutover again with its --on-commit: .*; then cosmig reverse/);
  // The cutover is still watching for late writes.
  expect(next(['watch'], { pid: 1, since: null })).toMatch(
    /^wait for the run to finish; then cosmig reverse/,
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
  const catchUp = { since: new Date(NOW_MS).toISOString(), changes: 2405, ms: 6000 };
  expect(shown({ ...way, catchUp })).toContain(
    'A return first catches up</dt><dd><b>with about 2,405 changes</b> <span class="muted">since 2026-01-01 00:00:00Z, which takes about 6 s</span>',
  );
  const why = ['1 dead letter must be resolved'];
  const refused = shown({ ...way, returnWouldSucceed: false, why });
  expect(refused).toContain('A return would be refused now: 1 dead letter must be resolved.');
  expect(refused).not.toContain('stops writers');
  expect(shown({ ...way, catchUp, returnWouldSucceed: false, why })).not.toContain('catches up');
});

const PROVEN = { comparedFromMs: NOW_MS - 1000, readMs: 60_000 };
const SAFE = { lost: [], ranges: [], byOthers: [], missed: [] };
type Turned = Parameters<typeof wayBackOf>[1];

/** What a status says two days after the last run, which has replicated back and was proven. */
function afterTwoDays(known: Partial<Turned>): { readonly now: string; readonly next: string } {
  const facts = factsOf((ledger) => beginLease(ledger, { phase: 'tail' }));
  if (facts.is !== 'known') throw new Error(facts.why);
  const at = new Date(NOW_MS).toISOString();
  const seen = { at, lagSeconds: 0, waitsFor: null, expected: 1000 };
  const status = { ...facts.status, phase: 'tailing', running: null, proof: { at }, seen } as const;
  const from = { keptUntilMs: NOW_MS + 5 * 24 * HOUR_MS, endedAtMs: null };
  const turn = { number: 1, ledger: '', hasBegun: true, isCommitted: false, from } as Turned['shown'];
  const none = { lastStopMs: null, lastCommit: null, history: [], report: null };
  const turns: Turned = { shown: turn, newest: turn, ...none, unsafe: SAFE, proof: PROVEN, ...known };
  const wayBack = wayBackOf(status, turns, NOW_MS + 48 * HOUR_MS);
  const rows = wayBackRows({ ...status, wayBack }, NOW_MS + 48 * HOUR_MS, true);
  const now = rows.find(([name]) => name === 'return now')?.[1] ?? '';
  return { now, next: adviseWayBack(wayBack, status, turns.unsafe) ?? adviseNext({ ...status, wayBack }) };
}

/** What a run has reported that may use so many RU/s of both sides. */
function allowing(allowedRu: number): Turned['report'] {
  const side = { ...NO_LOAD.source, allowedRu };
  return {
    ...NO_LOAD,
    atMs: NOW_MS,
    lagSeconds: 0,
    waitsFor: null,
    expected: null,
    source: side,
    target: side,
  };
}

/** A run that has replicated 10 changes a second. */
const BUSY = [0, 20_000].map((ms) => {
  const [read, ru] = [ms / 100, ms / 10];
  const none = { written: 0, deleted: 0, moved: 0, throttled: 0, openLetters: 0 };
  return { command: 'reverse', atMs: NOW_MS + ms, read, sourceRu: ru, targetRu: ru, lagSeconds: 0, ...none };
});

test.each<[what: string, known: Partial<Turned>, now: RegExp, next: RegExp]>([
  [
    'nothing has run since -> a return catches up by itself',
    {},
    /^should succeed; it would stop writers for about 5 s /,
    /; run cosmig cutover when you are ready$/,
  ],
  [
    'much has changed, and can be replicated -> how much, and how long it takes',
    { history: BUSY, report: allowing(40_000) },
    /^should succeed; it would first catch up with what has changed since 2026-01-01 00:00:20Z \(1 d ago\), about 1,727,800 changes, which takes about 7 min; /,
    /; run cosmig cutover when you are ready$/,
  ],
  [
    'so much has changed that more than a minute of changes comes while a return catches up',
    { history: BUSY, report: allowing(4000) },
    /^would be refused: cosmig tail has to catch up first with about 1,727,800 changes, which takes about 1 h$/,
    /; after that, cosmig status says whether a cosmig cutover should succeed$/,
  ],
  [
    'the ranges of a container cannot be used -> no advice to return',
    { unsafe: { ...SAFE, ranges: ['the last run could not use the ranges'] } },
    /^would be refused: NOT SAFE/,
    /; after that, cosmig status says whether a cosmig cutover should succeed$/,
  ],
  [
    'changes are lost that no comparison finds -> which container can no longer be used',
    { unsafe: { ...SAFE, lost: ['the container was created again'] } },
    /^would be refused: NOT SAFE/,
    /^cosmig finish --yes ends the way back: without a new copy, the application cannot switch to the target$/,
  ],
  [
    'all documents have to be compared, which takes longer than the writers may be stopped',
    { unsafe: { ...SAFE, missed: ['deletes'] }, proof: { ...PROVEN, readMs: 180_000 } },
    /^would be refused: all documents have to be compared with writers stopped, which takes about 3 min, and --deadline is 2 min unless you set a longer one$/,
    /^run cosmig verify --repair$/,
  ],
])('status, two days after the last run and the proof: %s', (_what, known, now, next) => {
  const shown = afterTwoDays(known);
  expect(shown.now).toMatch(now);
  expect(shown.next).toMatch(next);
});
