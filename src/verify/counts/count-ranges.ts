/**
 * The documents of both sides, counted range by range by the service, and how many of them dead letters account for.
 * Invariant: counts that do not match are a difference only if the mover had replicated everything before and after, and
 * the source had not changed in between.
 */
import { countRange } from '../../cosmos/container/count.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import type { Reason } from '../../state/dead-letters.ts';
import type { Ledger } from '../../state/ledger.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';

export interface RangeCount {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly documents: number;
}

export interface SideCount {
  readonly count: number;
  readonly ranges: readonly RangeCount[];
}

/** How many dead letters there are, and how many of their documents cannot be in the target. */
export interface LetterCount {
  readonly open: number;
  readonly discarded: number;
  /** Open letters whose document was never written, or has left its slot. */
  readonly absent: number;
}

const READERS_MAX = 8;

/** Counts one side; `where` is a condition on `c`. */
export async function countSide(
  side: Side,
  { where, signal }: { readonly where: string | undefined; readonly signal: AbortSignal },
): Promise<SideCount> {
  const { requests, governor, patience, sessions, timeoutMs } = side;
  const ranges: RangeCount[] = [];
  await forEachRange(side, side.ranges.list.map(wholeOf), {
    limit: READERS_MAX,
    signal,
    work: async (part, inner) => {
      const { id } = part.range;
      const { documents, sessionToken } = await countRange(requests, part, {
        signal: inner,
        timeoutMs,
        governor,
        patience: patience.fresh(),
        sessionToken: tokenOf(side, id),
        ...(where === undefined ? {} : { where }),
      });
      sessions.add(sessionToken);
      ranges.push({ id, min: part.min, max: part.max, documents });
    },
  });
  ranges.sort((a, b) => (a.min < b.min ? -1 : 1));
  return { count: ranges.reduce((sum, { documents }) => sum + documents, 0), ranges };
}

/** For these reasons a document never had a slot, or has left it; for others an old version may stay in the target. */
const ABSENT: ReadonlySet<Reason> = new Set([
  'collision',
  'missing-key',
  'invalid-key',
  'key-too-long',
  'bad-id',
  'foreign-document',
]);

export function countLetters(ledger: Ledger): LetterCount {
  const found = { open: 0, discarded: 0, absent: 0 };
  for (const { state, reason, letters } of ledger.letters.counts()) {
    if (state === 'open') found.open += letters;
    if (state === 'discarded') found.discarded += letters;
    if (state === 'open' && ABSENT.has(reason)) found.absent += letters;
  }
  return found;
}

/**
 * How many documents the target must lack: those with a dead letter and no old version in the target. Each counts once,
 * however often its letter was discarded, and not if it was moved after all.
 */
export function lackingByLetters(ledger: Ledger): number {
  return new Set([...keptOut(ledger, 'open'), ...keptOut(ledger, 'discarded')]).size;
}

/** How many documents the target may lack: all with an open letter, and those that a discarded letter still keeps out. */
export function mayLack(ledger: Ledger): number {
  const waiting = [...identitiesIn(ledger, 'open')].map((identity) => identity.toString('latin1'));
  return new Set([...waiting, ...keptOut(ledger, 'discarded')]).size;
}

function* keptOut(ledger: Ledger, state: 'open' | 'discarded'): Generator<string> {
  for (const identity of identitiesIn(ledger, state)) {
    const row = ledger.rows.find(identity);
    if (row?.state === 'quarantined' && row.slot === null) yield identity.toString('latin1');
  }
}

function* identitiesIn({ letters }: Ledger, state: 'open' | 'discarded'): Generator<Buffer> {
  for (const { identity } of letters.each(state)) yield identity;
}

/** Whether these counts are possible for two equal sides. */
export function isBalanced(
  { source, target }: { readonly source: number; readonly target: number },
  { absent, most }: { readonly absent: number; readonly most: number },
): boolean {
  const lacking = source - target;
  return lacking >= absent && lacking <= most;
}
