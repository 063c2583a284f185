/** When the biggest value of each key reaches its limit, and what the container needs then. */
import { VALUE_BYTES_MAX } from '../../plan/verdict/limits.ts';
import { lines } from '../svg/lines.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import { bytesText, countText, ruPerSecondText, sentence, VALUE_LIMITS } from './figures.ts';
import { chip, keyName, type CandidateView } from './view.ts';

/** Above the limit a value can only be refused: the picture ends a little higher. */
const TOP = VALUE_BYTES_MAX.value * 1.2;
const SHAPES = [
  { width: 820, height: 270, style: 'on-wide' },
  { width: 340, height: 260, style: 'on-narrow' },
] as const;

export function growth(views: readonly CandidateView[]): Markup {
  const growing = views.filter(({ result }) => result.growth.line.length > 1);
  const [first] = growing;
  if (first === undefined) return NOTHING;
  const { from, historyDays, horizonMonths, line } = first.result.growth;
  const most = Math.max(...growing.flatMap(({ result }) => result.growth.line.map(([, , value]) => value)));
  const limit = VALUE_BYTES_MAX.value;
  const end = most > limit * 0.4 ? Math.min(TOP, Math.max(most, limit * 1.05)) : most * 1.08;
  const described = growing
    .map(({ mark, result }) => `${mark}, ${result.key}: ${reachText(result.growth.first)}`)
    .join('; ');
  const origin = from === '_ts' ? 'the time of the last write (_ts), since no creation date was named' : from;
  const cautions = [...new Set(growing.flatMap(({ result }) => result.growth.caution ?? []))];
  return markup`<section aria-labelledby="growth"><div class="intro"><h2 id="growth">Growth to 20 GB</h2>
<p class="lead">The biggest value of each key over the next ${horizonMonths} months. Growth is taken from ${origin}, over ${historyDays < 1 ? 'less than a day' : historyDays === 1 ? 'a day' : `${countText(historyDays)} days`} of the past.${end < limit ? ' No value comes near the limit: it lies above the picture.' : ''}</p></div>
${cautions.map((text) => markup`<p class="warn">${sentence(text)}</p>`)}
${SHAPES.map(
  ({ style, ...shape }) =>
    markup`<figure class="${style}">${lines(
      { id: `growth-${style}`, title: 'The biggest value of each key over time', description: described },
      {
        series: growing.map(({ mark, tone, result }) => ({
          name: mark,
          tone,
          amounts: result.growth.line.map(([, , value]) => value),
        })),
        dates: line.map(([date]) => date.slice(0, 7)),
        end,
        ticks: ticksUpTo(end),
        limits: VALUE_LIMITS,
        shape,
      },
    )}</figure>`,
)}
<table class="wide growing" role="table" aria-labelledby="growth"><thead role="rowgroup"><tr role="row">${['Key', 'Grows first', 'A day', '14 GB', '20 GB', 'Partitions then', 'Throughput then'].map((name) => markup`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${growing.map(row)}</tbody></table></section>`;
}

function row(view: CandidateView): Markup {
  const { first, partitionsAtHorizon, ruAtHorizon } = view.result.growth;
  const beyond = 'later';
  const cells: ReadonlyArray<readonly [name: string, text: string | Markup]> = [
    ['Grows first', first === null ? 'no value grows' : markup`<bdi class="key">${first.value}</bdi>`],
    ['A day', first === null ? '–' : bytesText(first.bytesPerDay)],
    ['14 GB', first === null ? '–' : (first.reaches14Gb ?? beyond)],
    [
      '20 GB',
      first === null
        ? '–'
        : first.reaches20Gb === null
          ? beyond
          : markup`<strong class="alarm">${first.reaches20Gb}</strong>`,
    ],
    ['Partitions then', countText(partitionsAtHorizon)],
    ['Throughput then', ruPerSecondText(ruAtHorizon)],
  ];
  return markup`<tr role="row"><th role="rowheader" scope="row"><span class="heading">${chip(view)}${keyName(view.result.key)}</span></th>${cells.map(([name, text]) => markup`<td role="cell" data-name="${name}"><span class="num${name === 'Grows first' ? '' : ' short'}">${text}</span></td>`)}</tr>`;
}

function reachText(first: CandidateView['result']['growth']['first']): string {
  if (first === null) return 'no value grows';
  const reached =
    first.reaches20Gb === null ? 'does not reach 20 GB' : `reaches 20 GB on ${first.reaches20Gb}`;
  return `${first.value} has ${bytesText(first.bytes)} and ${reached}`;
}

/** Round amounts in the unit of the picture: three to six of them. */
function ticksUpTo(end: number): ReadonlyArray<{ readonly at: number; readonly label: string }> {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, end)) / 10));
  const raw = end / unit / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power * unit;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_none, index) => ({
    at: index * step,
    label: index === 0 ? '0' : bytesText(index * step).replace('.0 ', ' '),
  })).filter(({ at }) => VALUE_LIMITS.every((limit) => limit.at > end || Math.abs(limit.at - at) > end / 20));
}
