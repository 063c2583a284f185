import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { currentMoment, msBetween } from '../../../../src/engine/unit/machine-time.ts';
import type { MachineMoment } from '../../../../src/state/runs.ts';

const at = (ms: number, clock = 'boot 1'): MachineMoment => ({ clock, ms });

test.each<readonly [string, MachineMoment | null, MachineMoment | null, number | null]>([
  ['the same clock -> the difference', at(1000), at(3500), 2500],
  ['the same moment -> 0', at(1000), at(1000), 0],
  ['an earlier moment -> unknown', at(1000), at(999), null],
  ['another boot -> unknown', at(1000), at(3500, 'boot 2'), null],
  ['no moment then -> unknown', null, at(3500), null],
  ['no moment now -> unknown', at(1000), null, null],
])('moments: %s', (_what, then, now, expected) => {
  expect(msBetween(then, now)).toBe(expected);
});

test.skipIf(process.platform !== 'linux')('moments of two processes of one machine -> comparable', () => {
  const before = currentMoment();
  const { stdout } = spawnSync(
    process.execPath,
    ['-e', 'process.stdout.write(String(process.hrtime.bigint() / 1_000_000n))'],
    { encoding: 'utf8' },
  );
  const after = currentMoment();
  expect(before?.clock).toMatch(/^[\da-f-]{36} time:\[\d+\]$/);
  expect(Number(stdout)).toBeGreaterThanOrEqual(before?.ms ?? Infinity);
  expect(Number(stdout)).toBeLessThanOrEqual(after?.ms ?? 0);
});
