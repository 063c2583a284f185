/** Where data and writes are: the biggest values, the balance over partitions, and writes over hash space and time. */
import { pluralize } from '../../lib/counting.ts';
import type { LargestValue } from '../../plan/result.ts';
import { VALUE_BYTES_MAX } from '../../plan/verdict/limits.ts';
import { balance, BARS_MAX } from '../svg/balance.ts';
import { bars } from '../svg/bars.ts';
import { heat, heatScale, heatShape, mostOf } from '../svg/heat.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import {
  bytesText,
  countText,
  VALUE_LIMITS,
  rangeText,
  ruText,
  shareText,
  spanText,
  timesText,
} from './figures.ts';
import { heading, type CandidateView } from './view.ts';

const VALUES_SHOWN = 8;
/** Beyond this many times the average, a taller bar says nothing more. */
const OVER_AVERAGE_SHOWN = 4;

export function biggestValues(views: readonly CandidateView[]): Markup {
  const most = Math.max(
    0,
    ...views.flatMap(({ result }) => result.data.largest.map(({ bytes }) => bytes.high)),
  );
  if (most === 0) return NOTHING;
  const limit = VALUE_BYTES_MAX.value;
  const end = most >= limit / 2 ? Math.max(most, limit * 1.05) : most;
  return markup`<section aria-labelledby="values"><div class="intro"><h2 id="values">The biggest values</h2>
<p class="lead">A value of the key holds at most 20 GB of data and index together. Every picture has the same scale. ${end < limit ? 'The limit lies beyond the right edge.' : 'The dashed lines are the limit, and 70 % of it.'} Pale ends of bars are what is not certain.</p></div>
<div class="grid">${views.map((view, index) => {
    const { largest } = view.result.data;
    const shown = largest.slice(0, VALUES_SHOWN);
    return markup`<figure>${heading(view)}${
      shown.length === 0
        ? markup`<p class="muted">No value was found.</p>`
        : bars(
            {
              id: `values${index}`,
              title: `Biggest values of ${view.result.key}`,
              description: shown.map((value) => `${value.value}: ${valueText(value)}`).join('; '),
            },
            {
              bars: shown.map((value) => ({
                label: value.value === '' ? '(empty text)' : value.value,
                low: value.bytes.low,
                high: value.bytes.high,
                figure: valueText(value),
              })),
              end,
              limits: VALUE_LIMITS,
              tone: view.tone,
            },
          )
    }<figcaption>${caption(view)}</figcaption></figure>`;
  })}</div></section>`;
}

function valueText({ bytes, share }: LargestValue): string {
  return `${rangeText(bytes, bytesText)} · ${shareText(share)}`;
}

function caption({ result: { data } }: CandidateView): string {
  const { itemsPerKey: items } = data;
  const few = data.largest.length < 10 || data.distinct.high <= 10;
  const top = few ? '' : `The ten biggest have ${shareText(data.top10Share)} of all documents. `;
  const levels = data.distinctPerLevel;
  const perLevel =
    levels.length < 2
      ? ''
      : ` Values by level: ${levels.map(({ estimate }) => countText(estimate)).join(', ')}.`;
  return `${top}Half of all values have at most ${pluralize(items.p50, 'document')}, 99 % at most ${countText(items.p99)}, the fullest ${countText(items.max)}. They spread the documents as ${countText(data.effectiveKeys)} values of equal size would.${perLevel}`;
}

export function partitionBalance(views: readonly CandidateView[]): Markup {
  const all = views.flatMap(({ result }) => result.data.balance);
  if (all.every(({ bytes }) => bytes.top === 0)) return NOTHING;
  const tallest = Math.max(...all.flatMap(({ bytes, writes }) => [bytes.overAverage, writes.overAverage]));
  const endOverAverage = Math.max(2, Math.min(OVER_AVERAGE_SHOWN, tallest));
  const grouped = all.some(({ bytes }) => bytes.partitions > BARS_MAX);
  return markup`<section aria-labelledby="balance"><div class="intro"><h2 id="balance">Balance over physical partitions</h2>
<p class="lead">Each bar is a partition: its data above the baseline, the writes of the last day below. The dotted lines are an even share. Throughput is divided evenly, so the tallest bar decides how much of it is of use. A bar is cut at ${OVER_AVERAGE_SHOWN} times the average.${grouped ? ' Where there are many partitions, a bar shows the fullest of several neighbours.' : ''}</p></div>
<div class="grid">${views.map((view, index) => {
    const spreads = view.result.data.balance.map(({ bytes, writes }, step) => ({
      label: `${pluralize(bytes.partitions, 'partition')}${['', ' (×2)', ' (×4)'][step] ?? ''}`,
      data: bytes.shares,
      writes: writes.shares,
      dataFigure: timesText(bytes.overAverage),
      writesFigure: timesText(writes.overAverage),
    }));
    const description = spreads
      .map(
        ({ label, dataFigure, writesFigure }) =>
          `${label}: the fullest has ${dataFigure} the average data, the busiest ${writesFigure} the average writes`,
      )
      .join('; ');
    return markup`<figure>${heading(view)}${balance(
      { id: `balance${index}`, title: `Balance of ${view.result.key}`, description },
      { spreads, endOverAverage, tone: view.tone },
    )}</figure>`;
  })}</div></section>`;
}

