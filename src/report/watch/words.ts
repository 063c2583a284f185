/** The words of the page: where a migration is, what it is doing, and what has happened. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import { swapWords } from '../../spec/turns/swapped-sides.ts';
import { isSwitch, type Run } from '../../state/runs.ts';
import type { JournalEntry } from '../../state/journal.ts';
import { formatAge, formatDuration } from '../format.ts';
import { hasEnded, leadsForth } from '../status/way-back.ts';
import { whyVoid } from '../status/last-comparison.ts';
import { withoutHeadline } from '../status/status-advice.ts';
import type { Status } from '../status/status-data.ts';
import { isReporting, whenText, type Facts, type MigrationFacts, type NothingToShow } from './facts.ts';
import { adviceText, measuringText, unfinishedText } from './plan.ts';

/** The stages of a migration, in order. Only a migration that has a way back has that stage. */
export const STAGES = ['Plan', 'Copy', 'Tail', 'Verify', 'Cutover', 'Way back', 'Done'] as const;
export type Stage = (typeof STAGES)[number];

/** A run that has reported nothing for this long may hang. It reports every second. */
const SILENT_MS = 10_000;

/** Returns the stage of a migration; null: it has not begun, and nothing was planned. */
export function stageOf(facts: Facts): Stage | null {
  if (facts.is !== 'known') return facts.plan === null ? null : 'Plan';
  const { phase, running, lastRun, verifying, proof, wayBack } = facts.status;
  if (phase === 'committed') return wayBack === null || wayBack.state === 'ended' ? 'Done' : 'Way back';
  if (hasEnded(facts.status)) return 'Done';
  if (facts.leadsBack) return 'Way back';
  if (phase === 'new' || phase === 'copying') return 'Copy';
  if (phase !== 'tailing' || (isReporting(facts) && isSwitch(lastRun?.command))) return 'Cutover';
  if (verifying) return 'Verify';
  return running === null && proof !== null ? 'Verify' : 'Tail';
}

/** Returns the stages that the page of a migration lists. */
export function stagesOf(facts: Facts): readonly Stage[] {
  const hasWayBack = facts.is === 'known' && (facts.leadsBack || facts.status.wayBack !== null);
  return STAGES.filter((stage) => stage !== 'Way back' || hasWayBack);
}

/** Whether a cutover is the newest that has happened: people look at its steps, also after its end. */
export function isSwitching(facts: Facts): boolean {
  if (facts.is !== 'known') return false;
  const { phase, lastRun } = facts.status;
  return isSwitch(lastRun?.command) || ['ready', 'fencing', 'drained', 'proven'].includes(phase);
}

export interface Headline {
  readonly title: string;
  readonly detail: string;
  /** `good`: it moves or is done. `wait`: it waits. `alarm`: the operator has to do something. `idle`: no run. */
  readonly mood: 'good' | 'wait' | 'alarm' | 'idle';
}

export function headlineOf(facts: Facts): Headline {
  if (facts.is !== 'known') return headlineBefore(facts);
  const headline = knownHeadline(facts);
  return facts.leadsBack
    ? { ...headline, title: headline.title.replace(/\bcutover\b/i, asRollback) }
    : headline;
}

/** The cutover of a turn that leads back is a rollback. */
export function asRollback(word: string): string {
  return word.startsWith('C') ? 'Rollback' : 'rollback';
}

/** Returns a command that has run. On a page of a turn that leads back all words are swapped, and this one back again. */
function nameOf(command: string, facts: MigrationFacts): string {
  return facts.leadsBack ? swapWords(`cosmig ${command}`) : `cosmig ${command}`;
}

function headlineBefore({ is, ledger, why, plan }: NothingToShow): Headline {
  const detail = `${ledger}: ${why}.`;
  if (is === 'unreadable') return { title: 'The ledger cannot be read', detail, mood: 'alarm' };
  if (plan?.is === 'measuring')
    return {
      title: 'Measuring candidates for the key',
      detail: measuringText(plan.documents),
      mood: 'good',
    };
  if (plan?.is === 'unfinished')
    return { title: 'A plan was begun', detail: unfinishedText(plan.documents), mood: 'idle' };
  if (plan?.is === 'made')
    return {
      title: `The plan: ${adviceText(plan.summary)}`,
      detail: `No migration of ${plan.summary.source} has begun yet.`,
      mood: 'idle',
    };
  return { title: 'No migration has begun', detail, mood: 'idle' };
}

