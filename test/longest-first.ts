/**
 * Starts the test files that take longest first. In a fresh clone vitest does not know how long files take. When a file of
 * a minute and a half begins last, one core waits for it.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Two files that need a process each, which no other file can use afterwards. Then files that take longer than half a
 * minute, in descending order, and those that ended last without being here. They mostly wait, so they share a core well.
 */
const LONGEST = [
  'docs/readme',
  'cosmos/connect',
  'copy/load-control',
  'plan/interrupted',
  'plan/full-disk',
  'tail/positions',
  'copy/trouble',
  'faults/cutover-killed',
  'faults/migration',
  'copy/ledger-runs',
  'copy/first-ctrl-c',
  'verify/command/repair',
  'report/plan-page',
  'plan/bad-input',
  'failure-resumes-writers',
  'pass/stale-files',
  'tail/after-crash',
  'tail/short-windows',
  'verify/pass/incremental',
  'cli/doctor-probe',
  'verify/pass/resume',
  'verify/recheck/live',
  'faults/cutover-steps',
  'tail/tail',
  'service/deviations',
  'cutover/unannounced-deletes',
  'plan/pass',
  'plan/literature',
  'recheck/expiry',
  'recheck/recheck',
  'copy/lossless',
  'watch/server',
  'cli/files-and-limits',
  'tail/rough-network',
  'service/two-ledgers',
  'tail/renames',
  'verify/pass/reads',
  'tail/scheduled',
  'emulator/fuzz',
  'cutover/strangers',
  'verify/pass/memory',
  'ledger/damage',
  'model/engine/engine',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
