/**
 * Begins a turn: makes a ledger from what the commit of the turn before has left. Invariants: a turn is begun once, so a
 * ledger of a turn that is lost later is not made a second time from positions that the turn has passed; and no request
 * is sent to the container that is written to before the ledger of the turn before says that this turn has begun.
 *
 *   leases, positions and session tokens in the new ledger -> the mark in the old one -> the first look at the documents
 */
import { must } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { stepsLeft } from '../../spec/refusals.ts';
import type { Committed } from '../../state/journal.ts';
import { MAP_INDEX } from '../../state/segments/map-store.ts';
import type { MigrationSpec, TurnSpec } from '../../spec/migration-spec.ts';
import { Ledger, UnmigratedLedger } from '../../state/ledger.ts';
import { turnLost } from '../../state/turns/lost-turn.ts';
import type { NewLease } from '../../state/leases.ts';
import type { SessionToken } from '../../state/session-tokens.ts';
import type { ClosedEnd, StoredTurn } from '../../state/turns/next-turn.ts';
import type { SearchedEnd } from '../../state/turns/searched-ends.ts';
import { openLedger, type ContainerPair } from '../assemble.ts';

/** What the ledger of the turn before says. */
interface Before {
  readonly next: StoredTurn;
  readonly tokens: readonly SessionToken[];
  readonly targetTokens: readonly SessionToken[];
  /** The commit, if the application was not switched over after it; null: it was. */
  readonly unfinished: Committed | null;
}

/** Opens the ledger of a turn, and makes it if the turn has not begun. */
export function openTurn(
  spec: MigrationSpec,
  turn: TurnSpec,
  { source, target, nowMs }: Pick<ContainerPair, 'source' | 'target'> & { readonly nowMs: number },
): Ledger {
  const before = readBefore(turn);
  const { hasBegun } = Ledger.peek(spec.ledger);
  if (!hasBegun) refuseLost(before, spec, turn);
  const { next } = before;
  const ledger = openLedger(
    spec,
    { source, target, deletes: next.deletes },
    { nowMs, create: hasBegun ? 'never' : 'if-missing' },
  );
  try {
    if (!hasBegun) {
      // Source and target are swapped, and so are their session tokens.
      ledger.units.commit([], { tokens: before.targetTokens, targetTokens: before.tokens });
      ledger.searchedEnds.move(next.closedEnds.flatMap(searchedFrom), [], nowMs);
      ledger.leases.begin(next.anchors.map(leaseFrom));
    }
    if (next.begunAtMs === null) markBegun(turn, nowMs);
    return ledger;
  } catch (error) {
    ledger.close();
    throw error;
  }
}

/** Returns the lease of an anchored range. Nothing is copied: the turn tails from the anchor. */
function leaseFrom(range: StoredTurn['anchors'][number]): NewLease {
  const { anchor } = range;
  return {
    ...range,
    indexId: MAP_INDEX,
    parents: [],
    phase: 'tail',
    lvPosition: anchor.etag,
    copiedLsn: anchor.lsn,
    sweepPending: false,
  };
}

/** Returns where the search for writes of others begins. Without a position of its feed, a range is not searched. */
function searchedFrom({ lv, ...end }: ClosedEnd): SearchedEnd[] {
  return lv === null ? [] : [{ ...end, lv }];
}

function readBefore({ number, previous }: TurnSpec): Before {
  using ledger = openBefore(previous);
  const next = ledger.nextTurn.read();
  if (next === null || next.number !== number) {
    throw new NotReadyError('there is no way back for this migration', {
      why: `${previous} has no positions from which changes could be replicated in the other direction`,
      hint: 'a way back is prepared by cosmig cutover --keep-source-for, before the commit',
    });
  }
  return {
    next,
    tokens: ledger.tokens.all(),
    targetTokens: ledger.targetTokens.all(),
    unfinished: ledger.journal.unfinished(),
  };
}

/** Opens the ledger of the turn before. That of an older cosmig is upgraded, which no other command of this turn does. */
function openBefore(previous: string): Ledger {
  try {
    return Ledger.openReadonly(previous);
  } catch (error) {
    if (!(error instanceof UnmigratedLedger)) throw error;
    return Ledger.openForOperator(previous);
  }
}

/** Refuses to begin a turn a second time, or before the cutover has ended. */
function refuseLost(
  { next, unfinished }: Before,
  { ledger }: MigrationSpec,
  { number, previous }: TurnSpec,
): void {
  if (next.begunAtMs !== null) {
    throw turnLost(ledger, { number, previous });
  }
  // The turn before leads in the other direction, so in the words of this turn its command is a rollback.
  if (unfinished !== null) throw stepsLeft('rollback', unfinished);
}

/** Records in the ledger of the turn before that this turn has begun. Durable. */
function markBegun({ previous }: TurnSpec, nowMs: number): void {
  using ledger = Ledger.openForOperator(previous);
  const next = must(ledger.nextTurn.read(), 'the turn was read before');
  ledger.nextTurn.begin(next, nowMs);
  ledger.noteProgress();
}
