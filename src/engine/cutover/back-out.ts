/**
 * The way back from an attempt that did not commit. Invariant: traffic stays on the source, and writers are let resume
 * even if the ledger cannot be written; the next run then finds the open fence in the journal.
 */
import { CanceledError, CosmigError, LedgerError, NotReadyError } from '../../lib/errors.ts';
import type { RunContext } from '../context.ts';
import { enter, phaseOf } from '../phases.ts';
import type { CutoverOptions } from './contract.ts';

/** The operator asked for an immediate stop: there is no time left to back out. Every other failure backs out. */
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
    // The caller throws `reason`. This failure is logged, because only the operator can let the application write now.
    log.error(`${error.message} as well (${error.why}): let the application write to the source yourself`);
    return;
  }
  tolerateLedgerTrouble(() => ledger.journal.append({ event: 'writers resumed' }, clock.now()));
}

/** A ledger that is full, damaged or locked by another program must not keep the writers stopped. */
function tolerateLedgerTrouble(write: () => unknown): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof LedgerError || error instanceof NotReadyError)) throw error;
  }
}
