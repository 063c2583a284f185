/** The picture of a migration as one screen of text, with what to do next in its last line. */
import type { RangeStatus, Status } from './status-picture.ts';
import { count, counted, instant, roughly, table, tallied } from './wording.ts';

/** More ranges than this are summed up, so that it stays one screen. */
const RANGES_SHOWN = 12;

type Rows = ReadonlyArray<readonly [name: string, value: string]>;

export function tellStatus(status: Status, nowMs: number): string {
  return table([
    ['migration', status.migration],
    ['ledger', status.ledger],
    ['partition key', status.partitionKey.join(', ')],
    ['phase', status.phase],
    ['running', tellRunning(status, nowMs)],
    ['last run', tellLastRun(status, nowMs)],
    ['documents', tellDocuments(status)],
    ['charge', tellCharge(status)],
    ['dead letters', tellLetters(status)],
    ['deletes', tellDeletes(status)],
    ['ranges', tellRanges(status)],
    ...rangeRows(status.ranges),
    ['next', adviseNext(status)],
  ]);
}

function tellRunning({ running, lastRun }: Status, nowMs: number): string {
  if (running === null) return 'no';
  if (running.since === null || lastRun === null) return 'yes, it has just begun';
  const sinceMs = Date.parse(running.since);
  return `${lastRun.command} since ${instant(sinceMs)} (${roughly(nowMs - sinceMs)}), process ${running.pid}`;
}

function tellLastRun({ lastRun, running }: Status, nowMs: number): string {
  if (lastRun === null) return 'none';
  const { command, began, ended, outcome } = lastRun;
  if (ended !== null) {
    const endedMs = Date.parse(ended);
    const how = outcome === null ? 'it did not say how' : (OUTCOMES[outcome] ?? outcome);
    return `${command} ended ${instant(endedMs)} (${roughly(nowMs - endedMs)} ago): ${how}`;
  }
  if (running !== null) return 'the one that is on';
  return `${command}, begun ${instant(Date.parse(began))}, was killed or crashed; the next one goes on from there`;
}

/** What a run has written down of its end. */
const OUTCOMES: Readonly<Record<string, string>> = {
  canceled: 'it was stopped',
  budget: 'its time was over, with work left',
  'dead-letters': 'it stopped at dead letters',
  service: 'the service refused or stayed away',
  ledger: 'its ledger could not be written',
  'not-ready': 'it could not go on',
  internal: 'a bug',
};

function tellDocuments({ documents: { read, written, deleted, moved } }: Status): string {
  return `${count(read)} read, ${count(written)} written, ${count(moved)} moved, ${count(deleted)} deleted`;
}

function tellCharge({ ru: { source, target }, throttled }: Status): string {
  return `${count(source)} RU source, ${count(target)} RU target, ${count(throttled)} throttled`;
}

function tellLetters({ deadLetters: { open, reasons, closed, discarded } }: Status): string {
  const opened = open === 0 ? '0 open' : `${count(open)} open (${tallied(reasons)})`;
  const ended = tallied({ closed, discarded });
  return ended === '' ? opened : `${opened}, ${ended}`;
}

/** The mode, and what of the source's deletes the target does not know yet. */
function tellDeletes({ deletes, ranges }: Status): string {
  if (deletes === null) return 'not decided yet';
  if (deletes === 'reconcile') return 'reconcile: what the source deletes stays in the target until compared';
  const unswept = ranges.filter(({ sweepPending }) => sweepPending).length;
  if (unswept === 0) return deletes;
  return `${deletes}: in ${counted(unswept, 'range')} the feed has lost deletes, which stay in the target until compared`;
}

function countsOf(ranges: readonly RangeStatus[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { phase } of ranges) counts[phase] = (counts[phase] ?? 0) + 1;
  return counts;
}

function tellRanges({ ranges }: Status): string {
  return ranges.length === 0 ? 'none yet' : `${count(ranges.length)} (${tallied(countsOf(ranges))})`;
}

function rangeRows(ranges: readonly RangeStatus[]): Rows {
  const row = (name: string, phase: string, documents: number, rest: string): Rows[number] => [
    `  ${name}`,
    `${phase.padEnd(6)}${count(documents).padStart(14)}  ${rest}`,
  ];
  const shown = ranges
    .slice(0, RANGES_SHOWN)
    .map(({ id, min, max, phase, documents }) => row(id, phase, documents, `[${min}, ${max})`));
  const rest = ranges.slice(RANGES_SHOWN);
  if (rest.length === 0) return shown;
  const documents = rest.reduce((sum, range) => sum + range.documents, 0);
  return [...shown, row(`${count(rest.length)} more`, '', documents, 'one by one with --json')];
}

const CUTTING_OVER = new Set(['ready', 'fencing', 'drained', 'proven']);

function adviseNext({ phase, ranges, running, deadLetters: { open } }: Status): string {
  const letters = open === 0 ? '' : '; cosmig dead-letters list shows what could not be moved';
  if (running !== null) return `wait: it is at work${letters}`;
  if (ranges.length === 0) return 'cosmig copy begins it';
  if (phase === 'committed') return 'nothing: the target is in use; keep the source while you may look back';
  if (CUTTING_OVER.has(phase))
    return 'a cutover was interrupted: cosmig cutover begins it anew, cosmig tail goes on with the source in use';
  const { copy = 0, again = 0 } = countsOf(ranges);
  if (copy > 0) return `cosmig copy goes on with ${counted(copy, 'range')}${letters}`;
  if (phase === 'copying') return `cosmig copy ends it: every range is copied${letters}`;
  if (again > 0) return `cosmig tail reads ${counted(again, 'range')} once more${letters}`;
  if (open > 0)
    return 'see cosmig dead-letters list, mend what it shows, then cosmig dead-letters retry --all';
  return 'cosmig tail brings over what has changed since';
}
