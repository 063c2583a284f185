/**
 * What follows the copy into an adopted target: a comparison of all documents, which finds the copies that belong nowhere,
 * and the repair of what differs. Invariant: until the comparison has ended, the ledger says that one is due. So an
 * interrupted comparison is made by the next `cosmig copy`, or by the cutover.
 */
import type { RunParts } from '../engine/run.ts';
import { pluralize } from '../lib/counting.ts';
import { NotReadyError } from '../lib/errors.ts';
import { Ledger } from '../state/ledger.ts';
import { describeInFlight, type Verdict } from '../verify/verdict.ts';
import { verify, type VerifyProgress } from '../verify/verify.ts';
import { compareAndRepair, optionsOf, withOwnTail } from './repair.ts';

/** How long documents in flight are waited for. */
const DEADLINE_MS = 180_000;
/** How many documents are named that stay in the target although the source does not have them. */
const NAMED_MAX = 10;

/** Whether the copy has ended in an adopted target, and both sides were not compared since. */
export function isComparisonDue(path: string): boolean {
  using ledger = Ledger.openReadonly(path);
  return ledger.journal.adoption() === 'to be compared' && ledger.migration.read().phase === 'tailing';
}

/** Compares both sides, and repairs what differs. Returns whether they are equal. */
export async function completeAdoption(
  parts: RunParts,
  onProgress: (progress: VerifyProgress) => void,
): Promise<boolean> {
  const { spec, clock, say = () => {} } = parts;
  say('comparing both sides, since this ledger has not filled the target');
  const verdict = await compareAndRepair(parts, async (extent, signal) =>
    verify({
      ...parts,
      ...optionsOf(extent),
      level: 'digest',
      deadlineMs: DEADLINE_MS,
      signal,
      onProgress: (progress) => onProgress(withOwnTail(progress)),
    }),
  );
  const { equal, differences } = verdict;
  const { extra, ...others } = differences;
  const hasOthers = Object.values(others).some((documents) => documents > 0);
  if (equal === null || hasOthers) throw unfinished(verdict);
  if (extra > 0) say(leftText(verdict));
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  ledger.journal.append({ event: 'adoption compared', left: extra }, clock.now());
  return equal;
}

function leftText({ differences: { extra }, samples }: Verdict): string {
  const named = samples
    .filter(({ kind }) => kind === 'extra')
    .slice(0, NAMED_MAX)
    .map(({ id, targetKey }) => `${JSON.stringify(id)} of ${JSON.stringify(targetKey)}`);
  return (
    `${pluralize(extra, 'document')} of the target stay, because nothing shows that they are copies: ${named.join(', ')}; ` +
    'a cutover needs them gone: delete them, or move them to another container; cosmig verify lists them'
  );
}

function unfinished(verdict: Verdict): NotReadyError {
  return new NotReadyError('the adopted target is not proven to be equal to the source', {
    why: verdict.equal === null ? describeInFlight(verdict) : 'documents that were repaired differ again',
    hint: 'see whether another process writes to the target, then run cosmig copy again: it compares again',
  });
}
