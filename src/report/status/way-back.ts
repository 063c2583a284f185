/**
 * The way back in a status: until when it is kept, what it costs, and what a rollback would do now. Invariant: it is made
 * from the ledgers of the turns alone, as everything else in a status.
 */
import { formatCount, pluralize } from '../../lib/counting.ts';
import { PRICES } from '../../spec/money/prices.ts';
import { DEADLINE_MIN } from '../../spec/timing.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import type { TurnState } from '../../state/turns/chain.ts';
import { formatAge, formatDuration, formatTimeLeft, isoTime, type TextRow } from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import type { StatusResult } from '../json/ledger-results.ts';
import type { HistoryEntry } from '../../state/reading/history.ts';
import type { RunReport } from '../../state/runs.ts';
import { paceNow } from '../watch/rates/pace.ts';
import { whyVoid } from './last-comparison.ts';
import { NOTHING_LEFT_BACK, whatIsLeft } from './status-advice.ts';
import type { Status } from './status-data.ts';
import { catchUpOf, stopEstimateOf, type LastComparison } from './stop-estimate.ts';

type WayBackStatus = NonNullable<StatusResult['wayBack']>;

const DAY_SECONDS = 86_400;
/** What is left when no comparison can repair a way back. */
const NO_SWITCH = 'without a new copy, the application cannot switch to the target';
/** After less time, an average says nothing of a day. */
const AVERAGE_MIN_MS = 3600_000;

export interface Turns {
  /** The turn that the status shows. */
  readonly shown: TurnState;
  /** The newest turn, which may not have begun. */
  readonly newest: TurnState;
  /** How long the last cutover stopped the writers; null: not known. */
  readonly lastStopMs: number | null;
  /** The newest cutover or rollback that has committed, in the words of the turn that is shown; null: none has. */
  readonly lastCommit: StatusResult['lastCommit'];
}

/** What makes a return unsafe, in words. */
export interface Unsafe {
  /** What no comparison can repair: there is no return without a new copy. */
  readonly lost: readonly string[];
  /** A container whose ranges do not cover its keys: nothing can be replicated, and no rollback can prove anything. */
  readonly ranges: readonly string[];
  /** Writes of other processes: a rollback refuses until a comparison has found both sides equal. */
  readonly byOthers: readonly string[];
  /** Changes that were not reported: a rollback compares all documents. */
  readonly missed: readonly string[];
}

/** What the ledger and the verify file know besides the status. */
export interface Known {
  readonly unsafe: Unsafe;
  readonly proof: LastComparison | null;
  /** The moments of the ledger of the turn that is shown. */
  readonly history: readonly HistoryEntry[];
  /** What the last run of that turn has reported last; null: nothing. */
  readonly report: RunReport | null;
}

