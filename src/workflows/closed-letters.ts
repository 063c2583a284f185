/**
 * Which dead letters a command has closed, and what has become of their documents. Invariant: this is read from the ledger,
 * where a letter is closed by the transaction that records what became of its document.
 */
import type { Ledger } from '../state/ledger.ts';
import type { LedgerRow } from '../state/rows.ts';
import type { ClosedLetters } from '../verify/verdict.ts';

/** How many letters are named. */
const NAMED_MAX = 10;

/** The letters when a command begins. */
export interface LettersBefore {
  /** Those that may still be closed. All fit into memory, as for a comparison: `--max-dead-letters` limits the open ones. */
  readonly notClosed: ReadonlySet<number>;
  /** The highest number of a letter; 0: there is none. */
  readonly newest: number;
}

/** Returns the letters that may still be closed, the open and the discarded ones, and which one is the newest. */
export function lettersBefore({ letters }: Pick<Ledger, 'letters'>): LettersBefore {
  const notClosed = new Set<number>();
  for (const state of ['open', 'discarded'] as const)
    for (const { number } of letters.each(state)) notClosed.add(number);
  return { notClosed, newest: letters.lastNumber() };
}

/**
 * Returns those of the letters that were closed since; undefined: none. Their times do not show that: they are to the
 * second.
 */
export function closedOf(
  { letters, rows }: Ledger,
  { notClosed, newest }: LettersBefore,
): ClosedLetters | undefined {
  let [closed, meanwhile] = [0, 0];
  const named: Array<ClosedLetters['named'][number]> = [];
  const isAnyBefore = notClosed.size > 0;
  for (const { number, id, sourceKey, identity } of letters.each('closed', isAnyBefore ? 0 : newest)) {
    if (number > newest) meanwhile += 1;
    if (!notClosed.has(number)) continue;
    closed += 1;
    if (named.length === NAMED_MAX) continue;
    const became = becameOf(rows.find(identity)?.state);
    named.push({
      number,
      id: JSON.parse(id) as unknown,
      sourceKey: JSON.parse(sourceKey) as unknown,
      became,
    });
  }
  return closed + meanwhile === 0 ? undefined : { closed, named, meanwhile };
}

function becameOf(state: LedgerRow['state'] | undefined): 'moved' | 'gone' | 'changed' {
  // A document that was changed and could not be moved again has another letter, which is open.
  if (state === 'quarantined') return 'changed';
  return state === 'tombstone' ? 'gone' : 'moved';
}