export function writesOverTime(views: readonly CandidateView[]): Markup {
  const most = Math.max(0, ...views.map(({ result }) => mostOf(result.writes.heat.rows)));
  const [present] = views;
  const skipped = emptyColumns(views);
  const rowsOf = ({ result }: CandidateView): ReadonlyArray<readonly number[]> =>
    result.writes.heat.rows.map((row) => row.slice(skipped));
  if (most === 0 || present === undefined) return NOTHING;
  const shapes = views.map((view) => ({
    label: view.mark,
    tone: view.tone,
    content: heatShape(rowsOf(view), most),
  }));
  const others = views.length === 1 ? views : views.slice(1);
  return markup`<section aria-labelledby="heat"><div class="intro"><h2 id="heat">Writes over hash space and time</h2>
<p class="lead">From top to bottom the hash space, from left to right the time. Even colour is good; a dark line is one value that takes the writes, and a partition that takes them with it. Each candidate stands next to the present key. <span class="legend">fewer ${heatScale('k0')} more writes</span></p></div>
<div class="grid">${others.map((view, index) => {
    const { writes } = view.result;
    const { secondsPerColumn } = writes.heat;
    const span = spanText(secondsPerColumn * Math.max(0, ...rowsOf(view).map(({ length }) => length)));
    const own = shapes[views.indexOf(view)];
    const [first] = shapes;
    const maps = [first, own].filter((shape, at, list) => shape !== undefined && list.indexOf(shape) === at);
    const hottest = hottestOf(view);
    const described = hottest?.join(' ') ?? NOTHING_WRITTEN;
    return markup`<figure>${heading(view)}${heat(
      {
        id: `heat${index}`,
        title: `Writes with ${view.result.key}, next to the present key`,
        description: `${described} With the present key: ${hottestOf(present)?.join(' ') ?? NOTHING_WRITTEN}`,
      },
      { maps: maps.filter((shape) => shape !== undefined), from: `${span} ago`, to: 'now' },
    )}<figcaption>${hottest === null ? NOTHING_WRITTEN : markup`<bdi class="key">${hottest[0]}</bdi> ${hottest[1]}`}${followed(view)}</figcaption></figure>`;
  })}</div></section>`;
}

/** How many columns are shown at least: a picture of one column has no direction. */
const COLUMNS_MIN = 8;

/** How many columns at the left have no write with any key: nothing was written before them. */
function emptyColumns(views: readonly CandidateView[]): number {
  const rows = views.flatMap(({ result }) => result.writes.heat.rows);
  const firsts = rows.map((row) => row.findIndex((amount) => amount > 0)).filter((first) => first >= 0);
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  return Math.max(0, Math.min(columns - COLUMNS_MIN, ...firsts));
}

/** What is hot: the value, and a sentence about it. */
function hottestOf({ result: { writes } }: CandidateView): readonly [value: string, text: string] | null {
  const { lastDay, lastHour } = writes;
  const [recent, name] = lastHour.hottest === null ? [lastDay, 'day'] : [lastHour, 'hour'];
  if (recent.hottest === null) return null;
  const { value, share } = recent.hottest;
  return [
    value,
    `is the hottest value: ${shareText(share)} of ${pluralize(recent.documents, 'write')} in the last ${name}.`,
  ];
}

/** What following the feed showed. */
function followed({ result: { observed } }: CandidateView): Markup {
  if (observed === null || observed.hottest === null) return NOTHING;
  const { value, writesPerSecond, ruPerSecond } = observed.hottest;
  return markup` While the feed was followed, <bdi class="key">${value}</bdi> had ${countText(writesPerSecond)} writes and ${ruText(ruPerSecond)} a second.`;
}

const NOTHING_WRITTEN = 'Nothing was written in the last day.';
