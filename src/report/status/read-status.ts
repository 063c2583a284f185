/** Reads the status of a turn from its ledger, with the way back that the turns of the migration know. */
import { must } from '../../lib/assert.ts';
import { leadsBack, turnPath } from '../../spec/turns/settings-of-turn.ts';
import type { Committed } from '../../state/journal.ts';
import { Ledger } from '../../state/ledger.ts';
import { readOverviewAnd } from '../../state/reading/overview.ts';
import { readTurns, type TurnState } from '../../state/turns/chain.ts';
import { lastVerdict } from '../../verify/last-verdict.ts';
import { comparedFromMs, readMsOf, VerifyStore, verifyPath } from '../../verify/store.ts';
import { proofJson } from '../cutover.ts';
import { isoTime } from '../format.ts';
import { buildStatus, type Status } from './status-data.ts';
import type { Turns } from './way-back.ts';

/** Returns the status of a turn. `ledger`: the path of the first turn's ledger. */
export function readStatus(ledger: string, number: number, nowMs: number): Status {
  const path = turnPath(ledger, number);
  const verified = verifyPath(path);
  const { overview, more: history } = readOverviewAnd(path, (one) => one.history.all());
  return buildStatus(path, overview, {
    lastProof: provenIn(verified),
    lastVerdict: lastVerdict(verified),
    isVerifying: VerifyStore.isInUse(verified),
    turns: turnsOf(readTurns(ledger), number),
    history,
    nowMs,
  });
}

/** Returns the last clean comparison, and when it began to read. `path`: the verify file. */
export function provenIn(path: string): Parameters<typeof buildStatus>[2]['lastProof'] {
  const proof = VerifyStore.lastProof(path);
  return proof === null ? null : { ...proof, comparedFromMs: comparedFromMs(proof), readMs: readMsOf(proof) };
}

/** Returns what the ledgers say of the turns, for the status of one of them. */
export function turnsOf(turns: readonly TurnState[], number: number): Turns {
  const newest = must(turns.at(-1), 'a migration has a turn');
  const before = newest.number === 0 ? undefined : turns[newest.number - 1];
  const committed = turns.findLast(({ isCommitted }) => isCommitted);
  const shown = must(turns[number], 'the turn was found among these');
  return {
    shown,
    newest,
    lastStopMs: before === undefined ? null : (commitOf(before.ledger)?.stoppedMs ?? null),
    lastCommit: committed === undefined ? null : commitFor(shown, committed),
  };
}

function commitOf(path: string): Committed | null {
  using ledger = Ledger.openReadonly(path);
  return ledger.journal.commit();
}

/** Returns the commit of a turn in the words of another one, in which source and target may be swapped. */
function commitFor(shown: TurnState, { ledger, number }: TurnState): Turns['lastCommit'] {
  const commit = commitOf(ledger);
  if (commit === null) return null;
  const { atMs, stoppedMs, proof } = commit;
  const documents = proof?.documents ?? null;
  const isOpposite = leadsBack(shown.number) !== leadsBack(number);
  const counted =
    documents === null || !isOpposite ? documents : { source: documents.target, target: documents.source };
  return {
    command: leadsBack(number) ? 'rollback' : 'cutover',
    at: isoTime(atMs),
    stoppedMs,
    proof: proofJson(proof === null ? null : { ...proof, documents: counted }),
  };
}
