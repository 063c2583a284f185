/** The picture of a migration as one screen of text, 80 columns wide, with what to do next in its last line. */
import { tellPhases } from './status-advice.ts';
import type { RangeStatus, Status } from './status-data.ts';
import { count, counted, instant, roughly, table, tallied } from './format.ts';

type Rows = ReadonlyArray<readonly [name: string, value: string]>;

/** Beside the names. What has no blanks is not broken: a path stays a path. */
const VALUE_COLUMNS = 59;

export function tellStatus(status: Status, nowMs: number): string {
  const rows: Rows = [
    ['migration', status.migration],
    ['ledger', status.ledger],
    ['partition key', status.partitionKey.join(', ')],
    ['phase', status.phase],
    ['running', tellRunning(status, nowMs)],
    ...lastRunRows(status, nowMs),
    ...lagRows(status, nowMs),
    ['documents', tellDocuments(status)],
    ['charge', tellCharge(status)],
    ['dead letters', tellLetters(status)],
    ['deletes', tellDeletes(status)],
    ['proof', tellProof(status, nowMs)],
    ...cutoverRows(status, nowMs),
    ['ranges', status.ranges.length === 0 ? 'none yet' : tellRanges(status)],
    ...rangeRows(status.ranges),
    ['next', status.next],
  ];
  return table(rows.flatMap(wrapped));
}

/** A number stays with what it counts. */
const WORDS = /(?<!\d) /;

/** A row and those below it, without a name, that take what there is no room for. */
function wrapped([name, value]: Rows[number]): Rows {
  const lines: string[] = [];
  for (const word of value.startsWith(' ') || name.startsWith(' ') ? [value] : value.split(WORDS)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= VALUE_COLUMNS)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line, at) => [at === 0 ? name : '', line]);
}

function tellRunning({ running, lastRun }: Status, nowMs: number): string {
  if (running === null) return 'no';
  if (running.since === null || lastRun === null) return 'yes, it has just begun';
  const sinceMs = Date.parse(running.since);
  return `${lastRun.command} since ${instant(sinceMs)} (${roughly(nowMs - sinceMs)}), process ${running.pid}`;
}

