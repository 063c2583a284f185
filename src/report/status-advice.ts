/** What to do next, by what a ledger says. What always holds: whatever state a run has left, a command leads on from it. */
import type { RangeStatus, Status } from './status-data.ts';
import { counted, tallied } from './format.ts';

const CUTTING_OVER = new Set(['ready', 'fencing', 'drained', 'proven']);

export function adviseNext(status: Omit<Status, 'next'>): string {
  const { phase, ranges, running, deadLetters, proof, cutover } = status;
  const { open } = deadLetters;
  const letters = open === 0 ? '' : '; cosmig dead-letters list shows what could not be moved';
  if (running !== null) return `${besides(status)}${letters}`;
  if (ranges.length === 0) return 'cosmig copy begins it';
  if (phase === 'committed') return adviseCommitted(status);
  if (CUTTING_OVER.has(phase)) {
    const stopped = cutover?.stoppedSince == null ? '' : ', and the application may still be stopped';
    return `a cutover was interrupted${stopped}: cosmig cutover begins it anew, or let the application write to the source and go on with cosmig tail`;
  }
  const { copy = 0, recopy = 0 } = phasesOf(ranges);
  if (copy > 0) return `cosmig copy goes on with ${counted(copy, 'range')}${letters}`;
  if (phase === 'copying') return `cosmig copy ends it: every range is copied${letters}`;
  if (recopy > 0) return `cosmig tail reads ${counted(recopy, 'range')} once more${letters}`;
  // Only whoever looks can know whether somebody else has let it on.
  const stopped =
    cutover?.stoppedSince == null ? '' : 'see that the application writes to the source again; ';
  if (open > 0)
    return `${stopped}see cosmig dead-letters list, mend what it shows, then cosmig dead-letters retry --all`;
  if (proof === null)
    return `${stopped}cosmig tail brings over what has changed since; cosmig verify beside it proves it`;
  return `${stopped}cosmig tail brings over what has changed since; cosmig cutover switches when you are ready`;
}

function adviseCommitted({ cutover }: Omit<Status, 'next'>): string {
  if (cutover !== null && cutover.left.includes('hook'))
    return 'cosmig cutover goes on: the hook that points the application to the target has not ended well yet';
  if (cutover !== null && cutover.left.includes('watch'))
    return 'cosmig cutover goes on: it looks whether anybody has written to the source since';
  const settings =
    'cosmig cutover goes on: settings of the target are not all as was asked for with the commit';
  const isUnset = cutover !== null && cutover.left.includes('settings');
  if (cutover !== null && cutover.lateWrites.length > 0) {
    const mend = 'stop whoever still writes to the source, and mend in the target what it has written';
    return isUnset ? `${mend}; ${settings}` : mend;
  }
  if (isUnset) return settings;
  return 'nothing: the target is in use; keep the source while you may look back';
}

/** While a run is on. */
function besides({ phase, proof, deadLetters }: Omit<Status, 'next'>): string {
  if (phase !== 'tailing' || deadLetters.open > 0) return 'wait: it is at work';
  return proof === null
    ? 'wait: it is at work; cosmig verify beside it proves that both sides hold the same'
    : 'wait: it is at work; when you are ready, stop it and switch with cosmig cutover';
}

export function phasesOf(ranges: readonly RangeStatus[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { phase } of ranges) counts[phase] = (counts[phase] ?? 0) + 1;
  return counts;
}

export function tellPhases(ranges: readonly RangeStatus[]): string {
  return tallied(phasesOf(ranges));
}
