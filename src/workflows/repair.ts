/**
 * `verify --repair`: compares both sides, lets the engine repair what differs, and compares again. Invariants: the
 * engine tails in this process during each comparison, so that documents in flight arrive; and nothing is repaired
 * when the comparison found no differences.
 */
import { repairAll, run, type RunParts } from '../engine/run.ts';
import { ChildSignal } from '../lib/abort.ts';
import { pluralize } from '../lib/counting.ts';
import { CanceledError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import { Ledger } from '../state/ledger.ts';
import type { Lease } from '../state/leases.ts';
import type { ClosedLetters, Verdict } from '../verify/verdict.ts';
import type { VerifyParts, VerifyProgress } from '../verify/verify.ts';
import { closedOf, lettersBefore, type LettersBefore } from './closed-letters.ts';
import { isAfterRepair, suspectsOf } from './compare.ts';

/**
 * What a comparison covers. `as asked`: what the operator asked for. `all`: everything, from scratch. `all after a
 * repair`: the same, recorded as made after a repair. `what differed`: only the documents that differed before.
 */
export type Extent = 'as asked' | 'all' | 'all after a repair' | 'what differed';

/** Returns what a comparison of this extent is asked for. */
export function optionsOf(extent: Extent): Pick<VerifyParts, 'fresh' | 'again' | 'afterRepair'> {
  return {
    fresh: extent.startsWith('all'),
    again: extent === 'what differed',
    afterRepair: extent === 'all after a repair' || extent === 'what differed',
  };
}

/**
 * How often to repair and compare again. The application may delete documents while a repair runs; the next round
 * repairs those, and each round leaves fewer.
 */
const ROUNDS_MAX = 6;
/** How many of the documents that were deleted are named. */
const DELETED_IDS_MAX = 20;

/**
 * Compares and repairs until both sides are equal or another round would not help. Returns the verdict of the last
 * comparison, with the charge and the duration of all comparisons together.
 */
export async function compareAndRepair(
  parts: RunParts,
  compare: (extent: Extent, signal: AbortSignal) => Promise<Verdict>,
): Promise<Verdict> {
  const { clock, say = () => {} } = parts;
  const beganAtMs = clock.monotonicMs();
  const ru = { source: 0, target: 0 };
  const compareWhileTailing = async (extent: Extent): Promise<Verdict> => {
    const found = await whileTailing(parts, async (signal) => compare(extent, signal));
    ru.source += found.ru.source;
    ru.target += found.ru.target;
    return { ...found, ru: { ...ru }, durationMs: clock.monotonicMs() - beganAtMs };
  };
  const { swept, letters } = begin(parts);
  // The tail would look at the letters later, and perhaps after a short comparison.
  if (letters.notClosed.size > 0) await run('catch-up', { ...parts, command: 'verify --repair' });
  // If a feed has lost deletes, the comparison starts from scratch. An interrupted comparison may have read the
  // documents before their deletion, and resuming it would miss the deletes.
  let verdict = await compareWhileTailing(swept.length > 0 ? 'all' : 'as asked');
  const repaired = { written: 0, deleted: 0, deletedIds: [] as string[] };
  let hasRepaired = false;
  let before = '';
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const suspects = suspectsOf(parts.spec, verdict);
    const names = suspects.map(({ name }) => JSON.stringify(name)).join();
    // If the documents that were just repaired differ again, another round would not help.
    if (suspects.length === 0 || names === before) break;
    before = names;
    // One whole comparison after a repair is enough, also when an earlier run made it. Further rounds compare only the
    // documents that differed. If no feed reports deletes, every whole comparison would find differences that are new
    // since the last one.
    const extent = isAfterRepair(parts.spec) ? 'what differed' : 'all after a repair';
    say(`repairing ${pluralize(suspects.length, 'difference')}`);
    const done = await repairAll(parts, suspects);
    repaired.written += done.written;
    repaired.deleted += done.deleted;
    repaired.deletedIds.push(...done.deletedIds.slice(0, DELETED_IDS_MAX - repaired.deletedIds.length));
    hasRepaired = true;
    verdict = await compareWhileTailing(extent);
  }
  if (verdict.equal === true && swept.length > 0) forgetSweeps(parts, swept);
  const closedLetters = closedIn(parts, letters);
  return {
    ...verdict,
    ...(hasRepaired ? { repaired } : {}),
    ...(closedLetters === undefined ? {} : { closedLetters }),
  };
}

/** Returns the progress of a comparison during which no `cosmig tail` can run, because this process replicates. */
export function withOwnTail(progress: VerifyProgress): VerifyProgress {
  return progress.waitsFor === null ? progress : { ...progress, waitsFor: 'its own replication' };
}

/** Runs `work` while the engine tails. If one of the two fails, the other is stopped. */
async function whileTailing<T>(parts: RunParts, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return group(parts.drain, async (members) => {
    using over = new ChildSignal(members.signal);
    const enough = new CanceledError('SIGINT');
    members.start(async () => {
      try {
        await run('tail', { ...parts, command: 'verify --repair', drain: over.signal, enough });
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

interface Beginning {
  /** The leases whose feed has lost deletes or renames. */
  readonly swept: readonly Lease[];
  /** The letters that may be closed meanwhile. */
  readonly letters: LettersBefore;
}

/** Opens the ledger for writing, since opening it also migrates the ledger of an older cosmig. */
function begin({ spec, clock }: RunParts): Beginning {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  return {
    swept: ledger.leases.live().filter(({ sweepPending }) => sweepPending),
    letters: lettersBefore(ledger),
  };
}

function closedIn({ spec }: RunParts, before: LettersBefore): ClosedLetters | undefined {
  using ledger = Ledger.openReadonly(spec.ledger);
  return closedOf(ledger, before);
}

/**
 * Clears `sweepPending` of the given leases, as they were before the comparison. It stays set where a feed has lost
 * more since then, because the comparison may not have seen these losses.
 */
function forgetSweeps({ spec, clock }: RunParts, swept: readonly Lease[]): void {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  for (const { number, misses } of ledger.leases.live())
    if (swept.some((before) => before.number === number && before.misses === misses))
      ledger.leases.change(number, { sweepPending: false });
}
