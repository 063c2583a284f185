/** What a ledger writes into the reservation of its target, for the people and the movers that find it there. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { ReservationText } from '../preflight/reservation.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { Ledger } from '../state/ledger.ts';

/** Between the path of a ledger and the name of its machine. */
const ON = ' on ';

/** Returns the content of the reservation, the document that marks the target as taken by this ledger. */
export function reservationOf(
  { migration }: Pick<Ledger, 'migration'>,
  { ledger: path, source }: MigrationSpec,
): ReservationText {
  const { ledgerName, createdAtMs } = migration.read();
  return {
    ledger: ledgerName,
    path: `${resolve(path)}${ON}${hostname()}`,
    source: `${source.endpoint} ${source.database}/${source.container}`,
    began: new Date(createdAtMs).toISOString(),
  };
}

/** Returns the path of the ledger that a reservation names; null if the ledger is on another machine. */
export function pathHere({ path }: ReservationText): string | null {
  const here = `${ON}${hostname()}`;
  return path.endsWith(here) ? path.slice(0, -here.length) : null;
}
