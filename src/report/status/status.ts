/** The status of a migration as one screen of text, 80 columns wide. The last line names what to do next. */
import { formatCount, formatCounts, pluralize } from '../../lib/counting.ts';
import {
  formatAge,
  formatDuration,
  formatPercent,
  longIntegerRows,
  shownPath,
  table,
  wrapRow,
  type TextRow,
} from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import { swapWords } from '../../spec/turns/swapped-sides.ts';
import { basisText } from '../cutover.ts';
import { rangeRows } from '../range-rows.ts';
import { describePhases } from './status-advice.ts';
import { comparedLast, whyVoid } from './last-comparison.ts';
import type { Status } from './status-data.ts';
import { finalProof, hasEnded, wayBackRows } from './way-back.ts';

/** Renders a status. `isBack`: its turn leads back, so that source and target are swapped in the text later. */
export function renderStatus(status: Status, nowMs: number, isBack = false): string {
  const { ranges } = status;
  const rows: TextRow[] = [
    ['migration', status.migration],
    ['ledger', shownPath(status.ledger)],
    ['partition key', keyText(status)],
    ['phase', phaseText(status, isBack)],
    ['running', runningText(status, nowMs)],
    ...lastRunRows(status, nowMs),
    ...lagRows(status, nowMs),
    ['documents', documentsText(status)],
    ...longIntegerRows(status.documents.longIntegers),
    ['charge', chargeText(status)],
    ['dead letters', lettersText(status)],
    // After the commit deletes in the source no longer count.
    ...(status.phase === 'committed' ? [] : [['deletes', deletesText(status)] as const]),
    ['proof', proofText(status, nowMs)],
    ...cutoverRows(status, nowMs, isBack ? 'rollback' : 'cutover'),
    ...wayBackRows(status, nowMs, isBack),
    [
      'ranges',
      ranges.length === 0 ? 'none yet' : `${formatCount(ranges.length)} (${describePhases(ranges)})`,
    ],
    // A range that has reached the tail needs no attention.
    ...rangeRows(ranges, ({ phase }) => phase !== 'tail'),
    ['next', status.next],
  ];
  return table(rows.flatMap((row) => wrapRow(row, isBack ? swapWords : undefined)));
}

/** Nothing tails while no run works, and what is replicated on the way back is not the migration. */
export function phaseText(status: Status, isBack = false): string {
  const { phase, running, lastRun } = status;
  if (hasEnded(status)) return 'finished';
  if (running === null) return phaseOfEnded(phase, { isBack, isCopy: lastRun?.command === 'copy' });
  return isBack && phase === 'tailing' ? 'replicating back' : phase;
}

/** Returns a phase in the words for a run that has ended: nothing tails any longer. */
export function phaseOfEnded(
  phase: Status['phase'],
  { isBack, isCopy }: { readonly isBack: boolean; readonly isCopy: boolean },
): string {
  if (phase !== 'tailing') return phase;
  if (isBack) return 'replicating back, stopped';
  return isCopy ? 'copied' : 'tailing, stopped';
}

/** The key is unknown on the way back until a run has seen the container to which it leads. */
function keyText({ partitionKey }: Status): string {
  return partitionKey.length === 0 ? 'that of the target' : partitionKey.join(', ');
}

function runningText({ running, lastRun }: Status, nowMs: number): string {
  if (running === null) return 'no';
  if (running.since === null || lastRun === null) return 'yes, it has just started';
  const sinceMs = Date.parse(running.since);
  return `${lastRun.command} since ${formatTime(sinceMs)} (${formatAge(nowMs - sinceMs)}), process ${running.pid}`;
}

function lastRunRows(status: Status, nowMs: number): TextRow[] {
  const { lastRun, running, seen } = status;
  if (running !== null) return [];
  // A comparison takes no lock of the ledger, and leaves no run in it.
  const compared = comparedLast(status);
  if (compared !== null)
    return [['last run', `cosmig verify ended ${ago(compared.at, nowMs)}: ${compared.how}`]];
  if (lastRun === null) return [['last run', 'none']];
  const { command, began, ended, outcome, why } = lastRun;
  if (ended !== null) {
    const how = outcome === null ? 'outcome unknown' : (OUTCOMES[outcome] ?? outcome);
    const because = why === null || NO_FAILURE.has(outcome ?? '') ? '' : ` (${why})`;
    return [['last run', `${command} ended ${ago(ended, nowMs)}: ${how}${because}`]];
  }
  const last = seen === null ? '' : `, last seen ${ago(seen.at, nowMs)}`;
  const started = formatTime(Date.parse(began));
  return [
    [
      'last run',
      `${command}, started ${started}${last}, was killed or crashed; the next run resumes from there`,
    ],
  ];
}

/** Ends that say all there is to say. */
const NO_FAILURE: ReadonlySet<string> = new Set(['canceled', 'budget']);

/** The words for the outcome that a run has recorded at its end. */
const OUTCOMES: Readonly<Record<string, string>> = {
  canceled: 'it was stopped',
  budget: 'its time budget ended, with work left',
  'dead-letters': 'it stopped at dead letters',
  service: 'the service refused or was unavailable',
  ledger: 'its ledger could not be written',
  'not-ready': 'it could not continue',
  internal: 'a bug',
};

