/** What has been done and how fast it goes: documents, RU/s of both sides, lag, and what may take how long. */
import { formatCount } from '../../lib/counting.ts';
import type { SideReport } from '../../state/runs.ts';
import { formatAge, formatDuration, formatPercent } from '../format.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import { meter } from '../svg/meter.ts';
import type { MigrationFacts } from './facts.ts';
import { paceOf, timeLeft, type RecentRates, type TimeLeft } from './pace.ts';

export function work(facts: MigrationFacts): Markup {
  const { status, report, history } = facts;
  const sinceMs = status.running?.since == null ? Infinity : Date.parse(status.running.since);
  const pace = paceOf(history, sinceMs);
  return markup`<h2 class="hidden">Progress</h2><dl class="figures">${[
    documents(facts, pace, sinceMs),
    ru('Source', report?.source ?? null, pace?.sourceRu ?? null, status.ru.source),
    ru('Target', report?.target ?? null, pace?.targetRu ?? null, status.ru.target),
    lag(facts),
  ]}</dl>`;
}

function figure(name: string, value: string, notes: readonly (Markup | string)[], tone = ''): Markup {
  return markup`<div class="figure ${tone}"><dt>${name}</dt><dd><span class="big">${value}</span>${notes.map((note) => markup`<span class="sub">${note}</span>`)}</dd></div>`;
}

function documents(
  { status, report, history }: MigrationFacts,
  pace: RecentRates | null,
  sinceMs: number,
): Markup {
  const { read, written } = status.documents;
  const isCopying = status.phase === 'new' || status.phase === 'copying';
  const expected = isCopying ? (status.seen?.expected ?? null) : null;
  const none = status.running === null ? 'no run is reading' : 'the rate is being measured';
  const rate = pace === null ? none : `${formatCount(Math.round(pace.documents))} a second`;
  if (expected === null || expected === 0)
    return figure('Documents read', formatCount(read), [
      `${formatCount(written)} written`,
      rate,
      status.running === null ? '' : inFlight(report?.inFlight ?? 0),
    ]);
  const left = timeLeft(history, { documents: Math.max(0, expected - read), sinceMs });
  return figure(`Documents, of about ${formatCount(expected)}`, formatPercent(read, expected), [
    meter(read, { end: expected, tone: 'k1' }),
    `${formatCount(read)} read, ${rate}`,
    pace === null ? '' : leftText(left),
    status.running === null ? '' : inFlight(report?.inFlight ?? 0),
  ]);
}

function inFlight(count: number): string {
  return count === 0 ? 'none in flight' : `${formatCount(count)} in flight`;
}

function leftText(left: TimeLeft | null): string {
  if (left === null) return 'the time left is being measured';
  const [short, long] = [formatDuration(left.shortMs), formatDuration(left.longMs)];
  return short === long ? `${short} left` : `${short} to ${long} left`;
}

function ru(name: string, side: SideReport | null, rate: number | null, totalRu: number): Markup {
  const limit = side?.allowedRu ?? side?.containerRu ?? null;
  const of =
    side?.allowedRu != null
      ? `of the ${formatCount(Math.round(side.allowedRu))} that cosmig may use`
      : side?.containerRu != null
        ? `of the container's ${formatCount(side.containerRu)}`
        : 'no limit is known';
  const throttled = side?.throttled ?? 0;
  return figure(
    `${name}, RU/s`,
    rate === null ? '–' : formatCount(Math.round(rate)),
    [
      limit === null ? NOTHING : meter(rate ?? 0, { end: limit, tone: name === 'Source' ? 'k1' : 'k3' }),
      of,
      `${formatCount(Math.round(totalRu))} RU so far${throttled === 0 ? '' : `, ${formatCount(throttled)} times 429`}`,
    ],
    throttled > 0 ? 'caution' : '',
  );
}

function lag({ status, report, atMs }: MigrationFacts): Markup {
  const isRunning = status.running !== null;
  if (status.phase === 'committed') return figure('Lag', 'none', ['the source is no longer replicated']);
  if (status.phase === 'new' || status.phase === 'copying')
    return figure('Lag', '–', ['known when the copy is complete']);
  if (!isRunning) {
    const since = status.lastRun?.ended ?? status.seen?.at;
    const age = since === undefined ? null : formatAge(atMs - Date.parse(since));
    return figure(
      'Lag',
      age ?? '–',
      [age === null ? 'nothing was replicated yet' : 'since the last run'],
      'caution',
    );
  }
  const seconds = report?.lagSeconds ?? null;
  return seconds === null
    ? figure('Lag', '–', ['not known yet'])
    : figure('Lag', formatDuration(seconds * 1000), ['of the range that is farthest behind']);
}
