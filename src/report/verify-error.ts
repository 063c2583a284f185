/** The error of a comparison that did not find both sides equal: why, and what the operator can do now. */
import { pluralize } from '../lib/counting.ts';
import { MismatchError, NotReadyError, type CosmigError } from '../lib/errors.ts';
import { describeDifferences, describeInFlight, type Verdict } from '../verify/verdict.ts';
import { describeChanges, type SourceChange } from '../state/source-change.ts';
import { totalOf } from './verify.ts';

/**
 * What still replicates: `cosmig tail`, the repair that made this comparison; after the commit `cosmig reverse` in the
 * other direction while there is a way back, or else nothing. `none, long since`: so long after the commit that a cutover
 * which is run again no longer looks for late writes.
 */
export type Replicator = 'tail' | 'repair' | 'reverse' | NoReplicator;
type NoReplicator = 'none' | 'none, long since';

const COMMITTED = 'the target is in use, and nothing is replicated to it any longer';

const SINCE =
  'since the cutover the application has written them to the target, or another process to the source';

const NO_WAY_BACK = 'there is no way back, so nothing else has to be fixed for cosmig';

/** How the operator finds writes to the source that came after the commit. No comparison replicates or names them. */
const LATE_WRITES: Readonly<Record<NoReplicator, string>> = {
  none: 'run cosmig cutover again: it names what another process has written to the source after the commit, which nothing replicates',
  'none, long since':
    'look in the source for documents with a _ts later than the commit, which cosmig status shows: nothing replicates what another process has written there since',
};

const OTHER_WAY: Readonly<Record<'reverse' | NoReplicator, string>> = {
  reverse: 'cosmig verify --reverse compares both sides while cosmig reverse runs',
  none: `${LATE_WRITES.none}; ${NO_WAY_BACK}`,
  'none, long since': `${LATE_WRITES['none, long since']}; ${NO_WAY_BACK}`,
};

const REPAIRED =
  'repaired documents differ again: another process writes to the target. Stop it, and delete documents by hand that do not come from the source';

const NOT_PROVEN: Readonly<Record<Replicator, string>> = {
  tail: 'let cosmig tail run or catch up (cosmig tail --until-caught-up), then run cosmig verify again',
  repair:
    'the target takes fewer writes than arrive: give it more RU/s, or a longer --deadline, then run cosmig verify --repair again',
  reverse: `nothing: ${COMMITTED}; ${OTHER_WAY.reverse}`,
  none: OTHER_WAY.none,
  'none, long since': OTHER_WAY['none, long since'],
};

/**
 * Returns the error of a verdict; undefined when both sides are equal. `findReplicator` is called only when an error
 * needs it, and so is `findWrites`, which returns what another process is known to have written to the target.
 */
export function errorForVerdict(
  verdict: Verdict,
  findReplicator: () => Replicator,
  findWrites: () => readonly SourceChange[] = () => [],
): CosmigError | undefined {
  const { equal, differences, inFlight, level } = verdict;
  if (equal === true) return undefined;
  const replicator = findReplicator();
  if (equal === null) {
    return new NotReadyError('it is not proven that source and target are equal', {
      why: describeOpen(verdict, replicator),
      hint: NOT_PROVEN[replicator],
    });
  }
  const rest = inFlight > 0 ? describeOpen(verdict, replicator, 'other ') : 'no document was in flight';
  return new MismatchError(`${pluralize(totalOf(differences), 'difference')} between source and target`, {
    why: `${describeDifferences(differences)}; each was checked twice, and ${rest}`,
    hint:
      level === 'count'
        ? 'run cosmig verify, which names the documents'
        : repairHint(verdict, replicator, findWrites),
  });
}

/** Whether the changes of the source still reach the target. After the commit they do not. */
function replicates(replicator: Replicator): replicator is 'tail' | 'repair' {
  return replicator === 'tail' || replicator === 'repair';
}

/** Returns which documents the comparison could not decide on. `other`: after it has named differences. */
function describeOpen(verdict: Verdict, replicator: Replicator, other: 'other ' | '' = ''): string {
  if (replicates(replicator)) return describeInFlight(verdict);
  const { inFlight } = verdict;
  return `${pluralize(inFlight, `${other}document`)} ${inFlight === 1 ? 'differs' : 'differ'}, and since the commit nothing replicates what is written to the source`;
}

function repairHint(
  { differences }: Verdict,
  replicator: Replicator,
  findWrites: () => readonly SourceChange[],
): string {
  const named = 'see the documents named above (--report FILE lists all of them)';
  if (!replicates(replicator)) return `${named}: ${SINCE}; ${OTHER_WAY[replicator]}`;
  if (replicator === 'repair') return `${named}; ${REPAIRED}`;
  const writes = findWrites();
  if (writes.length > 0)
    return `${named}; another process has written to the target: ${describeChanges(writes)}; stop it, and copy what it wrote if you need it; then stop cosmig tail and run cosmig verify --repair, which deletes what that process created there and overwrites what it changed`;
  const { extra, ...others } = differences;
  // Only extra documents differ. This is usual when the account does not report deletes.
  return extra > 0 && Object.values(others).every((documents) => documents === 0)
    ? `${named}; if they were deleted in the source, stop cosmig tail, then run cosmig verify --repair to delete them in the target`
    : `${named}; stop cosmig tail, then run cosmig verify --repair to fix them`;
}
