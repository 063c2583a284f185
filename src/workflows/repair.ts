/**
 * `verify --repair`: compares, has the engine repair what differs, and compares again. Invariants: the engine tails in this
 * process while both sides are compared, so that documents in flight arrive; and nothing is written when the comparison
 * found no differences.
 */
import { repairAll, run, type RunParts } from '../engine/run.ts';
import { ChildSignal } from '../lib/abort.ts';
import { pluralize } from '../lib/counting.ts';
import { CanceledError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import { Ledger } from '../state/ledger.ts';
import type { Verdict } from '../verify/verdict.ts';
import { isAfterRepair, suspectsOf } from './compare.ts';

/** What is compared: what the operator asked for, everything from scratch, or only the documents that differed before. */
export type Extent = 'as asked' | 'all' | 'all after a repair' | 'what differed';

/** Documents deleted in the source during one repair are repaired in the next; each round leaves fewer of them. */
const ROUNDS_MAX = 6;

/** The verdict of the last comparison, with the charge and the time of all of them. */
export async function compareAndRepair(
  parts: RunParts,
  compare: (extent: Extent, signal: AbortSignal) => Promise<Verdict>,
): Promise<Verdict> {
  const { clock, say = () => {} } = parts;
  const beganAtMs = clock.now();
  const ru = { source: 0, target: 0 };
  const compareWhileTailing = async (extent: Extent): Promise<Verdict> => {
    const found = await whileTailing(parts, async (signal) => compare(extent, signal));
    ru.source += found.ru.source;
    ru.target += found.ru.target;
    return { ...found, ru: { ...ru }, durationMs: clock.now() - beganAtMs };
  };
  const swept = unsweptIn(parts);
  // A comparison that was interrupted before these deletes were lost cannot have found them: start from scratch.
  let verdict = await compareWhileTailing(swept.length > 0 ? 'all' : 'as asked');
  let before = '';
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const suspects = suspectsOf(parts.spec, verdict);
    const names = suspects.map(({ name }) => JSON.stringify(name)).join();
    // The same documents differ although they were just repaired: another round would not help.
    if (suspects.length === 0 || names === before) break;
    before = names;
    // One whole comparison after a repair is enough, also when an earlier run made it; after that only the documents
    // that differed are compared. Where no feed reports deletes, each whole comparison would find new ones.
    const extent = isAfterRepair(parts.spec) ? 'what differed' : 'all after a repair';
    say(`repairing ${pluralize(suspects.length, 'document')}`);
    await repairAll(parts, suspects);
    verdict = await compareWhileTailing(extent);
  }
  if (verdict.equal === true && swept.length > 0) forgetSweeps(parts, swept);
  return verdict;
}

/** Does `work` while the engine tails; if one of the two fails, the other is stopped. */
async function whileTailing<T>(parts: RunParts, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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

/** Leases whose feed has lost deletes. The ledger is opened for writing, which migrates the ledger of an older cosmig. */
function unsweptIn({ spec, clock }: RunParts): readonly number[] {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  return ledger.leases.live().flatMap(({ number, sweepPending }) => (sweepPending ? [number] : []));
}

/** Only the leases known before the comparison: it has not looked for deletes that were lost while it ran. */
function forgetSweeps({ spec, clock }: RunParts, swept: readonly number[]): void {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  for (const { number } of ledger.leases.live())
    if (swept.includes(number)) ledger.leases.change(number, { sweepPending: false });
}
