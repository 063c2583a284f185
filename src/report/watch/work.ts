/** What has been done and how fast it goes: documents, RU/s of both sides, lag, and what may take how long. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import type { InFlightNow } from '../../cosmos/load/flights.ts';
import type { SideReport } from '../../state/runs.ts';
import { formatAge, formatDuration, formatPercent } from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import { meter } from '../svg/meter.ts';
import { hasEnded } from '../status/way-back.ts';
import { isReporting, type MigrationFacts } from './facts.ts';
import { paceOf, timeLeft, type RecentRates, type TimeLeft } from './rates/pace.ts';

export function work(facts: MigrationFacts): Markup {
  const { status, report, history } = facts;
  const sinceMs = status.running?.since == null ? Infinity : Date.parse(status.running.since);
  const pace = paceOf(history, sinceMs);
  const isRunning = isReporting(facts);
  return markup`<h2 class="hidden">Progress</h2><dl class="figures">${[
    documents(facts, pace, sinceMs),
    ru('Source', {
      report: report?.source ?? null,
      rate: pace?.sourceRu ?? null,
      totalRu: status.ru.source,
      isRunning,
    }),
    ru('Target', {
      report: report?.target ?? null,
      rate: pace?.targetRu ?? null,
      totalRu: status.ru.target,
      isRunning,
    }),
    lag(facts),
  ]}</dl>`;
}

function figure(name: string, value: string, notes: readonly (Markup | string)[], tone = ''): Markup {
  return markup`<div class="figure ${tone}"><dt>${name}</dt><dd><span class="big">${value}</span>${notes.map((note) => markup`<span class="sub">${note}</span>`)}</dd></div>`;
}

function documents(facts: MigrationFacts, pace: RecentRates | null, sinceMs: number): Markup {
  const { status, history } = facts;
  const { read, written } = status.documents;
  const isCopying = status.phase === 'new' || status.phase === 'copying';
  const expected = isCopying ? (status.seen?.expected ?? null) : null;
  const none = isReporting(facts) ? 'the rate is being measured' : 'no run is reading';
  const rate = pace === null ? none : `${formatCount(Math.round(pace.documents))} a second`;
  if (expected === null || expected === 0)
    return figure('Documents and changes read', formatCount(read), [
      `${formatCount(written)} written${facts.leadsBack ? ' since the cutover' : facts.isAgain ? ' since the rollback' : ''}`,
      rate,
      inFlight(facts),
    ]);
  const left = timeLeft(history, { documents: Math.max(0, expected - read), sinceMs });
  return figure(`Documents, of about ${formatCount(expected)}`, formatPercent(read, expected), [
    meter(read, { end: expected, tone: 'k1' }),
    `${formatCount(read)} read, ${rate}`,
    pace === null ? '' : leftText(left),
    inFlight(facts),
  ]);
}

/** What was read and has no outcome yet, and how old the oldest of it is. */
function inFlight(facts: MigrationFacts): string {
  if (!isReporting(facts)) return '';
  const { inFlight: count = 0, pages } = facts.report ?? {};
  return count === 0
    ? 'none waiting to be written'
    : `${formatCount(count)} waiting to be written${oldestText(pages)}`;
}

function oldestText(now: InFlightNow | undefined): string {
  return now?.oldestMs == null ? '' : `, oldest ${formatDuration(now.oldestMs)}`;
}

function leftText(left: TimeLeft | null): string {
  if (left === null) return 'the time left is being measured';
  const [short, long] = [formatDuration(left.shortMs), formatDuration(left.longMs)];
  return short === long ? `${short} left` : `${short} to ${long} left`;
}

interface SideUse {
  readonly report: SideReport | null;
  readonly rate: number | null;
  readonly totalRu: number;
  readonly isRunning: boolean;
}

function ru(name: string, { report: side, rate, totalRu, isRunning }: SideUse): Markup {
  const { allowedRu: allowed = null, containerRu: container = null } = side ?? {};
  const limit = allowed ?? container;
  const whole = container === null ? '' : formatCount(Math.round(container));
  const of =
    limit === null
      ? 'no limit is known'
      : allowed === null || allowed === container
        ? `of ${whole} in all`
        : `of ${formatCount(Math.round(allowed))} allowed${whole === '' ? '' : `, ${whole} in all`}`;
  const throttled = side?.throttled ?? 0;
  // One 429 long ago is normal, and no reason for a colour that asks to look.
  const isResting = isRunning && (side?.ranges.some((range) => range.isResting) ?? false);
  return figure(
    `${name}, RU/s`,
    rate === null ? '–' : formatCount(Math.round(rate)),
    [
      limit === null ? NOTHING : meter(rate ?? 0, { end: limit, tone: name === 'Source' ? 'k1' : 'k3' }),
      of,
      `${formatCount(Math.round(totalRu))} RU so far`,
      throttled === 0 ? '' : `${timesThrottled(throttled)}${isResting ? ', just now' : ''}`,
      isRunning ? requestsText(side?.requests) : '',
    ],
    isResting ? 'caution' : '',
  );
}

/** Returns how often the service has answered with 429, in the word that its users know. */
export function timesThrottled(throttled: number): string {
  return `throttled ${throttled === 1 ? 'once' : `${formatCount(throttled)} times`}`;
}

/** Returns how many requests have no reply yet; no text for a report of an older cosmig. */
export function requestsText(now: InFlightNow | undefined): string {
  if (now === undefined) return '';
  return now.count === 0
    ? 'no request in flight'
    : `${pluralize(now.count, 'request')} in flight${oldestText(now)}`;
}

function lag(facts: MigrationFacts): Markup {
  const { status, report, atMs } = facts;
  if (status.phase === 'committed' || hasEnded(status))
    return figure('Lag', 'none', ['nothing is replicated now']);
  if (status.phase === 'new' || status.phase === 'copying')
    return figure('Lag', '–', [
      facts.leadsBack ? 'known when all documents are found' : 'known when the copy is complete',
    ]);
  if (!isReporting(facts)) {
    const since = status.lastRun?.ended ?? status.seen?.at;
    if (since !== undefined && facts.isSaved === true)
      return figure('Lag', '–', [`not replicating since ${formatTime(Date.parse(since))}`], 'caution');
    const age = since === undefined ? null : formatAge(atMs - Date.parse(since));
    return age === null
      ? figure('Lag', '–', ['nothing was replicated yet'], 'caution')
      : figure('Not replicating for', age, ['since the last run; only a run measures the lag'], 'caution');
  }
  const seconds = report?.lagSeconds ?? null;
  return seconds === null
    ? figure('Lag', '–', ['not known yet'])
    : figure('Lag', formatDuration(seconds * 1000), ['of the range that is farthest behind']);
}
