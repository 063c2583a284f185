/** The page and the metrics of a migration, made from ledgers in every state. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { metricsOf } from '../../../../src/report/watch/metrics.ts';
import { partsOf, watchPage } from '../../../../src/report/watch/page.ts';
import { readFacts, type Facts } from '../../../../src/report/watch/facts.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';
import { readTags } from '../plan/tags.ts';
import { beginLease, openLedger, temporaryFolder, NOW_MS } from '../../state/making.ts';

const ATTACK = `"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u0000`;
const NO_RATES = { source: new Map(), target: new Map() };
const SIDE = {
  ...NO_LOAD.source,
  ru: 500,
  throttled: 7,
  allowedRu: 400,
  containerRu: 1000,
  ranges: [
    { id: '0', min: '', max: '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', ru: 200, throttled: 0, isResting: false },
    { id: '1', min: '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', max: 'FF', ru: 300, throttled: 7, isResting: true },
  ],
};

function factsOf(fill: (ledger: Ledger) => void, atMs = NOW_MS + 60_000): Facts {
  const path = join(temporaryFolder(), 'ledger.db');
  const ledger = openLedger(path);
  fill(ledger);
  const facts = readFacts(path, atMs);
  ledger.close();
  return facts;
}

function copying(ledger: Ledger): void {
  beginLease(ledger);
  ledger.migration.enter({ phase: 'copying' }, NOW_MS);
  ledger.runs.begin({ command: 'copy', pid: 1, nowMs: NOW_MS });
  for (let second = 1; second <= 59; second += 1) {
    const read = second * 100;
    ledger.history.add({
      atMs: NOW_MS + second * 1000,
      command: 'copy',
      read,
      written: read,
      deleted: 0,
      moved: 0,
      sourceRu: read,
      targetRu: read * 6,
      throttled: 0,
      openLetters: 0,
      lagSeconds: null,
    });
  }
  const waitsFor = 'throttled by the target';
  const report = {
    lagSeconds: null,
    waitsFor,
    expected: 10_000,
    inFlight: 40,
    steps: [],
    source: SIDE,
    target: SIDE,
  };
  ledger.runs.report({ atMs: NOW_MS + 59_000, ...report });
}

const partsIn = (facts: Facts): Readonly<Record<string, string>> => partsOf(facts, NO_RATES);
const textIn = (markup = ''): string => markup.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

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
    expect(textIn(parts['work'])).toContain('40 in flight');
    expect(textIn(parts['work'])).toContain('of the 400 that cosmig may use');
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
    const now = textIn(partsIn(readFacts(path, NOW_MS + 120_000))['now']);
    expect(now).toContain('cosmig copy was killed or crashed');
    expect(now).toContain('cosmig copy continues with 1 range');
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

describe('metrics', () => {
  test('a copy -> names with units, counters that end in _total, and the end', () => {
    const text = metricsOf(factsOf(copying), '1.2.3');
    const name = 'migration="shop/orders -> shop/orders-by-tenant"';
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'cosmig_build_info{version="1.2.3"} 1',
        `cosmig_stage{${name},cosmig_stage="copy"} 1`,
        `cosmig_stage{${name},cosmig_stage="tail"} 0`,
        `cosmig_documents_expected{${name}} 10000`,
        `cosmig_throttled_ranges{${name},side="target"} 1`,
        `cosmig_allowed_request_units_per_second{${name},side="source"} 400`,
        '# UNIT cosmig_last_report_timestamp_seconds seconds',
        `cosmig_last_report_timestamp_seconds{${name}} ${(NOW_MS + 59_000) / 1000}`,
      ]),
    );
    expect(text.endsWith('\n# EOF\n')).toBe(true);
    // What is not known has no sample: a lag of 0 would be a claim.
    expect(text).not.toContain('cosmig_feed_lag_seconds');
  });

  test('every sample belongs to the family above it, and no family comes twice', () => {
    const families = metricsOf(factsOf(copying), '1').split('# TYPE ').slice(1);
    const names = families.map((family) => family.split(' ', 1)[0] ?? '');
    expect(new Set(names).size).toBe(names.length);
    for (const [index, family] of families.entries()) {
      const samples = family
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .slice(1);
      expect(samples.length).toBeGreaterThan(0);
      const type = family.split('\n', 1)[0]?.split(' ')[1];
      const suffix = type === 'counter' ? '_total' : type === 'info' ? '_info' : '';
      expect(samples.filter((sample) => !/^[a-z_]+(?:\{[^}]*\})? -?\d+(?:\.\d+)?$/.test(sample))).toEqual([]);
      expect(samples.filter((sample) => sample.split(/[{ ]/, 1)[0] !== `${names[index]}${suffix}`)).toEqual(
        [],
      );
    }
  });

  test('no ledger -> says so, and nothing else', () => {
    const text = metricsOf(readFacts('/nowhere/ledger.db', NOW_MS), '1');
    expect(text).toContain('cosmig_ledger_readable 0');
    expect(text).not.toContain('cosmig_running');
  });
});
