/**
 * The ids of notifications. Invariant: the run and `cosmig watch` give an event the same id if the ledger names it, so
 * that a receiver of both can drop the second one.
 */
import { createHash, randomUUID } from 'node:crypto';

/** How many hexadecimal digits an id has: 128 bits, so two events do not get the same one by chance. */
const DIGITS = 32;

/**
 * Returns the id of an event. `ledger`: the random name of the ledger. `key`: what names the event in it. If either is
 * unknown, only this process can see the event, and its id is random.
 */
export function idOf(ledger: string | null, key: string | null): string {
  if (ledger === null || key === null) return randomUUID();
  return createHash('sha256').update(`${ledger}\n${key}`).digest('hex').slice(0, DIGITS);
}
