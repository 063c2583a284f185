/**
 * The line after the result of a command that says what comes next: what `cosmig status` would advise at that moment.
 * Invariant: it never makes a command fail that has done its work.
 */
import { loadLedgerPath } from '../../spec/load.ts';
import type { SpecContext } from '../runs/run-engine.ts';
import { withoutHeadline } from './status-advice.ts';
import type { Status } from './status-data.ts';

type NextContext = Pick<SpecContext, 'env' | 'clock' | 'options' | 'turn'>;

/** Returns what to do next; null: the ledger does not say it, or cannot be read. */
export async function adviceAfter(context: NextContext): Promise<string | null> {
  return (await statusNow(context))?.next ?? null;
}

/** Returns what `cosmig status` would show; null: the ledger cannot be read. */
export async function statusNow(context: NextContext): Promise<Status | null> {
  const { turn = 0, clock } = context;
  const options = { config: [], ledger: [], source: [], target: [], ...context.options };
  try {
    // Loaded on demand, since --help needs no database.
    const { readStatus } = await import('./read-status.ts');
    return readStatus(loadLedgerPath({ ...context, options, turn: undefined }), turn, clock.now());
  } catch {
    // Any error, also a bug or a lack of file handles, shows again in `cosmig status`. Here it would hide the result: a
    // committed cutover would end like one that has failed.
    return null;
  }
}

/** Returns the line for a result, as its member `aside`. `before`: what has to be done before that. */
export async function nextStep(context: NextContext, before = ''): Promise<{ readonly aside?: string }> {
  return nextLine(await adviceAfter(context), before);
}

/** The same where the advice is known; null: there is none. */
export function nextLine(next: string | null, before = ''): { readonly aside?: string } {
  return next === null ? {} : { aside: `next: ${before}${withoutHeadline(next)}` };
}
