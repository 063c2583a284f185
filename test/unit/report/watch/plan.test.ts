/** The plan as the first stage of the page: while it is made, when it was made, and when there is none. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepSummary, planOfLedger } from '../../../../src/plan/reading/plan-record.ts';
import { planPath, PlanStore } from '../../../../src/plan/reading/plan-store.ts';
import type { PlanSummary } from '../../../../src/plan/summary.ts';
import { metricsOf } from '../../../../src/report/metrics/metrics.ts';
import { readFacts } from '../../../../src/report/watch/facts.ts';
import { partsOf } from '../../../../src/report/watch/page.ts';
import { openLedger, temporaryFolder, NOW_MS } from '../../state/making.ts';

const IDLE = { source: new Map<string, number>(), target: new Map<string, number>() };
const CANDIDATE = { derive: [], current: false, blockers: [], risks: [], gains: [] };
const SUMMARY: PlanSummary = {
  source: 'shop/orders',
  complete: true,
  documents: 1000,
  key: '/country',
  recommendation: { action: 'migrate', key: '/customerId' },
  candidates: [
    { ...CANDIDATE, key: '/country', paths: ['/country'], current: true },
    {
      ...CANDIDATE,
      key: '/customerId',
      paths: ['/customerId'],
      risks: ['3 documents have no value', 'it grows'],
      gains: ['the fullest partition has 1.1 times the average'],
    },
    { ...CANDIDATE, key: '/tenantId', paths: ['/tenantId'], blockers: ['a <b>value</b> has over 20 GB'] },
  ],
  page: '/srv/plan.html',
};

/** A plan as a pass over the source leaves it. */
function planned(ledger: string, summary: PlanSummary = SUMMARY, sourceRid = 'rid'): void {
  const store = PlanStore.open(planPath(ledger));
  store.begin({ fingerprint: 'f', sourceRid, startedAtMs: NOW_MS, nowTs: 1 });
  store[Symbol.dispose]();
  keepSummary(ledger, summary, NOW_MS);
}

const shown = (ledger: string): Readonly<Record<string, string>> =>
  partsOf(readFacts(ledger, NOW_MS + 3_600_000), IDLE);
const newLedger = (): string => join(temporaryFolder(), 'ledger.db');

test('a plan is being made -> the first stage, with what was read so far', () => {
  const ledger = newLedger();
  using _store = PlanStore.open(planPath(ledger));
  const { now = '', plan } = shown(ledger);
  expect(now).toContain('aria-current="step">Plan<');
  expect(now).toContain('<h1>Measuring candidates for the key</h1>');
  expect(plan).toContain('cosmig plan is reading the source.');
});

test('a pass without a result -> what it has read, and no other stage', () => {
  const ledger = newLedger();
  const store = PlanStore.open(planPath(ledger));
  store.begin({ fingerprint: 'f', sourceRid: 'rid', startedAtMs: NOW_MS, nowTs: 1 });
  store[Symbol.dispose]();
  const { now = '', plan } = shown(ledger);
  expect(now).toContain('aria-current="step">Plan<');
  expect(now).toContain('<h1>A plan was begun</h1>');
  expect(plan).toContain('cosmig plan continues if it was stopped.');
});

test('a plan was made, and nothing was copied -> its advice, its findings, and where its page is', () => {
  const ledger = newLedger();
  planned(ledger);
  const { now = '', plan = '', name } = shown(ledger);
  expect(now).toContain('aria-current="step">Plan<');
  expect(now).toContain('<h1>The plan: Migrate to /customerId</h1>');
  expect(name).toContain('shop/orders');
  expect(plan).toContain('made 1 h ago');
  expect(plan).toContain('A &lt;b&gt;value&lt;/b&gt; has over 20');
  expect(plan).toContain('3 documents have no value<span class="muted">, and 1 more risk</span>');
  expect(plan).toContain('/srv/plan.html');
  // The present key is what the migration is from.
  expect(plan.match(/<dt>/g)).toHaveLength(2);
  expect(plan).not.toContain('taken');
});

test('a migration that takes another key than the plan has advised -> both are marked', () => {
  const ledger = newLedger();
  planned(ledger);
  openLedger(ledger).close();
  const { now = '', plan = '' } = shown(ledger);
  expect(now).toContain('<li class="past">Plan</li>');
  expect(plan).toContain('This migration takes <bdi class="key">/<wbr/>tenantId</bdi>.');
  expect(plan).toMatch(/\/<wbr\/>tenantId<\/bdi> <span class="tag taken">taken/);
  expect(plan).toMatch(/\/<wbr\/>customerId<\/bdi> <span class="tag">advised/);
});

test('a migration to a key that was not measured -> says so', () => {
  const ledger = newLedger();
  planned(ledger, { ...SUMMARY, candidates: SUMMARY.candidates.slice(0, 2) });
  openLedger(ledger).close();
  expect(shown(ledger)['plan']).toContain('which the plan has not measured');
});

test('a migration without a plan -> the stage is shown as left out', () => {
  const ledger = newLedger();
  openLedger(ledger).close();
  const { now = '', plan } = shown(ledger);
  expect(now).toContain('<li class="skipped">Plan<span class="hidden"> (none was made)</span></li>');
  expect(plan).toContain('No plan of <bdi>shop/orders</bdi> was found');
});

test('a plan of another container -> not that of this migration', () => {
  const ledger = newLedger();
  planned(ledger, { ...SUMMARY, source: 'shop/users' });
  openLedger(ledger).close();
  expect(shown(ledger)['plan']).toContain('No plan of');
});

test('a plan that was made before there was a target -> found by the name of the source', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, '.cosmig'));
  planned(join(folder, '.cosmig/shop.orders.db'));
  expect(planOfLedger(join(folder, '.cosmig/shop.orders--shop.orders-by-tenant.db'))).toMatchObject({
    is: 'made',
    summary: SUMMARY,
  });
  expect(planOfLedger(join(folder, '.cosmig/shop.users--shop.users-by-tenant.db'))).toBeNull();
});

test('a new plan begins -> what the last one has found is gone', () => {
  const ledger = newLedger();
  planned(ledger);
  const store = PlanStore.open(planPath(ledger));
  store.begin({ fingerprint: 'g', sourceRid: 'rid', startedAtMs: NOW_MS, nowTs: 1 });
  store[Symbol.dispose]();
  expect(planOfLedger(ledger)).toEqual({ is: 'unfinished', documents: 0 });
});

test('a plan file that is damaged -> the page says so and shows the migration', () => {
  const ledger = newLedger();
  planned(ledger);
  openLedger(ledger).close();
  writeFileSync(planPath(ledger), 'not a database');
  const { now, plan } = shown(ledger);
  expect(now).toContain('Nothing has run yet');
  expect(plan).toContain('It cannot be read');
});

test('metrics before the migration -> the stage is plan, for a migration whose name is known', () => {
  const ledger = newLedger();
  planned(ledger);
  const about = { format: 'openmetrics', version: '1.2.3', migration: 'a -> b' } as const;
  const text = metricsOf(readFacts(ledger, NOW_MS), about);
  expect(text).toContain('cosmig_stage{migration="a -> b",cosmig_stage="plan"} 1\n');
  expect(text).toContain('cosmig_stage{migration="a -> b",cosmig_stage="copy"} 0\n');
});
