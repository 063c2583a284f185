/**
 * Keeps in the journal that the ranges of a container could not be used. The service may list, for some time or for good,
 * ranges that leave a gap or overlap. No list of that kind is ever used (cosmos/feed/ranges.ts), so the run waits, and ends
 * in the end. Until a later run has found whole lists, a way back is not safe.
 */
import { troubleOf } from '../cosmos/transport/trouble.ts';
import type { Ledger } from '../state/ledger.ts';

interface Noted {
  readonly journal: Pick<Ledger['journal'], 'append' | 'unusableRanges'>;
}

/** Records the end of a run, if unusable ranges have ended it. */
export function noteUnusable({ journal }: Noted, error: unknown, nowMs: number): void {
  const trouble = troubleOf(error);
  const container = trouble?.rangesOf ?? null;
  if (trouble === undefined || container === null) return;
  journal.append({ event: 'ranges unusable', container, what: trouble.what }, nowMs);
}

/** Records that the ranges of both containers are usable again. */
export function noteUsable({ journal }: Noted, nowMs: number): void {
  if (journal.unusableRanges() !== null) journal.append({ event: 'ranges usable' }, nowMs);
}
