/**
 * `verify --repair`: compares, has the mover bring right what differs, and looks again. What always holds: the mover tails
 * in this process while both sides are compared, so that what is in flight lands; and nothing is written where the
 * comparison was clean.
 */
import { repairAll, run, type RunParts } from '../engine/run.ts';
import { ChildSignal } from '../lib/abort.ts';
import { CanceledError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import { Ledger } from '../state/ledger.ts';
import type { Verdict } from '../verify/verdict.ts';
import { isAfterRepair, suspectsOf } from './compare.ts';
import { counted } from '../report/format.ts';

/** How much is compared: as the operator has asked, all of it anew, the same after a repair, or only what differed. */
export type Extent = 'as asked' | 'all' | 'all once more' | 'what differed';

interface Repairing {
  readonly parts: RunParts;
  readonly say: (text: string) => void;
  readonly compare: (extent: Extent, signal: AbortSignal) => Promise<Verdict>;
}

/** Deleted again while others were brought right: of few documents ever fewer. What differs after that is no matter of time. */
const ROUNDS_MAX = 6;

/** The verdict of the last comparison, and what all of them have taken. */
export async function compareAndRepair({ parts, say, compare }: Repairing): Promise<Verdict> {
  const { clock } = parts;
  const beganAtMs = clock.now();
  const ru = { source: 0, target: 0 };
  const look = async (extent: Extent): Promise<Verdict> => {
    const found = await besideTail(parts, async (signal) => compare(extent, signal));
    ru.source += found.ru.source;
    ru.target += found.ru.target;
    return { ...found, ru: { ...ru }, durationMs: clock.now() - beganAtMs };
  };
  const swept = unsweptIn(parts);
  // What was read before they were lost says nothing about deletes.
  const first = swept.length > 0 ? 'all' : 'as asked';
  let verdict = await look(first);
  let before = '';
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const suspects = suspectsOf(parts.spec, verdict);
    const names = suspects.map(({ name }) => JSON.stringify(name)).join();
    // Of those that were brought right not one is: that is no matter of time either.
    if (suspects.length === 0 || names === before) break;
    before = names;
    // Where no feed tells of deletes, others are gone after each whole comparison: one is enough to prove the rest,
    // also one that was begun by a run whose time was over.
    const extent = isAfterRepair(parts.spec) ? 'what differed' : 'all once more';
    say(`${counted(suspects.length, 'document')} ${suspects.length === 1 ? 'is' : 'are'} brought right`);
    await repairAll(parts, suspects);
    verdict = await look(extent);
  }
  if (verdict.equal === true && swept.length > 0) forgetSweeps(parts, swept);
  return verdict;
}

/** Does `work` while the mover tails; whichever fails first ends the other. */
async function besideTail<T>(parts: RunParts, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return group(parts.drain, async (members) => {
    using over = new ChildSignal(members.signal);
    const enough = new CanceledError('SIGINT');
    members.start(async () => {
      try {
        await run('tail', { ...parts, command: 'verify --repair', drain: over.signal });
      } catch (error) {
        if (error !== enough) throw error;
      }
    });
    try {
      return await work(members.signal);
    } finally {
      over.abort(enough);
    }
  });
}

/** Leases of which deletes were lost. Opened as a mover does it, so that the ledger of an older cosmig is brought up to date first. */
function unsweptIn({ spec, clock }: RunParts): readonly number[] {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  return ledger.leases.live().flatMap(({ number, sweepPending }) => (sweepPending ? [number] : []));
}

/** Deletes that were lost by these are found by now; what others have lost meanwhile is not. */
function forgetSweeps({ spec, clock }: RunParts, swept: readonly number[]): void {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  for (const { number } of ledger.leases.live())
    if (swept.includes(number)) ledger.leases.change(number, { sweepPending: false });
}
