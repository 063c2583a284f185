/**
 * The turns of a migration: its ledger, and the ledgers of the turns after it. Invariant: a turn exists only if the
 * commit of the turn before has left what it needs to begin.
 */
import { existsSync } from 'node:fs';
import { turnPath } from '../../spec/turns/settings-of-turn.ts';
import { openToRead } from '../../lib/sqlite/sqlite.ts';
import { Transactions } from '../../lib/sqlite/transaction.ts';
import type { Committed } from '../journal.ts';
import { Ledger, UnmigratedLedger } from '../ledger.ts';
import { turnLost } from './lost-turn.ts';
import { NextTurnStore, type StoredTurn } from './next-turn.ts';

/** One turn of a migration. */
export interface TurnState {
  /** 0: the first copy; odd: back to the source; even: to the target again. */
  readonly number: number;
  readonly ledger: string;
  /** Whether data has begun to move in this turn. Otherwise the turn has no ledger yet. */
  readonly hasBegun: boolean;
  /** Whether its cutover has committed. */
  readonly isCommitted: boolean;
  /** The commit, if the application was not switched over after it; null: it was, or nothing has committed. */
  readonly unfinished: Committed | null;
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
    // A run may have been killed while it made the ledger. The next one completes it.
    if (next.begunAtMs === null && !Ledger.peek(path).hasBegun) {
      turns.push({ number, ledger: path, hasBegun: false, isCommitted: false, unfinished: null, from: next });
      break;
    }
    if (next.begunAtMs !== null && !existsSync(path))
      throw turnLost(path, { number, previous: turnPath(ledger, number - 1) });
    const read = readTurn(path, number);
    turns.push({ ...read.turn, from: next });
    next = read.next;
  }
  return turns;
}

function readTurn(path: string, number: number) {
  const turn = { number, ledger: path, hasBegun: true, isCommitted: false, unfinished: null, from: null };
  try {
    using ledger = Ledger.openReadonly(path);
    const next = ledger.nextTurn.read();
    const { phase } = ledger.migration.read();
    const isCommitted = phase === 'committed';
    const unfinished = isCommitted ? ledger.journal.unfinished() : null;
    return { next, turn: { ...turn, hasBegun: phase !== 'new', isCommitted, unfinished } };
  } catch (error) {
    if (!(error instanceof UnmigratedLedger)) throw error;
    // The command that works in the turn upgrades the ledger, or says that it cannot.
    return { next: nextInOlder(path), turn };
  }
}

/** Returns what the commit in a ledger of an older cosmig has left; null if that cosmig knew no turns. */
function nextInOlder(path: string): StoredTurn | null {
  const database = openToRead(path);
  try {
    const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'next_turn'").all();
    return tables.length === 0 ? null : new NextTurnStore(database, new Transactions(database)).read();
  } finally {
    database.close();
  }
}