/** A headline is amber while there is no safe return, whatever runs well. */
function knownHeadline(facts: MigrationFacts): Headline {
  const { status } = facts;
  const headline = headlineOfRun(facts);
  if (status.wayBack?.state !== 'rollback-unsafe' || headline.mood === 'alarm') return headline;
  const { title } = headline;
  const what = leadsForth(status.wayBack, facts.leadsBack) ? 'cutover' : 'return';
  return { title: `${title}; a ${what} is not safe`, detail: asSentence(status.next), mood: 'wait' };
}

function headlineOfRun(facts: MigrationFacts): Headline {
  const { status, report, comparing, atMs } = facts;
  const { running, lastRun, cutover } = status;
  const committed = committedHeadline(status);
  if (running === null && comparing !== null)
    return { title: 'Comparing both sides', detail: comparingDetail(facts), mood: 'good' };
  if (running === null && committed !== null) return committed;
  if (running === null) return idleHeadline(facts);
  if (!isReporting(facts) || lastRun === null)
    return {
      title: 'A run is starting',
      detail: 'It connects to the service and looks at both containers.',
      mood: 'good',
    };
  const title = runningTitle(facts);
  const silentMs = report === null ? 0 : atMs - report.atMs;
  if (silentMs > SILENT_MS)
    return { title, detail: `The run has reported nothing for ${formatAge(silentMs)}.`, mood: 'alarm' };
  const waits = report?.waitsFor ?? null;
  if (waits !== null) return { title, detail: `It waits: ${waits}.`, mood: 'wait' };
  if (cutover?.state === 'in progress' && cutover.stoppedSince !== null) {
    const stopped = formatDuration(Math.max(0, atMs - Date.parse(cutover.stoppedSince)));
    return {
      title,
      detail: `The writers of the application have been stopped for ${stopped}.`,
      mood: 'wait',
    };
  }
  return { title, detail: `${nameOf(lastRun.command, facts)} is running.`, mood: 'good' };
}

function committedHeadline(status: Status): Headline | null {
  const { phase, cutover, next } = status;
  if (hasEnded(status))
    return {
      title: 'Finished: the source is in use',
      detail: asSentence(next),
      mood: 'good',
    };
  if (phase !== 'committed') return null;
  const isLeft = (cutover?.left.length ?? 0) > 0 || (cutover?.lateWrites.length ?? 0) > 0;
  return {
    title: 'The target is in use',
    detail: asSentence(withoutHeadline(next)),
    mood: isLeft ? 'alarm' : 'good',
  };
}

function idleHeadline(facts: MigrationFacts): Headline {
  const { status, atMs } = facts;
  const { lastRun, next, seen, cutover, deadLetters } = status;
  const detail = asSentence(next);
  if (lastRun === null) return { title: 'Nothing has run yet', detail, mood: 'idle' };
  const { command, ended, outcome, why } = lastRun;
  if (ended === null) {
    const last = seen === null ? '' : ` Last seen ${whenText(facts, Date.parse(seen.at))}.`;
    return {
      title: `${nameOf(command, facts)} was killed or crashed`,
      detail: `${detail}${last}`,
      mood: 'alarm',
    };
  }
  const endedText = `${minuteText(Date.parse(ended), atMs)} UTC`;
  if (cutover?.state === 'backed out')
    return {
      title: `The cutover backed out; no run since ${endedText}`,
      detail: `${asSentence(cutover.why ?? 'the reason is not known')} ${detail}`,
      mood: cutover.stoppedSince === null ? 'idle' : 'alarm',
    };
  const failure = FAILURES[outcome ?? ''];
  if (failure !== undefined)
    return {
      title: `${nameOf(command, facts)} failed at ${endedText}`,
      detail: `${why === null ? failure : asSentence(why)} ${detail}`,
      mood: 'alarm',
    };
  if (whyVoid(status) !== null)
    return { title: 'The last comparison found differences', detail, mood: 'wait' };
  return { title: `No run since ${endedText}`, detail, mood: deadLetters.open > 0 ? 'wait' : 'idle' };
}

