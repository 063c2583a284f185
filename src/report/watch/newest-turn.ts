/**
 * What the page of a migration shows: the newest turn in which data has moved, with the way back. Invariant: a ledger of
 * a turn that cannot be read is a fact to show, as for the first one.
 */
import { existsSync } from 'node:fs';
import { CosmigError } from '../../lib/errors.ts';
import { turnPath } from '../../spec/turns/settings-of-turn.ts';
import { readTurns } from '../../state/turns/chain.ts';
import { turnsOf } from '../status/read-status.ts';
import type { Turns } from '../status/way-back.ts';
import { readFacts, type Facts } from './facts.ts';

/** `ledger`: the path of the first turn's ledger. */
export function readNewestFacts(ledger: string, atMs: number): Facts {
  if (!existsSync(ledger)) return readFacts(ledger, atMs);
  let turns: Turns;
  try {
    const all = readTurns(ledger);
    turns = turnsOf(all, all.findLast(({ hasBegun }) => hasBegun)?.number ?? 0);
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    const first = readFacts(ledger, atMs);
    if (first.is !== 'known') return first;
    // The first ledger can be read, so that of a later turn cannot.
    return { is: 'unreadable', atMs, ledger, why: `${error.message}: ${error.why}`, plan: null };
  }
  return readFacts(turnPath(ledger, turns.shown.number), atMs, turns);
}
