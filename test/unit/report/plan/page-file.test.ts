import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readVersion } from '../../../../src/lib/version.ts';
import { planPage } from '../../../../src/report/plan/page.ts';
import { writePlanPage } from '../../../../src/report/plan/page-file.ts';
import { tenants } from './results.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-plan-page-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('the page is written whole, for its owner only', () => {
  const path = join(folder, 'plan.html');
  expect(writePlanPage(path, tenants())).toBeUndefined();
  expect(readFileSync(path, 'utf8')).toBe(planPage(tenants(), readVersion()));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a path that cannot be written -> the error names it, and is not thrown', () => {
  const path = join(folder, 'missing', 'plan.html');
  expect(writePlanPage(path, tenants())).toMatchObject({
    message: `the report cannot be written to ${path}`,
    hint: expect.stringContaining('--report'),
  });
});
