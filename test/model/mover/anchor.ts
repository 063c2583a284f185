/**
 * Owns anchors: AVAD is primed at Now on every range, and only then the LV anchor is read, no older than
 * that. What happened before an anchor is LV's to show, what comes after it is AVAD's; they overlap.
 */
import type { Range } from '../source.ts';
import type { Lease } from './ledger.ts';
import type { Process } from './process.ts';
import { READ, type Steps } from './task.ts';

export function* anchor(process: Process): Steps<Lease[]> {
  const { source, scenario } = process.world;
  const avad = scenario.deletes === 'avad' && !process.lacks('avad-primed-after-copy');
  for (;;) {
    const ranges = [...source.ranges];
    const leases: Lease[] = [];
    for (const { min, max } of ranges) {
      const { primed, reached } = yield* prime(process, { min, max });
      leases.push({ min, max, phase: 'copy', lv: 0, anchor: reached, avad: avad ? primed : null });
    }
    if (ranges.every((range) => source.ranges.includes(range))) return leases;
  }
}

/** Once more for one range, because AVAD no longer knows what we have not read yet. */
export function* anchorAgain(process: Process, lease: Lease): Steps {
  const { primed, reached } = yield* prime(process, lease);
  lease.avad = primed;
  if (process.lacks('lv-skipped-after-retention')) return;
  lease.anchor = reached;
  lease.phase = 'again';
}

function* prime(
  process: Process,
  { min, max }: Pick<Range, 'min' | 'max'>,
): Steps<{ primed: number; reached: number }> {
  const { source } = process.world;
  const primed = source.replica(min, process.tokens[min] ?? 0, yield READ);
  process.sawPage(min, max, primed);
  const reached = source.replica(min, primed, yield READ);
  process.sawPage(min, max, reached);
  return { primed, reached };
}
