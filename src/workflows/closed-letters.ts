/**
 * Which dead letters a command has closed, and what has become of their documents. Invariant: this is read from the ledger,
 * where a letter is closed by the transaction that records what became of its document.
 */
import type { Ledger } from '../state/ledger.ts';
import type { LedgerRow } from '../state/rows.ts';
import type { ClosedLetters } from '../verify/verdict.ts';

/** How many letters are named. */
const NAMED_MAX = 10;

/** The numbers of letters. All fit into memory, as for a comparison: `--max-dead-letters` limits the open ones. */
export type LetterNumbers = ReadonlySet<number>;

/** Returns the letters that may still be closed: the open and the discarded ones. */
export function notClosed({ letters }: Pick<Ledger, 'letters'>): LetterNumbers {
  const found = new Set<number>();
  for (const state of ['open', 'discarded'] as const)
    for (const { number } of letters.each(state)) found.add(number);
  return found;
}

/**
 * Returns those of the letters that were closed since; undefined: none. Their times do not show that: they are to the
 * second.
 */
export function closedOf({ letters, rows }: Ledger, before: LetterNumbers): ClosedLetters | undefined {
  let closed = 0;
  const named: Array<ClosedLetters['named'][number]> = [];
  if (before.size === 0) return undefined;
  for (const { number, id, sourceKey, identity } of letters.each('closed')) {
    if (!before.has(number)) continue;
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
  return closed === 0 ? undefined : { closed, named };
}

function becameOf(state: LedgerRow['state'] | undefined): 'moved' | 'gone' | 'changed' {
  // A document that was changed and could not be moved again has another letter, which is open.
  if (state === 'quarantined') return 'changed';
  return state === 'tombstone' ? 'gone' : 'moved';
}