/** Returns the way back of a migration; null if there is none. */
export function wayBackOf(
  status: Omit<Status, 'next' | 'wayBack'>,
  { shown, newest, lastStopMs, unsafe, proof, history, report }: Turns & Known,
  nowMs: number,
): WayBackStatus | null {
  const { from } = newest;
  if (from === null) return null;
  const isShown = shown.number === newest.number && newest.hasBegun;
  const isOpen = isShown && status.phase !== 'committed';
  const reasonsUnsafe = isOpen
    ? [...unsafe.lost, ...unsafe.ranges, ...unsafe.byOthers, ...unsafe.missed]
    : [];
  const isUnsafe = reasonsUnsafe.length > 0;
  const open = newest.hasBegun ? (isUnsafe ? 'rollback-unsafe' : 'in use') : 'prepared';
  const state = from.endedAtMs === null ? open : 'ended';
  const toCatchUp =
    isOpen && status.phase === 'tailing' && status.running === null
      ? catchUpOf({ history, report }, nowMs)
      : null;
  const reasons = (): readonly string[] => [
    ...(isOpen ? [...unsafe.lost, ...unsafe.ranges, ...unsafe.byOthers] : []),
    ...whyNot(status),
    ...(toCatchUp?.isTooMuch === true
      ? [`cosmig tail has to catch up first${amountText(toCatchUp, ' with ')}`]
      : []),
    ...(unsafe.missed.length > 0 ? tooLongToCompare(proof) : []),
  ];
  const why = state === 'ended' ? ['cosmig finish has ended it'] : isShown ? reasons() : [NOT_BEGUN];
  const perSecond = (ru: number): number => {
    const seconds = Math.max(1, (nowMs - Date.parse(status.began)) / 1000);
    return isShown ? Math.round(ru / seconds) : 0;
  };
  const ruPerSecond = { source: perSecond(status.ru.source), target: perSecond(status.ru.target) };
  return {
    // In the words of the turn that is shown: it writes to its target.
    leadsTo: leadsBack(newest.number) === leadsBack(shown.number) ? 'target' : 'source',
    state,
    keptUntil: isoTime(from.keptUntilMs),
    returnWouldSucceed: why.length === 0,
    why,
    unsafe: reasonsUnsafe,
    lastStopMs,
    stopEstimate: isOpen
      ? stopEstimateOf({
          proof,
          history,
          read: status.documents.read + (toCatchUp?.changes ?? 0),
          documents: status.seen?.expected ?? null,
          comparesAll: unsafe.missed.length > 0,
          lagMs: status.running === null ? null : secondsIn(status.seen?.lagSeconds),
        })
      : null,
    catchUp:
      toCatchUp === null ? null : { since: toCatchUp.since, changes: toCatchUp.changes, ms: toCatchUp.ms },
    isRepairable: !isOpen || unsafe.lost.length === 0,
    ruPerSecond,
    ruPerSecondNow: isOpen ? ruNow(status, history, nowMs) : null,
    moneyPerDay: { amount: moneyFor(ruPerSecond), currency: PRICES.currency, pricesOf: PRICES.date },
  };
}

function secondsIn(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : seconds * 1000;
}

/** Returns what the run uses that is in progress; null: none is, or it has not recorded enough. */
function ruNow(
  { running }: Pick<Status, 'running'>,
  history: readonly HistoryEntry[],
  nowMs: number,
): WayBackStatus['ruPerSecondNow'] {
  if (running?.since == null) return null;
  const pace = paceNow(history, { sinceMs: Date.parse(running.since), nowMs });
  return pace === null ? null : { source: Math.round(pace.sourceRu), target: Math.round(pace.targetRu) };
}

/** Returns what so many RU/s cost in a day with manual throughput, at the list price. */
function moneyFor({ source, target }: WayBackStatus['ruPerSecond']): number {
  return Math.round((((source + target) * PRICES.manual * 24) / 100) * 100) / 100;
}

const NOT_BEGUN = 'nothing has been replicated in this direction yet';

/** Returns what the gate of a rollback would refuse now, as far as the ledger knows (src/engine/cutover/gate.ts). */
function whyNot(status: Omit<Status, 'next' | 'wayBack'>): string[] {
  const { phase, deadLetters, proof } = status;
  const reasons: string[] = [];
  if (phase === 'committed') return ['it was used already'];
  if (phase === 'new' || phase === 'copying') reasons.push('cosmig tail has not found all documents yet');
  if (deadLetters.open > 0) reasons.push(`${pluralize(deadLetters.open, 'dead letter')} must be resolved`);
  if (proof === null) reasons.push(whyVoid(status) ?? 'no clean cosmig verify is on record');
  return reasons;
}

/** Returns why the gate would refuse to compare all documents while the writers are stopped; empty: it would not. */
function tooLongToCompare(proof: LastComparison | null): string[] {
  const readMs = proof?.readMs ?? 0;
  if (readMs <= DEADLINE_MIN * 60_000) return [];
  return [
    `all documents have to be compared with writers stopped, which takes about ${formatAge(readMs)}, and --deadline is ${DEADLINE_MIN} min unless you set a longer one`,
  ];
}

