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
  'plan/interrupted',
  'verify/command/repair',
  'copy/load-control',
  'tail/positions',
  'copy/trouble',
  'adopt/kinds',
  'plan/pass',
  'tail/tail',
  'adopt/adopt',
  'cli/doctor-probe',
  'notify/bad-receivers',
  'verify/pass/incremental',
  'cutover/strangers',
  'verify/pass/resume',
  'cutover/unannounced-deletes',
  'copy/first-ctrl-c',
  'plan/full-disk',
  'cli/demo',
  'tail/renames',
  'faults/there-and-back',
  'faults/cutover-killed',
  'copy/ledger-refusals',
  'service/deviations',
  'plan/bad-input',
  'verify/pass/memory',
  'copy/ledger-runs',
  'faults/migration',
  'turns/crash',
  'tail/short-windows',
  'cutover/after-commit',
  'watch/page',
  'report/plan-page',
  'emulator/fuzz',
  'tail/rough-network',
  'verify/pass/reads',
  'tail/scheduled',
  'notify/watch',
  'cutover/range-changes',
  'faults/cutover-steps',
  'verify/recheck/recheck',
  'contract/query-planned',
  'cli/hostile-texts',
  'verify/recheck/expiry',
  'service/two-ledgers',
  'tail/after-crash',
  'verify/command/options',
  'metrics/prometheus',
  'cutover/command/command',
  'cli/json',
  'unit/state/index/build',
  'unit/documents/page-scan',
  'unit/verify/pass/turns',
  'unit/state/ledger',
  'unit/epk/effective-key-sdk',
  'unit/plan/sketch/repeat-sample',
  'model/model',
  'notify/events/ledger-watch',
  'emulator/query/fuzz',
  'unit/state/damage',
  'plan/verdict/literature',
  'state/units',
  'cosmos/bulk/dispatcher',
  'model/engine/engine',
  'stories/intents',
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
