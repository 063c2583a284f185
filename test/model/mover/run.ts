/**
 * Owns the order of a run: anchors before the copy, settling before anything else, then every lease, the
 * letters that wait for somebody else.
 */
import type { Lease } from './ledger.ts';
import { nameOf, runLease } from './lease.ts';
import { promote, retryWaiting } from './letters.ts';
import type { Process } from './process.ts';
import { settleAll } from './settle.ts';
import { READ, STEP, type Steps } from './task.ts';

export function* run(process: Process): Steps {
  yield* settleAll(process);
  const { ledger } = process;
  if (ledger.leases.length === 0) {
    const leases = yield* anchor(process);
    yield STEP;
    ledger.leases = leases;
    ledger.keepTokens(process.tokens);
  }
  for (const lease of ledger.leases) process.spawn(nameOf(lease), runLease(process, lease));
  process.spawn('promote', promote(process));
  retryWaiting(process);
}

/** AVAD is primed at Now on every range, and only then the LV anchor is read, no older than that. */
function* anchor(process: Process): Steps<Lease[]> {
  const { source, scenario } = process.world;
  const avad = scenario.deletes === 'avad' && !process.lacks('avad-primed-after-copy');
  for (;;) {
    const ranges = [...source.ranges];
    const leases: Lease[] = [];
    for (const range of ranges) {
      const primed = source.replica(range.min, process.tokens[range.min] ?? 0, yield READ);
      process.sawPage(range.min, range.max, primed);
      const reached = source.replica(range.min, primed, yield READ);
      process.sawPage(range.min, range.max, reached);
      const { min, max } = range;
      leases.push({ min, max, phase: 'copy', lv: 0, anchor: reached, avad: avad ? primed : null });
    }
    if (ranges.every((range) => source.ranges.includes(range))) return leases;
  }
}
