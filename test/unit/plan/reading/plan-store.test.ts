import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PageMeasure } from '../../../../src/plan/pass/page-measure.ts';
import { PlanStore } from '../../../../src/plan/reading/plan-store.ts';

test('a pass whose pages cost fractions of an RU -> is opened again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-plan-store-'));
  try {
    const path = join(folder, 'orders.db-plan');
    const pass = { fingerprint: 'f', sourceRid: 'r', startedAtMs: 1, nowTs: 2 };
    {
      using store = PlanStore.open(path);
      store.begin(pass);
      const totals = new PageMeasure([], 2).savedTotals();
      store.checkpoint({ parts: [], totals, candidates: [], readRu: 6022.57 });
    }
    using store = PlanStore.open(path);
    expect(store.begun()).toEqual({ ...pass, readRu: 6023 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