/** Why a run has failed, by the outcome in the ledger. A run that was stopped, or whose time was over, has not failed. */
const FAILURES: Readonly<Record<string, string>> = {
  'not-ready': 'A condition was not met.',
  mismatch: 'Both sides differ.',
  'dead-letters': 'More documents could not be written than the migration allows.',
  service: 'The service refused a request, or did not answer for too long.',
  ledger: 'The ledger or its disk could not be used.',
  'after-commit': 'It has committed, but it is not finished.',
  usage: 'The command or the configuration is wrong.',
  internal: 'This is a bug in cosmig.',
};

function runningTitle(facts: MigrationFacts): string {
  const { status, report, comparing } = facts;
  const { phase, lastRun, ranges } = status;
  const reported = report?.steps.at(-1)?.name;
  // The report of a run is up to a second older than the phase.
  const isBehind = phase === 'fencing' && (reported === undefined || reported === 'catching up');
  const step = isBehind ? 'stopping writers' : reported;
  const words = STEP_WORDS[step ?? ''];
  if (phase === 'committed')
    return (AFTER_COMMIT.has(step ?? '') ? words : undefined) ?? 'Committed: the target is in use';
  if (isSwitch(lastRun?.command)) return words ?? `Cutover: ${step ?? 'checking its gate'}`;
  if (phase === 'new' || phase === 'copying') {
    if (facts.leadsBack) return 'Preparing the way back';
    if (ranges.length === 0) return 'Preparing the copy';
    return ranges.some((range) => range.phase === 'copy') ? 'Copying' : 'Finishing the copy';
  }
  if (lastRun?.command === 'copy') return 'Finishing the copy';
  if (comparing !== null || status.verifying) return 'Replicating and comparing';
  return 'Replicating changes';
}

/** Returns what a cutover does in a step: `replicating the last changes`. */
export function stepText(step: string): string {
  return (STEP_WORDS[step] ?? step).replace(/^[^:]*: /, '');
}

/** What a cutover does in each of its steps, as a headline. */
const STEP_WORDS: Readonly<Record<string, string>> = {
  'catching up': 'Cutover: catching up',
  'stopping writers': 'Cutover: stopping the writers',
  draining: 'Cutover: replicating the last changes',
  'watching the fence': 'Cutover: waiting until the source is quiet',
  comparing: 'Cutover: comparing both sides',
  repairing: 'Cutover: repairing documents',
  'resuming writers': 'Cutover backed out: letting writers resume',
  'after the commit': 'Committed: switching the application',
  'watching for late writes': 'Committed: watching for late writes',
};

/** The steps that follow the commit. */
const AFTER_COMMIT: ReadonlySet<string> = new Set(['after the commit', 'watching for late writes']);

function comparingDetail({ comparing }: MigrationFacts): string {
  if (comparing === null) return '';
  if (comparing.waitsFor !== null) return `It waits: ${comparing.waitsFor}.`;
  if (comparing.stage === 'rechecking')
    return `${pluralize(comparing.open, 'document')} may differ and ${comparing.open === 1 ? 'is' : 'are'} looked at again.`;
  return 'cosmig verify is reading both sides.';
}

/** Makes a sentence of a text. The name of the program stays in lower case. */
function asSentence(text: string): string {
  return `${text.startsWith('cosmig ') ? text : text.charAt(0).toUpperCase() + text.slice(1)}.`;
}

/** Returns a time of day in UTC, `12:04`, or on another day `03-31 12:04`. */
function minuteText(atMs: number, nowMs: number): string {
  const [then = '', now = ''] = [atMs, nowMs].map((ms) => new Date(ms).toISOString());
  return then.slice(0, 10) === now.slice(0, 10) ? then.slice(11, 16) : then.slice(5, 16).replace('T', ' ');
}

/** Returns when an event happened, in UTC: to the second today, because the steps of a cutover take seconds. */
export function eventTime(atMs: number, nowMs: number): string {
  const minute = minuteText(atMs, nowMs);
  return minute.length > 5 ? minute : new Date(atMs).toISOString().slice(11, 19);
}

/** The turn of an event: whether it leads back, and whether it goes on after a rollback. The first does neither. */
type Turn = Pick<MigrationFacts, 'leadsBack' | 'isAgain'>;

