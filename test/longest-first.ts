/**
 * Starts the test files that take longest first. In a fresh clone vitest does not know how long files take. When a file of
 * a minute and a half begins last, one core waits for it.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Two files that need a process each, which no other file can use afterwards. Then those that took 15 s or more when all ran
 * on two cores on 2026-11-20, in descending order: they mostly wait, so they share a core well. Then unit tests of 4 s or more.
 */
const LONGEST = [
  'docs/readme',
  'cosmos/connect',
  'copy/load-control',
  'tail/positions',
  'copy/trouble',
  'adopt/kinds',
  'adopt/adopt',
  'cli/doctor-probe',
  'tail/tail',
  'copy/first-ctrl-c',
  'command/repair',
  'faults/migration',
  'copy/ledger-runs',
  'pass/resume',
  'plan/interrupted',
  'tail/short-windows',
  'pass/incremental',
  'faults/there-and-back',
  'faults/cutover-killed',
  'cutover/unannounced-deletes',
  'service/deviations',
  'tail/after-crash',
  'turns/crash',
  'plan/pass',
  'tail/rough-network',
  'notify/watch',
  'pass/reads',
  'watch/page',
  'recheck/live',
  'plan/bad-input',
  'cutover/range-changes',
  'cli/demo',
  'integration/tail/renames',
  'model/model',
  'report/plan-page',
  'faults/emulator-durability',
  'cutover/after-commit',
  'tail/scheduled',
  'cli/json',
  'recheck/recheck',
  'notify/notify',
  'cutover/command/command',
  'metrics/prometheus',
  'faults/cutover-steps',
  'notify/bad-receivers',
  'pass/memory',
  'turns/strangers',
  'cli/hostile-texts',
  'command/late-writes',
  'cutover/strangers',
  'command/options',
  'faults/emulator-traffic',
  'dead-letters/reasons',
  'contract/ru',
  'ledger/damage',
  'plan/literature',
  'service/two-ledgers',
  'copy/lossless',
  'plan/observe',
  'turns/time-to-live',
  'pass/stale-files',
  'cutover/order',
  'command/failure-resumes-writers',
  'plan/full-disk',
  'cosmos/load',
  'copy/preflight',
  'command/settings',
  'cli/files-and-limits',
  'cutover/cutover',
  'index/build',
  'state/ledger',
  'events/ledger-watch',
  'state/units',
  'engine/engine',
  'stories/intents',
  'verdict/literature',
  'sketch/sketch',
  'state/damage',
  'copy/packed-documents',
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
