/**
 * Owns anchors: AVAD is primed at Now on every range, and only then the LV anchor is read, no older than
 * that. What happened before an anchor is LV's to show, what comes after it is AVAD's; they overlap.
 */
import type { Lag, Range } from '../source.ts';
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
      const { before, primed, reached } = yield* prime(process, { min, max });
      const position = { lv: 0, back: before, anchor: reached, avad: avad ? primed : null };
      leases.push({ min, max, phase: 'copy', ...position, copied: Infinity, renamed: false });
    }
    if (ranges.every((range) => source.ranges.includes(range))) return leases;
  }
}

/**
 * Again for one range, because AVAD no longer knows what we have not read yet. Draining takes documents
 * back to versions LV was beyond, so LV restarts before the old anchor, not where it ended.
 */
export function* anchorAgain(process: Process, lease: Lease): Steps {
  const { source } = process.world;
  const range = source.rangeOver(lease.min, lease.max);
  const { before, primed, reached } = yield* prime(process, lease);
  if (range === undefined || !source.ranges.includes(range)) return;
  lease.avad = primed;
  if (process.lacks('lv-skipped-after-retention')) return;
  if (!process.lacks('lv-restarts-where-it-ended')) lease.lv = lease.back;
  lease.back = before;
  lease.anchor = reached;
  lease.phase = 'again';
}

interface Anchors {
  /** An LV position from before AVAD was primed. */
  readonly before: number;
  readonly primed: number;
  readonly reached: number;
}

function* prime(process: Process, { min, max }: Pick<Range, 'min' | 'max'>): Steps<Anchors> {
  const { source } = process.world;
  const see = (floor: number, lag: Lag): number => {
    const token = source.replica(min, floor, lag);
    process.sawPage(min, max, token);
    return token;
  };
  const before = see(process.tokens[min] ?? 0, yield READ);
  const primed = see(before, yield READ);
  return { before, primed, reached: see(primed, yield READ) };
}
