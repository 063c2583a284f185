/**
 * The turns of a migration: its ledger, and the ledgers of the turns after it. Invariant: a turn exists only if the
 * commit of the turn before has left what it needs to begin.
 */
import { existsSync } from 'node:fs';
import { turnPath } from '../../spec/turns/settings-of-turn.ts';
import { Ledger } from '../ledger.ts';
import type { StoredTurn } from './next-turn.ts';

/** One turn of a migration. */
export interface TurnState {
  /** 0: the first copy; odd: back to the source; even: to the target again. */
  readonly number: number;
  readonly ledger: string;
  /** Whether data has begun to move in this turn. Otherwise the turn has no ledger yet. */
  readonly hasBegun: boolean;
  /** Whether its cutover has committed. */
  readonly isCommitted: boolean;
  /** What the commit of the turn before has left for this turn; null for the first turn. */
  readonly from: StoredTurn | null;
}

/** Returns the turns of the migration with this ledger, from the first to the newest. The list has one turn at least. */
export function readTurns(ledger: string): readonly [TurnState, ...TurnState[]] {
  const first = readTurn(ledger, 0);
  const turns: [TurnState, ...TurnState[]] = [first.turn];
  for (let { next } = first; next !== null;) {
    const number = turns.length;
    const path = turnPath(ledger, number);
    if (next.begunAtMs === null && !existsSync(path)) {
      turns.push({ number, ledger: path, hasBegun: false, isCommitted: false, from: next });
      break;
    }
    const read = readTurn(path, number);
    turns.push({ ...read.turn, from: next });
    next = read.next;
  }
  return turns;
}

function readTurn(path: string, number: number) {
  using ledger = Ledger.openReadonly(path);
  const next = ledger.nextTurn.read();
  const { phase } = ledger.migration.read();
  const isCommitted = phase === 'committed';
  return { next, turn: { number, ledger: path, hasBegun: phase !== 'new', isCommitted, from: null } };
}
