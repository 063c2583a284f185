/**
 * Counts the documents of a side, range by range, by queries to the service; and the documents that may be missing in
 * the target because of dead letters.
 */
import { countRange } from '../../cosmos/container/count.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { seeNewestOf } from '../../cosmos/feed/newest-lsn.ts';
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

/** The numbers of dead letters. */
export interface LetterCount {
  readonly open: number;
  readonly discarded: number;
  /** Open dead letters whose document was never written to the target, or has left its slot. */
  readonly absent: number;
}

const READERS_MAX = 8;

export interface CountParts {
  /** A query condition on a document `c`; undefined: all documents are counted. */
  readonly where: string | undefined;
  /** Whether the count includes the newest write and delete that any replica knows. A lagging replica could hide them. */
  readonly isNewest?: boolean;
  readonly signal: AbortSignal;
}

/** Counts the documents of one side. */
export async function countSide(
  side: Side,
  { where, isNewest = false, signal }: CountParts,
): Promise<SideCount> {
  const { requests, governor, patience, sessions, timeoutMs } = side;
  const ranges: RangeCount[] = [];
  await forEachRange(side, side.ranges.list.map(wholeOf), {
    limit: READERS_MAX,
    signal,
    work: async (part, inner) => {
      const { id } = part.range;
      if (isNewest) await seeNewestOf(side, part, inner);
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

/**
 * The reasons of dead letters for which the document never had a slot, or has left it. With any other reason an old
 * version of the document may stay in the target.
 */
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
 * Returns how many documents may be missing in the target: all documents with an open dead letter, and those with a
 * discarded one that have no copy in the target.
 */
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

/**
 * Returns whether two sides with these counts may be equal. At least `absent` and at most `most` documents are missing
 * in the target because of dead letters.
 */
export function isBalanced(
  { source, target }: { readonly source: number; readonly target: number },
  { absent, most }: { readonly absent: number; readonly most: number },
): boolean {
  const lacking = source - target;
  return lacking >= absent && lacking <= most;
}
