/**
 * Decides whether a target may be adopted although the reservation of another ledger is in it. Invariant: a ledger that is
 * there, or whose mover still runs, is never pushed aside. Two movers of one target would undo each other's work.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ReservationText } from '../../preflight/reservation.ts';
import { LedgerError } from '../../lib/errors.ts';
import { Ledger } from '../../state/ledger.ts';
import { pathHere } from '../reservation-text.ts';

/** Throws if the ledger that a reservation names exists on this machine, or if a process works with it. */
export function refuseLiveLedger(
  found: ReservationText | undefined,
  own: { readonly name: string | undefined; readonly path: string },
): void {
  if (found === undefined || found.ledger === own.name) return;
  const path = pathHere(found);
  // At its own path this ledger has replaced the other one, and it has the lock.
  if (path === null || path === resolve(own.path)) return;
  const isRunning = Ledger.isRunning(path);
  if (!isRunning && !(existsSync(path) && Ledger.peek(path).ledgerName === found.ledger)) return;
  throw new LedgerError(`the target belongs to the migration of the ledger ${path}`, {
    why: isRunning
      ? 'a cosmig is working with that ledger, and would continue to write to the target'
      : 'that ledger is there, and knows more than could be found out by reading the target',
    hint: isRunning
      ? 'stop it, then continue with its ledger: pass it with --ledger'
      : 'continue with it: pass it with --ledger; if it cannot be used any longer, move it to another folder first',
    details: { ...found },
  });
}
