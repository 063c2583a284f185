/** The page of a migration, made from ledgers in every state. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { partsOf, watchPage } from '../../../../src/report/watch/page.ts';
import { readFacts, type Facts, type MigrationFacts } from '../../../../src/report/watch/facts.ts';
import { FreshRanges } from '../../../../src/report/watch/rates/fresh-ranges.ts';
import { must } from '../../../../src/lib/assert.ts';
import { VerifyStore, verifyPath } from '../../../../src/verify/store.ts';
import { NO_LOAD, NOTHING } from '../../../helpers/run-load.ts';
import { readTags } from '../plan/tags.ts';
import { beginLease, openLedger, temporaryFolder, NOW_MS } from '../../state/making.ts';
import { copying, factsOf } from './making.ts';

const ATTACK = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u0000`;
const NO_RATES = { source: new Map(), target: new Map() };
const partsIn = (facts: Facts): Readonly<Record<string, string>> => partsOf(facts, NO_RATES);
const textIn = (markup = ''): string => markup.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const COMPARING = {
  stage: 'reading',
  source: 1000,
  target: 0,
  open: 0,
  oldestOpenMs: null,
  waitsFor: null,
  expected: 5000,
  ru: 9,
  throttled: 0,
  budgetRu: null,
  requests: NOTHING,
};

function known(facts: Facts): MigrationFacts {
  if (facts.is !== 'known') throw new Error(facts.why);
  return facts;
}

describe('page', () => {
  test('no ledger -> says that it waits for one', () => {
    const { now } = partsIn(readFacts('/nowhere/ledger.db', NOW_MS));
    expect(textIn(now)).toContain('No migration has begun');
    expect(textIn(now)).toContain('/nowhere/ledger.db');
  });

  test('a copy that is throttled -> what it waits for, how far it is, and how long it may take', () => {
    const parts = partsIn(factsOf(copying));
    expect(textIn(parts['now'])).toContain('Copying It waits: throttled by the target.');
    expect(textIn(parts['ranges'])).toContain('7 answered with 429');
    // 10,000 documents are expected, none is committed, and 100 come each second.
    expect(textIn(parts['work'])).toContain('100 s left');
    expect(textIn(parts['work'])).toContain('40 waiting to be written, oldest 4.2 s');
    expect(textIn(parts['work'])).toContain('3 requests in flight, oldest 1.5 s');
    expect(textIn(parts['work'])).toContain('of 400 allowed');
    expect(textIn(parts['work'])).toContain('throttled 7 times, just now');
  });

  test('a range was throttled long ago -> counted, and no colour asks to look', () => {
    const facts = known(factsOf(copying));
    const calm = <T extends { readonly isResting: boolean }>(range: T): T => ({ ...range, isResting: false });
    const { report } = facts;
    if (report === null) throw new Error('it has reported');
    const source = { ...report.source, ranges: report.source.ranges.map(calm) };
    const target = { ...report.target, ranges: report.target.ranges.map(calm) };
    const figures = (shown: MigrationFacts): number =>
      partsIn(shown)['work']?.match(/class="figure caution"/g)?.length ?? 0;
    expect(figures(facts)).toBe(2);
    const after = { ...facts, report: { ...report, source, target } };
    expect(figures(after)).toBe(0);
    expect(textIn(partsIn(after)['work'])).toContain('throttled 7 times 3 requests');
  });

  test('a page that has seen one report of a run -> the rates of its ranges are not known, and not idle', () => {
    const facts = known(factsOf(copying));
    const tilesOf = (shown: MigrationFacts, rates: Parameters<typeof partsOf>[1]): string =>
      textIn(partsOf(shown, rates)['each']);
    expect(tilesOf(facts, NO_RATES)).toContain('Range 0: not counted yet, RU/s not known, 200 RU');
    const rates = { source: new Map([['0', 0]]), target: new Map([['0', 0]]) };
    expect(tilesOf(facts, rates)).toContain('Range 0: not counted yet, 0 RU/s, 200 RU');
    const rested = { ...facts, status: { ...facts.status, running: null } };
    expect(tilesOf(rested, NO_RATES)).toContain('Range 0: not counted yet, 0 RU/s, 200 RU');
  });

  test('copies that were removed -> not all are said to be found by comparing', () => {
    const facts = known(factsOf(copying));
    const { documents } = facts.status;
    const removed = { ...facts.status, deletes: 'reconcile', documents: { ...documents, deleted: 1 } };
    expect(textIn(partsIn({ ...facts, status: removed })['moved'])).toContain(
      'Removed 1 copies of deleted documents and of dead letters; deletes are found by comparing both sides ',
    );
  });

  test('a way back that was ended -> an event', () => {
    const facts = { ...known(factsOf(copying)), finishedAtMs: NOW_MS + 59_500 };
    expect(textIn(partsIn(facts)['events'])).toMatch(
      /^ ?Events UTC \d\d:\d\d:59 cosmig finish ended the way back /,
    );
  });

  test('a run that has gone silent -> says so', () => {
    const facts = factsOf(copying, NOW_MS + 59_000 + 3 * 60_000);
    expect(textIn(partsIn(facts)['now'])).toContain('The run has reported nothing for 3 min.');
  });

  test('a run that was killed -> says so, with the command that goes on', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    copying(ledger);
    ledger.close();
    const { now, events } = partsIn(readFacts(path, NOW_MS + 120_000));
    expect(textIn(now)).toContain('cosmig copy was killed or crashed');
    expect(textIn(now)).toContain('cosmig copy continues with 1 range');
    expect(textIn(events)).toContain('cosmig copy was killed or crashed; last seen then');
  });

  test('runs that were stopped, ran out of time, failed or work -> events, the newest first, but the one that works', () => {
    const { events } = partsIn(
      factsOf((ledger) => {
        const ends = [
          ['tail', 'canceled', null],
          ['tail', 'budget', null],
          ['copy', 'service', 'the service answered 503'],
          ['copy', 'done', null],
          // Its end without a commit is an event of the journal.
          ['cutover', 'not-ready', 'the gate is closed'],
        ] as const;
        for (const [n, [command, outcome, why]] of ends.entries()) {
          const run = ledger.runs.begin({ command, pid: 1, nowMs: NOW_MS + n * 1000 });
          ledger.runs.end(run, { outcome, why, nowMs: NOW_MS + n * 1000 });
        }
        ledger.runs.begin({ command: 'tail', pid: 1, nowMs: NOW_MS });
      }),
    );
    expect(textIn(events)).toMatch(
      /cosmig copy failed: the service answered 503 .* cosmig tail ended at its time limit .* cosmig tail was stopped/,
    );
    expect(textIn(events)).not.toMatch(/killed|cutover/);
  });

  test('the lag while nothing runs -> for how long nothing is replicated, and no figure that looks measured', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    beginLease(ledger, { phase: 'tail' });
    ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
    const run = ledger.runs.begin({ command: 'tail', pid: 1, nowMs: NOW_MS });
    ledger.runs.end(run, { outcome: 'canceled', nowMs: NOW_MS });
    ledger.close();
    const text = textIn(partsIn(readFacts(path, NOW_MS + 180_000))['work']);
    expect(text).toContain('Not replicating for 3 min since the last run');
    expect(text).not.toContain('Lag');
    const again = openLedger(path);
    again.migration.enter({ phase: 'committed', stoppedMs: 1, likeSource: [] } as never, NOW_MS);
    again.close();
    const committed = textIn(partsIn(readFacts(path, NOW_MS + 180_000))['work']);
    // On the way back the same card is shown, and cosmig tail may resume after it.
    expect(committed).toMatch(/Lag none nothing is replicated now/);
  });

  test('a cutover whose writers are stopped -> for how long, first of all, and its gate as passed', () => {
    const facts = factsOf((ledger) => {
      beginLease(ledger, { phase: 'tail' });
      ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
      ledger.runs.begin({ command: 'cutover', pid: 1, nowMs: NOW_MS });
      ledger.migration.enter({ phase: 'ready' }, NOW_MS);
      ledger.migration.enter({ phase: 'fencing' }, NOW_MS + 10_000);
      const steps = [{ name: 'comparing', atMs: NOW_MS + 20_000 }];
      ledger.runs.report({
        atMs: NOW_MS + 59_000,
        ...NO_LOAD,
        steps,
        lagSeconds: 1,
        waitsFor: null,
        expected: 9,
      });
    });
    const parts = partsIn(facts);
    expect(textIn(parts['now'])).toContain(
      'Cutover: comparing both sides The writers of the application have been stopped for 50 s.',
    );
    expect(parts['now']).toContain('class="stages switching"');
    // A change of a document that was copied is read again.
    expect(textIn(parts['work'])).toContain('Documents and changes read');
    const { cutover = '' } = parts;
    expect([cutover.match(/class="met"/g)?.length, cutover.match(/class="(?:un|)open"/g)]).toEqual([5, null]);
  });

  test.each([
    [['comparing'], true],
    [['comparing', 'watching the fence'], false],
  ])('a cutover with the steps %j -> its comparison is shown: %s', (names, isShown) => {
    let store: VerifyStore | undefined;
    const facts = factsOf((ledger, path) => {
      beginLease(ledger, { phase: 'tail' });
      ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
      ledger.runs.begin({ command: 'cutover', pid: 1, nowMs: NOW_MS });
      const steps = names.map((name, index) => ({ name, atMs: NOW_MS + index }));
      const more = { lagSeconds: 1, waitsFor: null, expected: 9 };
      ledger.runs.report({ atMs: NOW_MS + 59_000, ...NO_LOAD, steps, ...more });
      store = VerifyStore.open(verifyPath(path));
      store.progress.put(COMPARING, NOW_MS + 10);
    });
    store?.[Symbol.dispose]();
    expect(textIn(partsIn(facts)['proof']).includes('A comparison is reading both sides')).toBe(isShown);
  });

  test('a run that has not recorded itself, after one of yesterday -> it starts, and nothing of the other is current', () => {
    const facts = factsOf((ledger) => {
      copying(ledger);
      ledger.runs.end(1, { outcome: 'done', nowMs: NOW_MS + 60_000 });
    }, NOW_MS + 86_400_000);
    const { now, work, ranges } = partsIn(facts);
    expect(textIn(now)).toContain('A run is starting It connects to the service');
    expect(textIn(work)).toContain('no run is reading');
    expect(textIn(`${now}${work}`)).not.toMatch(/in flight|waiting to be written|has reported nothing/);
    expect(textIn(ranges)).toContain('not all copied');
  });

  test.each([
    ['copy', [], 'Tail', 'Finishing the copy'],
    ['tail', [], 'Tail', 'Replicating changes'],
    ['cutover', [], 'Cutover', 'Cutover: checking its gate'],
    ['cutover', [{ name: 'catching up', atMs: NOW_MS }], 'Cutover', 'Cutover: catching up'],
    [
      'cutover',
      [{ name: 'resuming writers', atMs: NOW_MS }],
      'Cutover',
      'Cutover backed out: letting writers resume',
    ],
  ])('after the copy: cosmig %s with steps %j -> %s, %s', (command, steps, stage, title) => {
    const facts = factsOf((ledger) => {
      beginLease(ledger, { phase: 'tail' });
      ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
      ledger.runs.begin({ command, pid: 1, nowMs: NOW_MS });
      ledger.runs.report({
        atMs: NOW_MS + 59_000,
        ...NO_LOAD,
        steps,
        lagSeconds: 1,
        waitsFor: null,
        expected: 9,
      });
    });
    const { now = '' } = partsIn(facts);
    expect(now).toContain(`aria-current="step">${stage}<`);
    expect(now).toContain(`<h1>${title}</h1>`);
  });

  test('a cutover that reports an older step than its phase -> the step of the phase', () => {
    const facts = factsOf((ledger) => {
      beginLease(ledger, { phase: 'tail' });
      ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
      ledger.runs.begin({ command: 'cutover', pid: 1, nowMs: NOW_MS });
      ledger.migration.enter({ phase: 'ready' }, NOW_MS + 9000);
      ledger.migration.enter({ phase: 'fencing' }, NOW_MS + 9500);
      const steps = [{ name: 'catching up', atMs: NOW_MS + 2000 }];
      ledger.runs.report({
        atMs: NOW_MS + 9000,
        ...NO_LOAD,
        steps,
        lagSeconds: 1,
        waitsFor: null,
        expected: 9,
      });
    }, NOW_MS + 10_000);
    expect(textIn(partsIn(facts)['now'])).toContain('Cutover: stopping the writers');
  });

  test.each([
    ['service', 'cosmig copy failed at 00:05 UTC', 'The service refused a request', 'alarm'],
    ['not-ready', 'cosmig copy failed at 00:05 UTC', 'A condition was not met.', 'alarm'],
    [
      'not-ready',
      'cosmig copy failed at 00:05 UTC',
      'A document is not in the target.',
      'alarm',
      'a document is not in the target',
    ],
    ['canceled', 'No run since 00:05 UTC', 'cosmig copy continues', 'idle'],
  ])('a run that ended: %s -> says so, with the reason', (outcome, title, detail, mood, why = '') => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    copying(ledger);
    const midnightMs = Math.ceil(NOW_MS / 86_400_000) * 86_400_000;
    ledger.runs.end(1, { outcome, why: why === '' ? null : why, nowMs: midnightMs + 300_000 });
    ledger.close();
    const { now = '' } = partsIn(readFacts(path, midnightMs + 600_000));
    expect(textIn(now)).toContain(title);
    expect(textIn(now)).toContain(detail);
    expect(now).toContain(`class="headline ${mood}"`);
    // On another day the day is needed.
    expect(textIn(partsIn(readFacts(path, midnightMs + 90_000_000))['now'])).toMatch(/\d\d-\d\d 00:05 UTC/);
  });

  test('a way back -> nothing is said to be copied', () => {
    const facts = known(factsOf(copying));
    const { plan: _plan, ...shown } = partsIn({ ...facts, leadsBack: true });
    const text = textIn(Object.values(shown).join(' ')).replace('Plan Copy Tail', '');
    expect(text).not.toMatch(/\bcop(?:y|ies|ied|ying)\b/i);
    expect(textIn(shown['ranges'])).toContain('finding documents');
  });

  test.each([
    ['the way back', { leadsBack: true }, 'Since the way back began'],
    ['a migration after a rollback', { isAgain: true }, 'Since the migration was resumed'],
    ['a first migration', {}, 'Since the beginning'],
  ])('%s -> says since when the history is', (_what, turn, words) => {
    const facts = { ...known(factsOf(copying)), ...turn };
    expect(textIn(partsIn(facts)['history'])).toContain(words);
  });

  test('a proof while the tail continues -> the stage Verify is done', () => {
    const facts = known(factsOf((ledger) => beginLease(ledger, { phase: 'tail' })));
    const running = { pid: 1, since: new Date(NOW_MS).toISOString() };
    const proof = { at: running.since };
    const stages = (status: MigrationFacts['status']): string =>
      /<ol.*?<\/ol>/.exec(partsIn({ ...facts, status })['now'] ?? '')?.[0] ?? '';
    const tailing = { ...facts.status, phase: 'tailing', running } as const;
    expect(stages({ ...tailing, proof: null })).toContain('<li class="">Verify');
    expect(stages({ ...tailing, proof })).toContain('<li class="past">Verify');
  });

  test('partitions -> new after a split, not because the page shows the next turn', () => {
    const facts = known(factsOf(copying));
    const [lease] = facts.status.ranges;
    const fresh = new FreshRanges();
    const look = (ledger: string, ids: readonly string[], nowMs: number): string[] => {
      const ranges = ids.map((id) => ({ ...must(lease, 'it has a range'), id }));
      fresh.add({ ...facts, report: null, status: { ...facts.status, ledger, ranges } }, nowMs);
      return [...fresh.at(nowMs).source];
    };
    expect(look('a.db', ['0', '1'], 0)).toEqual([]);
    expect(look('a.db', ['0', '2', '3'], 1000)).toEqual(['2', '3']);
    expect(look('a.back-1.db', ['0', '7'], 2000)).toEqual([]);
  });

  test('deletes that no feed has shown -> a comparison is due', () => {
    const facts = factsOf((ledger) => beginLease(ledger, { phase: 'tail', sweepPending: true }));
    expect(textIn(partsIn(facts)['proof'])).toContain('Deletes may have been missed.');
  });

  test('texts from documents and settings -> shown as text', () => {
    const facts = factsOf((ledger) => {
      copying(ledger);
      ledger.migration.enter({ phase: 'tailing', why: ATTACK }, NOW_MS);
      ledger.runs.report({ atMs: NOW_MS, ...NO_LOAD, lagSeconds: 1, waitsFor: ATTACK, expected: null });
    });
    const html = watchPage(facts, partsIn(facts), { live: true, version: ATTACK });
    const { tags } = readTags(html.replace(/<script>[^]*<\/script>/, ''));
    expect(tags.filter(({ name }) => name === 'img' || name === 'script')).toEqual([]);
    expect(
      tags.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => /^on|^style$/.test(name)),
    ).toEqual([]);
    expect(html).not.toContain('\u202e');
    expect(html).not.toContain('\u0000');
  });

  test('every part of the page has its element, and every id is there once', () => {
    const facts = factsOf(copying);
    const parts = partsIn(facts);
    const { tags } = readTags(watchPage(facts, parts, { live: false, version: '1' }));
    const ids = tags.flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(ids).toEqual(expect.arrayContaining(Object.keys(parts)));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