/** Whether a way back has been in use for long enough to say what a day of it costs. */
export function isAverageKnown({ began }: Pick<Status, 'began'>, nowMs: number): boolean {
  return nowMs - Date.parse(began) >= AVERAGE_MIN_MS;
}

/** Whether the way leads to the target of the migration: after a rollback, `cosmig cutover` uses it. */
export function leadsForth({ leadsTo }: Pick<WayBackStatus, 'leadsTo'>, isBack: boolean): boolean {
  return (leadsTo === 'target') !== isBack;
}

/** Returns the rows of a way back. `isBack`: the turn of the status leads back. */
export function wayBackRows(status: Status, nowMs: number, isBack = false): TextRow[] {
  const { wayBack } = status;
  if (wayBack === null) return [];
  const { state, keptUntil, returnWouldSucceed, why, unsafe, isRepairable, leadsTo } = wayBack;
  if (state === 'ended') return [['way back', 'ended by cosmig finish']];
  const untilMs = Date.parse(keptUntil);
  const leftMs = untilMs - nowMs;
  const time =
    leftMs > 0
      ? `${formatTimeLeft(leftMs)} left`
      : `over for ${formatAge(-leftMs)}; end it with cosmig finish`;
  const isForth = leadsForth(wayBack, isBack);
  const until = `until ${formatTime(untilMs)} (${time})`;
  const kept: TextRow = isForth ? [`${leadsTo} kept`, until] : ['way back', `to the ${leadsTo}, ${until}`];
  if (state === 'prepared') return [kept];
  const safety: TextRow[] =
    state === 'rollback-unsafe'
      ? [
          [
            'NOT SAFE',
            `${unsafe.join('; ')}; ${isRepairable ? 'cosmig verify --repair makes the target equal to the source, and then it is safe again' : NO_SWITCH}`,
          ],
        ]
      : [];
  const isNamed = why.some((reason) => unsafe.includes(reason));
  const reasons = [
    ...(isNamed ? ['NOT SAFE, see above'] : []),
    ...why.filter((one) => !unsafe.includes(one)),
  ];
  const now = returnWouldSucceed
    ? `should succeed${catchUpText(wayBack, nowMs)}${stopText(wayBack, isForth ? 'the rollback' : 'the last cutover')}`
    : `would be refused: ${reasons.join('; ')}`;
  return [
    kept,
    ...safety,
    [isForth ? 'cutover now' : 'return now', now],
    ['costs', costsText(status, wayBack, nowMs)],
  ];
}

function costsText(
  status: Status,
  { ruPerSecond, ruPerSecondNow, moneyPerDay }: WayBackStatus,
  nowMs: number,
): string {
  const used = ({ source, target }: Status['ru'], unit: string): string =>
    `${formatCount(source)} ${unit} of the source and ${formatCount(target)} ${unit} of the target`;
  const recent = ruPerSecondNow === null ? '' : `${used(ruPerSecondNow, 'RU/s')} now; `;
  if (!isAverageKnown(status, nowMs)) return `${recent}${used(status.ru, 'RU')} so far`;
  const day = formatCount((ruPerSecond.source + ruPerSecond.target) * DAY_SECONDS);
  return `${recent}${used(ruPerSecond, 'RU/s')} on average: ${day} RU a day, ${moneyPerDay.amount.toFixed(2)} ${moneyPerDay.currency} at the list price of manual throughput`;
}

/** Returns how much there is to catch up with, and how long that takes, as far as it is known. */
function amountText(
  { changes, ms }: Pick<NonNullable<WayBackStatus['catchUp']>, 'changes' | 'ms'>,
  before: string,
): string {
  if (changes === null) return '';
  const time = ms === null || changes === 0 ? '' : `, which takes about ${formatAge(ms)}`;
  return `${before}about ${pluralize(changes, 'change')}${time}`;
}

