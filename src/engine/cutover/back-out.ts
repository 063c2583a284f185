/**
 * Backs out of an attempt that did not commit. Invariant: the application stays on the source, and the hook lets
 * writers resume even if the ledger cannot be written. In that case the next run finds in the journal that writers may
 * still be stopped.
 */
import { CanceledError, CosmigError, LedgerError, NotReadyError } from '../../lib/errors.ts';
import type { RunContext } from '../context.ts';
import { enter, phaseOf } from '../phases.ts';
import type { CutoverOptions } from './contract.ts';

/** Whether the operator asked for an immediate stop, which leaves no time to back out. Every other failure backs out. */
export function isCanceled({ signal }: RunContext): boolean {
  return signal.aborted && signal.reason instanceof CanceledError;
}

export async function backOut(
  context: RunContext,
  { onAbort, say, onStep }: CutoverOptions,
  reason: unknown,
): Promise<void> {
  const { ledger, clock, log } = context;
  const message = reason instanceof Error ? reason.message : String(reason);
  const why = reason instanceof CosmigError ? `${message}: ${reason.why}` : message;
  tolerateLedgerTrouble(() => phaseOf(context) !== 'tailing' && enter(context, { phase: 'tailing', why }));
  say(`backed out: ${message}; the source stays in use`);
  if (onAbort === null) {
    say('no --on-abort was given: let the application write to the source again yourself');
    return;
  }
  onStep?.({ name: 'resuming writers', stoppedAtMs: null });
  try {
    await onAbort(message);
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    // The caller throws `reason`. This second failure is logged, because now the operator has to let the application
    // write.
    log.error(`${error.message} as well (${error.why}): let the application write to the source yourself`);
    return;
  }
  tolerateLedgerTrouble(() => ledger.journal.append({ event: 'writers resumed' }, clock.now()));
}

/** Ignores trouble with the ledger: if it is full, damaged or locked, the writers must resume all the same. */
function tolerateLedgerTrouble(write: () => unknown): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof LedgerError || error instanceof NotReadyError)) throw error;
  }
}
