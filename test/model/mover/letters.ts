/**
 * Owns the second chances of dead letters: when a slot is left, the oldest letter waiting for it is
 * promoted, and the next one if that one no longer wants it; when a unique value may have been freed,
 * every letter of that kind within the key value tries again.
 */
import type { Identity, Slot } from '../source.ts';
import { apply } from './apply.ts';
import type { Letter } from './ledger.ts';
import { Page } from './page.ts';
import type { Freed, Process } from './process.ts';
import { STEP, type Steps } from './task.ts';

/** Serves promotions for as long as the process lives. */
export function* promote(process: Process): Steps {
  for (;;) {
    yield { until: () => process.freed.length > 0 };
    for (const freed of process.freed.splice(0)) {
      if (process.lacks('promotion-forgotten')) continue;
      if (freed.emptied) promoteNext(process, freed.slot, new Set());
      for (const letter of process.openLetters().filter((one) => mayBeFree(process, one, freed)))
        process.spawn(`retry/${letter.id}`, retry(process, letter.id));
    }
  }
}

function mayBeFree(process: Process, { reason, slot }: Letter, freed: Freed): boolean {
  if (reason !== 'unique-key' || slot === null) return false;
  return process.lacks('unique-promotion-by-slot') ? slot === freed.slot : slot[0] === freed.slot[0];
}

function promoteNext(process: Process, slot: Slot, tried: ReadonlySet<Identity>): void {
  const next = process
    .openLetters()
    .find((one) => one.reason === 'collision' && one.slot === slot && !tried.has(one.id));
  if (next === undefined) return;
  process.spawn(`retry/${next.id}`, promoteOne(process, { id: next.id, slot, tried }));
}

interface Promotion {
  readonly id: Identity;
  readonly slot: Slot;
  readonly tried: ReadonlySet<Identity>;
}

function* promoteOne(process: Process, { id, slot, tried }: Promotion): Steps {
  yield* retry(process, id);
  const took = process.rowOf(id)?.slot === slot;
  const letter = process.letterOf(id);
  const waits = letter?.slot === slot && letter.reason === 'collision';
  if (took || waits || process.lacks('promotion-stops-at-first')) return;
  promoteNext(process, slot, new Set([...tried, id]));
}

/** Applies whatever the source says now of a document. */
export function* retry(process: Process, id: Identity): Steps {
  const page = new Page(process, { copy: false });
  yield* apply(process, page, { id, kind: 'read', version: null, feed: 'LV', lsn: null, follows: false });
  yield STEP;
  page.commit();
}

/** Letters that wait for another document get another try at the start of a run and when a range has caught up. */
export function retryWaiting(process: Process): void {
  for (const { id, reason } of process.openLetters())
    if (reason === 'collision' || reason === 'unique-key') process.spawn(`retry/${id}`, retry(process, id));
}