/** Returns what a return would do before it stops the writers, as a part of a sentence. */
export function catchUpText({ catchUp }: WayBackStatus, nowMs: number): string {
  if (catchUp === null) return '';
  const sinceMs = Date.parse(catchUp.since);
  return `; it would first catch up with what has changed since ${formatTime(sinceMs)} (${formatAge(nowMs - sinceMs)} ago)${amountText(catchUp, ', ')}`;
}

/** For how long a return would stop the writers, as a part of a sentence. */
function stopText({ stopEstimate, lastStopMs }: WayBackStatus, before: string): string {
  const last = lastStopMs === null ? '' : `; ${before} stopped them for ${formatDuration(lastStopMs)}`;
  if (stopEstimate === null)
    return lastStopMs === null ? '' : `; ${before} stopped writers for ${formatDuration(lastStopMs)}`;
  const { ms, changes, comparesAll } = stopEstimate;
  const compared = comparesAll ? 'all documents' : pluralize(changes, 'change');
  return `; it would stop writers for about ${formatAge(ms)} and the time of your scripts, with ${compared} to compare${last}`;
}

/** Returns what makes a return safe again; null: nothing that the ledger knows of does. */
function adviseUnsafe({ lost, byOthers, missed }: Unsafe, isRunning: boolean): string | null {
  if (lost.length > 0) return `cosmig finish --yes ends the way back: ${NO_SWITCH}`;
  if (byOthers.length + missed.length === 0) return null;
  return [
    ...(byOthers.length > 0
      ? ['stop the process that writes to the target; copy what it wrote there if you need it']
      : []),
    // A repair replicates by itself, and refuses to work while another run does.
    ...(isRunning ? ['stop cosmig tail'] : []),
    `run cosmig verify --repair${byOthers.length > 0 ? ', which deletes what that process created there and overwrites what it changed' : ''}`,
  ].join('; ');
}

/** Whether the way back has ended that the status shows: nothing is replicated any longer. */
export function hasEnded({ phase, wayBack }: Pick<Status, 'phase' | 'wayBack'>): boolean {
  return wayBack?.state === 'ended' && phase !== 'committed';
}

/** Returns the commit whose proof stands when nothing is left to be proven; null: that is not so, or not recorded. */
export function finalProof(status: Pick<Status, 'phase' | 'lastCommit' | 'wayBack'>): Status['lastCommit'] {
  return status.phase === 'committed' || hasEnded(status) ? status.lastCommit : null;
}

/** Returns what to do next if the way back decides it; null if the rest of the status does. */
export function adviseWayBack(
  wayBack: WayBackStatus | null,
  { phase, running, cutover }: Pick<Status, 'phase' | 'running' | 'cutover'>,
  unsafe: Unsafe,
): string | null {
  if (wayBack === null) return null;
  if (hasEnded({ phase, wayBack })) return NOTHING_LEFT_BACK;
  // Before that a comparison would wait for the run that finds all documents; later a rollback is in progress.
  if (wayBack.state === 'rollback-unsafe' && phase === 'tailing')
    return adviseUnsafe(unsafe, running !== null);
  if (wayBack.state !== 'prepared') return null;
  const left = phase === 'committed' ? whatIsLeft({ cutover }) : null;
  // The turn that has not begun is the one that is shown, or leads to the source of that one.
  const keeps =
    wayBack.leadsTo === 'target'
      ? 'cosmig tail keeps the target up to date, so that cosmig cutover can switch to it again; cosmig finish gives that up'
      : 'cosmig reverse keeps the source up to date, so that cosmig rollback can switch to it again; cosmig finish gives that up';
  // The run that has committed is still watching for late writes.
  if (phase === 'committed' && running !== null) return `wait for the run to finish; then ${keeps}`;
  return left === null ? keeps : `${left}; then ${keeps}`;
}
