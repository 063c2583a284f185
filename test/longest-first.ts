/**
 * Starts the test files that take longest first. In a fresh clone vitest does not know how long files take. When a file of
 * a minute and a half begins last, one core waits for it.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Two files that need a process each, which no other file can use afterwards. Then those that take 20 s or more, in
 * descending order. They mostly wait, so they share a core well.
 */
const LONGEST = [
  'docs/readme',
  'cosmos/connect',
  'copy/load-control',
  'tail/positions',
  'copy/trouble',
  'notify/bad-receivers',
  'adopt/adopt',
  'cli/doctor-probe',
  'adopt/kinds',
  'copy/first-ctrl-c',
  'copy/ledger-runs',
  'verify/recheck/live',
  'faults/migration',
  'tail/rough-network',
  'tail/short-windows',
  'tail/tail',
  'verify/pass/resume',
  'plan/interrupted',
  'verify/command/repair',
  'verify/pass/incremental',
  'faults/cutover-killed',
  'cutover/unannounced-deletes',
  'service/deviations',
  'notify/watch',
  'turns/crash',
  'verify/pass/reads',
  'faults/there-and-back',
  'tail/renames',
  'plan/bad-input',
  'cutover/range-changes',
  'verify/recheck/recheck',
  'tail/after-crash',
  'tail/scheduled',
  'cutover/after-commit',
  'plan/pass',
  'cli/demo',
  'plan/full-disk',
  'cutover/strangers',
  'watch/page',
  'verify/pass/memory',
  'metrics/prometheus',
  'cli/hostile-texts',
  'unit/keys/turns',
  'report/plan-page',
  'notify/notify',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      if (at >= 0) return at;
      // Files that wait run alongside others, and unit tests fill what is left at the end.
      return moduleId.includes('/test/unit/') ? LONGEST.length + 1 : LONGEST.length;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
