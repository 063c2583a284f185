/** The way back after a cutover: for how long it is kept, and whether a return would succeed now. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import { formatAge, formatDuration, formatTimeLeft } from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import { isAverageKnown, leadsForth } from '../status/way-back.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { isReporting, type MigrationFacts } from './facts.ts';

const DAY_SECONDS = 86_400;

/** Returns the way back; null: there is none. */
export function wayBack(facts: MigrationFacts): Markup | null {
  const { status, atMs } = facts;
  if (status.wayBack === null) return null;
  const { leadsTo, state, keptUntil } = status.wayBack;
  const to = leadsTo === 'source' ? status.source : status.target;
  const name = leadsForth(status.wayBack, facts.leadsBack) ? `The ${leadsTo} is kept` : 'Way back to';
  const leftMs = Date.parse(keptUntil) - atMs;
  const left = leftMs > 0 ? `${formatTimeLeft(leftMs)} left` : `over for ${formatAge(-leftMs)}`;
  const time = facts.isSaved === true ? `until ${formatTime(Date.parse(keptUntil))}` : left;
  return markup`<h2>${name} <span class="muted"><bdi>${to}</bdi>${state === 'ended' ? '' : `, ${time}`}</span></h2>${
    state === 'ended'
      ? markup`<p class="empty">Ended by cosmig finish: there is no return without a new copy.</p>`
      : state === 'prepared'
        ? markup`<p class="verdict">Nothing was replicated in this direction yet.</p>${rows(facts)}`
        : [verdict(facts), rows(facts)]
  }`;
}

function verdict({ status: { wayBack: way }, leadsBack }: MigrationFacts): Markup | null {
  if (way === null) return null;
  const name = leadsForth(way, leadsBack) ? 'cutover' : 'return';
  if (way.unsafe.length > 0) {
    const then = way.isRepairable
      ? 'After a clean cosmig verify --repair it is safe again'
      : `There is no ${name} without a new copy`;
    return markup`<p class="verdict caution">Not safe: ${way.unsafe.join('; ')}. ${then}.</p>`;
  }
  return way.returnWouldSucceed
    ? markup`<p class="verdict good">A ${name} should succeed now, as far as the ledger knows.</p>`
    : markup`<p class="verdict caution">A ${name} would be refused now: ${way.why.join('; ')}.</p>`;
}

function rows(facts: MigrationFacts): Markup | null {
  const { status, report, atMs } = facts;
  const { wayBack: way } = status;
  if (way === null) return null;
  const { state, keptUntil, lastStopMs, stopEstimate, ruPerSecond, ruPerSecondNow: rateNow } = way;
  const isForth = leadsForth(way, facts.leadsBack);
  const ru = ruPerSecond.source + ruPerSecond.target;
  const lag = isReporting(facts) ? (report?.lagSeconds ?? null) : null;
  const list: Array<readonly [name: string, value: string, note: string]> = [
    [
      'Kept until',
      formatTime(Date.parse(keptUntil)),
      Date.parse(keptUntil) > atMs ? 'cosmig finish --yes ends it sooner' : 'end it with cosmig finish',
    ],
  ];
  const { catchUp } = way;
  if (catchUp !== null && way.returnWouldSucceed) {
    const { since, changes, ms } = catchUp;
    list.push([
      `A ${isForth ? 'cutover' : 'return'} first catches up`,
      changes === null ? '–' : `with about ${pluralize(changes, 'change')}`,
      `since ${formatTime(Date.parse(since))}${ms === null || changes === 0 ? '' : `, which takes about ${formatAge(ms)}`}`,
    ]);
  }
  // What would be refused stops nothing.
  if (stopEstimate !== null && way.returnWouldSucceed)
    list.push([
      `A ${isForth ? 'cutover' : 'return'} stops writers`,
      `for about ${formatAge(stopEstimate.ms)}`,
      `and the time of your scripts; ${stopEstimate.comparesAll ? 'all documents' : pluralize(stopEstimate.changes, 'change')} to compare`,
    ]);
  if (lastStopMs !== null)
    list.push([
      'Writers stopped',
      `for ${formatDuration(lastStopMs)}`,
      isForth ? 'in the rollback' : 'in the last cutover',
    ]);
  if (state === 'in use' || state === 'rollback-unsafe') {
    list.push(
      [
        'Behind',
        lag === null ? '–' : formatDuration(lag * 1000),
        lag !== null ? 'the container in use' : isReporting(facts) ? 'not known yet' : 'no run measures it',
      ],
      isAverageKnown(status, atMs)
        ? [
            'Costs',
            `${formatCount(ru)} RU/s`,
            `on both sides on average, ${formatCount(ru * DAY_SECONDS)} RU a day`,
          ]
        : ['Costs', `${formatCount(status.ru.source + status.ru.target)} RU`, 'on both sides so far'],
    );
    if (rateNow !== null)
      list.push(['Costs now', `${formatCount(rateNow.source + rateNow.target)} RU/s`, 'in the last seconds']);
  }
  return markup`<dl class="rows">${list.map(
    ([name, value, note]) =>
      markup`<div><dt>${name}</dt><dd><b>${value}</b> <span class="muted">${note}</span></dd></div>`,
  )}</dl>`;
}
