/**
 * The `next` line of a status. Invariant: in every state that a run can leave behind, the line names the command to
 * run.
 */
import { formatCounts, pluralize } from '../../lib/counting.ts';
import { LATE_WRITES_MS } from '../../spec/timing.ts';
import type { Overview } from '../../state/reading/overview.ts';
import { isEndless } from '../../state/runs.ts';
import { comparedLast, whyVoid } from './last-comparison.ts';
import type { RangeStatus, Status } from './status-data.ts';

const FIXES = 'fixes the differences that the last comparison found, and compares again';

type Known = Omit<Status, 'next'>;

const CUTTING_OVER = new Set(['ready', 'fencing', 'drained', 'proven']);

const IN_USE = 'nothing: the target is in use; ';
const NOTHING_LEFT = `${IN_USE}keep the source for as long as you may need it`;
/** In a turn whose way back was ended while it was in use, the container that is kept is its target. */
export const NOTHING_LEFT_BACK = removal('target');

function removal(kept: 'source' | 'target'): string {
  return `when nothing reads the ${kept} any longer, delete it: it costs its throughput and storage until then`;
}

/** Returns what to do next once cosmig finish has ended the way back. */
export function afterFinish(next: string): string {
  return next === NOTHING_LEFT ? removal('source') : next;
}

/** Returns what to do next after a headline which says which container is in use. */
export function withoutHeadline(next: string): string {
  return next.startsWith(IN_USE) ? next.slice(IN_USE.length) : next;
}

export function adviseNext(status: Known, adoption: Overview['adoption'] = null): string {
  const { phase, ranges, running, deadLetters, proof, cutover } = status;
  const { open } = deadLetters;
  const letters = open === 0 ? '' : '; cosmig dead-letters list shows what could not be moved';
  if (running !== null) return `${adviseWhileRunning(status)}${letters}`;
  if (ranges.length === 0) return 'start with cosmig copy';
  if (adoption !== null && phase === 'new')
    return 'cosmig copy shows what is in the target, and adopts it with --yes';
  if (phase === 'committed') return whatIsLeft(status) ?? lateWriteAdvice(status) ?? NOTHING_LEFT;
  if (CUTTING_OVER.has(phase)) {
    const stopped = cutover?.stoppedSince == null ? '' : ', and writers may still be stopped';
    return `a cutover was interrupted${stopped}: run cosmig cutover again, or let writers resume and continue with cosmig tail`;
  }
  const { copy = 0, recopy = 0 } = phasesOf(ranges);
  if (copy > 0) return `cosmig copy continues with ${pluralize(copy, 'range')}${letters}`;
  if (phase === 'copying') return `every range is copied; cosmig copy finishes${letters}`;
  if (adoption === 'to be compared')
    return `cosmig copy compares both sides, which completes the adoption of the target${letters}`;
  if (recopy > 0) return `cosmig tail reads ${pluralize(recopy, 'range')} again${letters}`;
  const stopped = mayBeStopped(status) ? 'make sure that writers can write to the source again; ' : '';
  // A repair also retries the dead letters.
  if (whyVoid(status) !== null) return `${stopped}cosmig verify --repair ${FIXES}${letters}`;
  if (open > 0)
    return `${stopped}cosmig tail replicates what has changed since, and moves the document of a dead letter when you fix it in the source; cosmig dead-letters list shows each`;
  const after =
    proof === null
      ? 'run cosmig verify meanwhile to compare both sides'
      : isRefused(status)
        ? 'after that, cosmig status says whether a cosmig cutover should succeed'
        : 'run cosmig cutover when you are ready';
  return `${stopped}cosmig tail replicates what has changed since; ${after}`;
}

/**
 * Whether the writers may wait since a cutover that backed out. The ledger does not record whether the operator has let
 * them resume; an operator who has run something else since then has seen this advice.
 */
function mayBeStopped({ cutover, lastRun, proof }: Known): boolean {
  if (cutover?.stoppedSince == null) return false;
  const atMs = Date.parse(cutover.at);
  return [lastRun?.began, proof?.at].every((at) => at === undefined || Date.parse(at) <= atMs);
}

/**
 * Returns how to find late writes when a comparison after the commit has proven nothing, for which they are a reason;
 * null: none has, or a cutover that was run again has looked for them since.
 */
function lateWriteAdvice(status: Known): string | null {
  const { lastComparison, cutover } = status;
  if (comparedLast(status) === null || lastComparison?.equal !== null || cutover === null) return null;
  if (Date.parse(lastComparison.at) - Date.parse(cutover.at) > LATE_WRITES_MS) return null;
  return 'run cosmig cutover again: the last comparison has proven nothing, and it checks whether the source was written to after the commit';
}

/** Returns what the last cutover has left to do after its commit; null: nothing. */
export function whatIsLeft({ cutover }: Pick<Known, 'cutover'>): string | null {
  const { left = [], lateWrites = [] } = cutover ?? {};
  if (left.includes('hook'))
    return 'run cosmig cutover again with its --on-commit: that command has not succeeded yet';
  if (left.includes('watch'))
    return 'run cosmig cutover again: it checks whether the source was written to after the commit';
  const steps = [
    ...(lateWrites.length > 0
      ? [
          'stop the process that still writes to the source, and fix in the target what it has written since the commit',
        ]
      : []),
    ...(left.includes('settings')
      ? ['run cosmig cutover again: some settings of the target are not as requested']
      : []),
  ];
  return steps.length > 0 ? steps.join('; ') : null;
}

function adviseWhileRunning(status: Known): string {
  const { phase, proof, deadLetters, lastRun } = status;
  // What has to be done without a run that does not end by itself begins with Ctrl-C.
  if (lastRun === null || !isEndless(lastRun)) return 'wait for the run to finish';
  if (phase !== 'tailing') return 'keep cosmig tail running until it has found all documents';
  if (whyVoid(status) !== null) return `stop cosmig tail with Ctrl-C; then cosmig verify --repair ${FIXES}`;
  if (deadLetters.open > 0)
    return 'keep cosmig tail running, and fix the documents of dead letters in the source: cosmig tail then applies them';
  return proof === null
    ? 'keep cosmig tail running; cosmig verify in another terminal compares both sides'
    : isRefused(status)
      ? 'keep cosmig tail running until cosmig status says that a cosmig cutover should succeed'
      : 'keep cosmig tail running; when you are ready, stop it with Ctrl-C and run cosmig cutover';
}

/** Whether the way back says that a return would be refused now: then no advice is to return now. */
function isRefused({ wayBack }: Known): boolean {
  return wayBack !== null && wayBack.state !== 'ended' && wayBack.why.length > 0;
}

function phasesOf(ranges: readonly RangeStatus[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { phase } of ranges) counts[phase] = (counts[phase] ?? 0) + 1;
  return counts;
}

/** Returns how many ranges are in each phase: `3 tail, 1 copy`. */
export function describePhases(ranges: readonly RangeStatus[]): string {
  return formatCounts(phasesOf(ranges));
}