/** What an event means, in a sentence without its full stop. */
export function eventText(entry: JournalEntry, turn: Turn): string {
  switch (entry.event) {
    case 'phase':
      return phaseText(entry, turn);
    case 'writers resumed':
      return 'The writers of the application may write again';
    case 'fence restarted':
      return `${changeText(entry)} after the writers were stopped; the cutover began again to wait for quiet`;
    case 'late write':
      return `${changeText(entry)} after the commit, and is not in the target`;
    case 'target settings applied':
      return `Settings of the target were changed: ${entry.settings.join(', ')}`;
    case 'ttl restored':
      return 'The time to live of the target was restored: it was paused while the target was not in use';
    case 'ttl paused':
      return 'The time to live of the source was paused while the source is kept';
    case 'application switched':
      return 'The application uses the target';
    case 'late write watch ended':
      return entry.isForgotten
        ? 'The source no longer had the changes since the commit, so late writes could not be looked for'
        : 'The watch for late writes ended';
    case 'adoption begun':
      return 'The migration began with a target that was not empty';
    case 'adoption compared':
      return entry.left === 0
        ? 'Both sides of the adopted target were compared, and are equal'
        : `Both sides of the adopted target were compared; only the target has ${pluralize(entry.left, 'document')}`;
    case 'written by others':
      return `${changeText(entry)} in the target by another process, which makes the way back unsafe`;
    case 'container recreated':
      return `The ${entry.container} was deleted and created again: what the ledger knows about it no longer holds`;
    case 'ranges unusable':
      return `The ranges of the ${entry.container} could not be used: ${entry.what}`;
    case 'ranges usable':
      return 'The ranges of both containers can be used again';
    case 'ledger restored':
      return 'The ledger was restored from an older copy';
    case 'dead letters discarded':
      return `${pluralize(entry.discarded, 'dead letter')} discarded${entry.reason === null ? '' : ` (${entry.reason})`}`;
    default:
      return entry satisfies never;
  }
}

/** The parts of a repair: how the command has ended as a whole is not in the ledger. */
const REPAIR = 'verify --repair';

/**
 * What became of a run that was not done, as an event; null: another event says it. When a run has died is not known: the
 * event has the time of its last report.
 */
export function runEvent(
  { command, startedAtMs, endedAtMs, outcome, why, report }: Run,
  facts: MigrationFacts,
): { readonly atMs: number; readonly text: string } | null {
  const name = nameOf(command, facts);
  if (endedAtMs === null)
    return { atMs: report?.atMs ?? startedAtMs, text: `${name} was killed or crashed; last seen then` };
  // A cutover that has ended without a commit has an event of its own.
  if (isSwitch(command) || command === REPAIR) return null;
  const how =
    outcome === 'canceled' ? 'was stopped' : outcome === 'budget' ? 'ended at its time limit' : null;
  return { atMs: endedAtMs, text: how === null ? `${name} failed: ${why ?? outcome}` : `${name} ${how}` };
}

function phaseText(entry: JournalEntry & { readonly event: 'phase' }, { leadsBack, isAgain }: Turn): string {
  const name = leadsBack ? 'rollback' : 'cutover';
  const copies = !leadsBack && !isAgain;
  switch (entry.phase) {
    case 'new':
      if (leadsBack) return 'The way back was created';
      return isAgain ? 'The migration was resumed' : 'The migration was created';
    case 'copying':
      return copies ? 'The copy began' : 'The first run began to find where each document is';
    case 'tailing':
      if (entry.why !== null) return `The ${name} ended without a commit: ${entry.why}`;
      return copies ? 'The copy is complete' : 'All documents are found';
    case 'ready':
      return `A ${name} passed its gate`;
    case 'fencing':
      return 'The writers are being stopped';
    case 'drained':
      return 'Every change was replicated while the writers were stopped';
    case 'proven':
      return 'Both sides were found equal while the writers were stopped';
    case 'committed':
      return `Committed; the writers were stopped for ${formatDuration(entry.stoppedMs)}`;
    default:
      return entry satisfies never;
  }
}

function changeText({
  what,
  range,
  ids,
}: JournalEntry & { readonly event: 'fence restarted' | 'late write' | 'written by others' }): string {
  if (what === 'split') return `Range ${range} of the source was split or merged`;
  if (ids.length === 0) return `A document was ${what}`;
  return ids.length === 1
    ? `Document ${ids[0]} was ${what}`
    : `${formatCount(ids.length)} documents were ${what}`;
}
