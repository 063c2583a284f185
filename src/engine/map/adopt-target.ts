/**
 * Adopts a target that another ledger or another tool has filled, between the anchors and the copy:
 *
 *   anchors -> map of the target -> counts -> --yes -> the reservation names this ledger -> copy
 *
 * Invariant: nothing is written to the target before the operator has accepted the counts. The copy then leaves what is
 * where it belongs, creates what is missing, and applies the apply rule to the rest; all leases are marked for a comparison
 * of both sides, which finds the copies that belong nowhere. A crash at any moment repeats at most what was only read.
 */
import { pluralize } from '../../lib/counting.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { Reservation } from '../../preflight/reservation.ts';
import type { RunContext } from '../context.ts';
import type { ProgressReporter } from '../progress/reporter.ts';
import { reservationOf } from '../reservation-text.ts';
import { describeAdoption, type AdoptionCounts } from './adoption-counts.ts';
import { countCopies } from './count-copies.ts';
import { mapTarget } from './map-pass.ts';
import { refuseLiveLedger } from './other-ledger.ts';

interface AdoptParts {
  readonly context: RunContext;
  readonly reporter: ProgressReporter;
  readonly reading: AbortSignal;
}

/** Throws the counts if the operator has not accepted them. */
export async function adoptTarget({ context, reporter, reading }: AdoptParts): Promise<void> {
  const { spec, log } = context;
  // No document moves meanwhile.
  reporter.isPaused = true;
  const totals = await mapTarget(context, {
    signal: reading,
    onProgress: (read) => (reporter.settling = () => `reads the target: ${pluralize(read, 'document')}`),
  });
  const counts = await countCopies(context, totals, {
    signal: reading,
    onProgress: (read) => (reporter.settling = () => `counts the source: ${pluralize(read, 'document')}`),
  });
  reporter.adoption = counts;
  reporter.settling = null;
  reporter.isPaused = false;
  const reservation = openReservation(context);
  const other = await reservation.read();
  const own = reservationOf(context.ledger, spec);
  refuseLiveLedger(other, { name: own.ledger, path: spec.ledger });
  if (!spec.acceptsWarnings) {
    const elsewhere = other?.ledger === own.ledger ? undefined : other?.path;
    throw refusedCounts(context, counts, elsewhere);
  }
  log.info(`adopting the target: ${describeAdoption(counts)}`);
  await reservation.takeOver(own);
}

function openReservation({ targetSide, signal }: RunContext): Reservation {
  const { requests, facts, patience, timeoutMs } = targetSide;
  return new Reservation(requests, facts, { signal, timeoutMs, patience });
}

/** `elsewhere`: where the ledger is that the reservation of the target names. */
function refusedCounts(
  { spec: { target } }: RunContext,
  counts: AdoptionCounts,
  elsewhere: string | undefined,
): NotReadyError {
  const { same, different, wrongSlot, extra, strangers } = counts;
  const there = same + different + wrongSlot + extra + strangers;
  return new NotReadyError(
    `the target ${target.database}/${target.container} has ${pluralize(there, 'document')} that this ledger has not copied`,
    {
      why: `nothing was written; ${describeAdoption(counts)}${elsewhere === undefined ? '' : `; the target is reserved for the ledger ${elsewhere}, which must never be used again`}`,
      hint: 'the source wins, so the application must be using it; stop everything else that writes to the target, then run the same command with --yes: missing documents are copied, differing copies are replaced, copies whose document is not in the source are removed, and strangers stay',
      details: { ...counts },
    },
  );
}