function lastRunRows({ lastRun, running, seen }: Status, nowMs: number): Rows {
  if (running !== null) return [];
  if (lastRun === null) return [['last run', 'none']];
  const { command, began, ended, outcome } = lastRun;
  if (ended !== null) {
    const how = outcome === null ? 'it did not say how' : (OUTCOMES[outcome] ?? outcome);
    return [['last run', `${command} ended ${ago(ended, nowMs)}: ${how}`]];
  }
  const last = seen === null ? '' : `, seen last ${ago(seen.at, nowMs)}`;
  return [
    [
      'last run',
      `${command}, begun ${instant(Date.parse(began))}${last}, was killed or crashed; the next one goes on from there`,
    ],
  ];
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

function lagRows({ phase, running, lastRun, seen }: Status, nowMs: number): Rows {
  if (phase === 'new' || phase === 'copying' || phase === 'committed')
    return running === null || seen?.waitsFor == null ? [] : [['waits for', seen.waitsFor]];
  if (running === null) {
    const since = lastRun?.ended ?? seen?.at;
    return [['lag', since === undefined ? 'unknown' : `nothing is brought over since ${ago(since, nowMs)}`]];
  }
  if (seen === null) return [['lag', 'not known yet']];
  const lag = seen.lagSeconds === null ? 'not known' : `${seen.lagSeconds} s`;
  const row = ['lag', `${lag} (${roughly(nowMs - Date.parse(seen.at))} ago)`] as const;
  return seen.waitsFor === null ? [row] : [row, ['waits for', seen.waitsFor]];
}

/** `2026-01-01 00:01:00Z (1 h ago)`. */
function ago(iso: string, nowMs: number): string {
  const atMs = Date.parse(iso);
  return `${instant(atMs)} (${roughly(nowMs - atMs)} ago)`;
}

function tellDocuments({ documents, phase, seen }: Status): string {
  const { read, written, deleted, moved } = documents;
  // Writes go on meanwhile, so that there may be more than there were.
  const isKnown = phase === 'copying' && seen !== null && seen.expected !== null && seen.expected > 0;
  const share = isKnown
    ? ` of some ${count(seen.expected ?? 0)} (${percentOf(read, seen.expected ?? 1)})`
    : '';
  return `${count(read)} read${share}, ${count(written)} written, ${count(moved)} moved, ${count(deleted)} deleted`;
}

function percentOf(done: number, expected: number): string {
  return `${Math.min(99, Math.floor((done * 100) / expected))}%`;
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

function tellProof({ proof, verifying }: Status, nowMs: number): string {
  const last =
    proof === null
      ? 'none: no cosmig verify has ended clean, or a later one found differences'
      : `both sides were equal ${ago(proof.at, nowMs)}`;
  return verifying ? `${last}; a cosmig verify is at work` : last;
}

function cutoverRows({ cutover }: Status, nowMs: number): Rows {
  if (cutover === null) return [];
  const { state, at, stoppedSince, stoppedMs, why, lateWrites } = cutover;
  switch (state) {
    case 'backed out': {
      // It was killed before it called --on-abort, or that has failed; a tail may have run since.
      const stopped =
        stoppedSince === null
          ? ''
          : `; writers stopped ${ago(stoppedSince, nowMs)}, and cosmig has not let them on again`;
      return [['cutover', `backed out ${ago(at, nowMs)}: ${why ?? 'it did not say why'}${stopped}`]];
    }
    case 'committed': {
      const stopped =
        stoppedMs === null ? '' : `, writers were stopped for ${(stoppedMs / 1000).toFixed(1)} s`;
      const named = lateWrites.slice(0, NAMED_MAX).map((id) => (id === '' ? 'not named' : id));
      const more = lateWrites.length > NAMED_MAX ? ` and ${count(lateWrites.length - NAMED_MAX)} more` : '';
      const late: Rows =
        lateWrites.length === 0 ? [] : [['LATE WRITES', `not brought over: ${named.join(', ')}${more}`]];
      return [['cutover', `committed ${ago(at, nowMs)}${stopped}`], ...late];
    }
    case 'under way':
    case 'interrupted': {
      const isDead = state === 'interrupted';
      if (stoppedSince === null)
        return [['cutover', isDead ? 'died before writers were stopped' : 'has passed its gate']];
      const since = `writers stopped ${ago(stoppedSince, nowMs)}`;
      return [['cutover', isDead ? `died on its way, ${since}; nobody has let them on again` : since]];
    }
    default:
      return state satisfies never;
  }
}

const NAMED_MAX = 8;

/** More ranges than this are summed up, so that it stays one screen. */
const RANGES_SHOWN = 8;

function tellRanges({ ranges }: Status): string {
  return `${count(ranges.length)} (${tellPhases(ranges)})`;
}

/** Those that are not through come first: they are what is waited for. */
function rangeRows(ranges: readonly RangeStatus[]): Rows {
  const open = ranges.filter(({ phase }) => phase !== 'tail');
  const listed = ranges.length <= RANGES_SHOWN ? ranges : open.slice(0, RANGES_SHOWN);
  const rest = ranges.filter((range) => !listed.includes(range));
  const rows = listed.map(({ id, min, max, phase, documents }) =>
    rangeRow(id, { phase, documents, rest: `[${short(min)}, ${short(max)})` }),
  );
  if (rest.length === 0) return rows;
  const documents = rest.reduce((sum, range) => sum + range.documents, 0);
  const name = listed.length === 0 ? 'all of them' : `${count(rest.length)} more`;
  return [...rows, rangeRow(name, { phase: '', documents, rest: 'one by one with --json' })];
}

function rangeRow(
  name: string,
  { phase, documents, rest }: { readonly phase: string; readonly documents: number; readonly rest: string },
): Rows[number] {
  return [`  ${name}`, `${phase.padEnd(6)}${count(documents).padStart(14)}  ${rest}`];
}

/** Where a range begins says itself in its first places; all of them are in --json. */
function short(key: string): string {
  return key.length <= 8 ? key : `${key.slice(0, 8)}..`;
}