function lagRows(status: Status, nowMs: number): TextRow[] {
  const { phase, running, lastRun, seen } = status;
  if (hasEnded(status)) return [];
  if (phase === 'new' || phase === 'copying' || phase === 'committed')
    return running === null || seen?.waitsFor == null ? [] : [['waits for', seen.waitsFor]];
  if (running === null) {
    const since = lastRun?.ended ?? seen?.at;
    return [['lag', since === undefined ? 'unknown' : `not replicating since ${ago(since, nowMs)}`]];
  }
  if (seen === null) return [['lag', 'not known yet']];
  const lag = seen.lagSeconds === null ? 'unknown' : `${seen.lagSeconds} s`;
  const row: TextRow = ['lag', `${lag} (${formatAge(nowMs - Date.parse(seen.at))} ago)`];
  return seen.waitsFor === null ? [row] : [row, ['waits for', seen.waitsFor]];
}

/** Returns a time with its age: `2026-01-01 00:01:00Z (1 h ago)`. */
function ago(iso: string, nowMs: number): string {
  const atMs = Date.parse(iso);
  return `${formatTime(atMs)} (${formatAge(nowMs - atMs)} ago)`;
}

function documentsText({ documents, phase, seen }: Status): string {
  const { read, written, deleted, moved } = documents;
  const isCopying = phase === 'copying';
  const expected = isCopying ? (seen?.expected ?? 0) : 0;
  // From the copy on, each change of a document counts as well.
  const share =
    expected > 0
      ? ` of about ${formatCount(expected)} (${formatPercent(read, expected)})`
      : isCopying
        ? ''
        : ' (documents and changes)';
  return `${formatCount(read)} read${share}, ${formatCount(written)} written, ${formatCount(moved)} moved to a new key, ${formatCount(deleted)} deleted`;
}

function chargeText({ ru: { source, target }, throttled }: Status): string {
  return `${formatCount(source)} RU source, ${formatCount(target)} RU target, ${formatCount(throttled)} throttled`;
}

function lettersText({ deadLetters: { open, reasons, closed, discarded } }: Status): string {
  const opened = open === 0 ? '0 open' : `${formatCount(open)} open (${formatCounts(reasons)})`;
  const theirs = closed === 1 ? 'its document was' : 'their documents were';
  const moved =
    closed === 0 ? [] : [`${formatCount(closed)} closed (${theirs} moved, changed or deleted later)`];
  const dropped = discarded === 0 ? [] : [`${formatCount(discarded)} discarded`];
  return [opened, ...moved, ...dropped].join(', ');
}

/** Returns the mode of detecting deletes, and which deletes of the source have not reached the target. */
function deletesText({ deletes, ranges }: Status): string {
  if (deletes === null) return 'not decided yet';
  if (deletes === 'reconcile')
    return 'reconcile: documents deleted in the source stay in the target until both sides are compared';
  const unswept = ranges.filter(({ sweepPending }) => sweepPending).length;
  if (unswept === 0) return deletes;
  return `${deletes}: the feed of ${pluralize(unswept, 'range')} has lost deletes or renames; the documents stay in the target until both sides are compared`;
}

function proofText(status: Status, nowMs: number): string {
  const { proof, verifying } = status;
  const commit = finalProof(status);
  if (commit !== null) {
    const basis = commit.proof === null ? '' : `: ${basisText(commit.proof)}`;
    return `both sides were equal when the ${commit.command} committed, ${ago(commit.at, nowMs)}${basis}`;
  }
  if (proof === null) {
    const why = whyVoid(status);
    const none = why === null ? 'none' : `none: ${why}`;
    if (verifying) return `${none}; a cosmig verify is running`;
    return why === null ? 'none; a cosmig verify that finds both sides equal makes one' : none;
  }
  const last = `both sides were equal ${ago(proof.at, nowMs)}`;
  return verifying ? `${last}; a cosmig verify is running` : last;
}

const LATE_WRITES_MAX = 8;

function cutoverRows({ cutover }: Status, nowMs: number, name: 'cutover' | 'rollback'): TextRow[] {
  if (cutover === null) return [];
  const { state, at, stoppedSince, stoppedMs, why, lateWrites } = cutover;
  const since = stoppedSince === null ? null : `writers stopped ${ago(stoppedSince, nowMs)}`;
  switch (state) {
    case 'backed out': {
      // `stoppedSince` is set if the cutover has failed to run --on-abort, or has never called it.
      const stopped = since === null ? '' : `; ${since}, and writers have NOT been re-enabled by cosmig`;
      return [[name, `backed out ${ago(at, nowMs)}: ${why ?? 'reason unknown'}${stopped}`]];
    }
    case 'committed': {
      const stopped = stoppedMs === null ? '' : `, after ${formatDuration(stoppedMs)} with writers stopped`;
      const ids = lateWrites.slice(0, LATE_WRITES_MAX).map((id) => (id === '' ? 'unknown id' : id));
      const more = lateWrites.length - ids.length;
      const others = more > 0 ? ` and ${formatCount(more)} more` : '';
      const late: TextRow[] =
        ids.length === 0 ? [] : [['LATE WRITES', `not replicated: ${ids.join(', ')}${others}`]];
      return [[name, `committed ${ago(at, nowMs)}${stopped}`], ...late];
    }
    case 'in progress':
      return [[name, since ?? 'has passed its gate']];
    case 'interrupted':
      return [
        [
          name,
          since === null
            ? 'crashed before writers were stopped'
            : `crashed before its commit; ${since}, and may still be stopped`,
        ],
      ];
    default:
      return state satisfies never;
  }
}
