/**
 * Amounts over time, as areas that begin at zero. Where nothing is known, for example because nothing ran, there is no
 * line. Each point has its own time, so times without a run keep their width.
 */
import { at, markup, type Markup } from './markup.ts';
import { box, line, picture, text, type Caption } from './picture.ts';

export interface TimedAmount {
  readonly atMs: number;
  /** Null: not known. */
  readonly amount: number | null;
}

export interface TimeSeries {
  readonly name: string;
  /** The class that sets its colour. */
  readonly tone: string;
  readonly points: readonly TimedAmount[];
}

export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

const HEIGHT = 132;
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 6, 10, 20] as const;
const TIMES = 3;

export function timeline(
  caption: Caption,
  {
    series,
    span: { fromMs, toMs },
    limit,
    format,
    timeText,
    width,
  }: {
    readonly series: readonly TimeSeries[];
    readonly span: TimeSpan;
    /** An amount that is a limit, with its name. */
    readonly limit?: { readonly amount: number; readonly name: string } | null;
    readonly format: (amount: number) => string;
    readonly timeText: (atMs: number) => string;
    readonly width: number;
  },
): Markup {
  const [right, bottom] = [width - RIGHT, HEIGHT - BOTTOM];
  const amounts = series.flatMap(({ points }) => points.map(({ amount }) => amount ?? 0));
  const isKnown = series.some(({ points }) => points.some(({ amount }) => amount !== null));
  const top = niceTop(Math.max(0, ...amounts, limit?.amount ?? 0));
  const x = (atMs: number): number =>
    LEFT + (toMs <= fromMs ? 1 : (atMs - fromMs) / (toMs - fromMs)) * (right - LEFT);
  const y = (amount: number): number => bottom - (amount / top) * (bottom - TOP);
  const times = Array.from(
    { length: TIMES + 1 },
    (_none, index) => fromMs + (index / TIMES) * (toMs - fromMs),
  );
  return picture(caption, { width, height: HEIGHT }, [
    (isKnown ? [top / 2, top] : []).map((amount) => [
      line([LEFT, y(amount)], [right, y(amount)], 'gridline'),
      text(format(amount), { x: LEFT - 6, y: y(amount) + 4, anchor: 'end', style: 'axis' }),
    ]),
    line([LEFT, bottom], [right, bottom], 'base'),
    isKnown
      ? null
      : text('not known yet', { x: (LEFT + right) / 2, y: bottom / 2, anchor: 'middle', style: 'axis' }),
    series.map(({ tone, points }) =>
      stretchesOf(points).map((stretch) => {
        const first = stretch[0];
        const last = stretch.at(-1);
        if (first === undefined || last === undefined) return null;
        if (first === last)
          return box({ x: x(first.atMs) - 1, y: y(first.amount) - 1, width: 2, height: 2 }, `full ${tone}`);
        const path = stretch.map(({ atMs, amount }) => `${at(x(atMs))},${at(y(amount))}`).join(' ');
        return markup`<polygon class="area ${tone}" points="${at(x(first.atMs))},${at(bottom)} ${path} ${at(x(last.atMs))},${at(bottom)}"/><polyline class="thin ${tone}" points="${path}"/>`;
      }),
    ),
    limit == null
      ? null
      : [
          line([LEFT, y(limit.amount)], [right, y(limit.amount)], 'limit'),
          text(limit.name, { x: right, y: y(limit.amount) - 4, anchor: 'end', style: 'axis alarm' }),
        ],
    times.map((time, index) =>
      text(timeText(time), {
        x: x(time),
        y: HEIGHT - 5,
        anchor: index === 0 ? 'start' : index === TIMES ? 'end' : 'middle',
        style: 'axis',
      }),
    ),
  ]);
}

interface KnownAmount {
  readonly atMs: number;
  readonly amount: number;
}

/** Divides points into stretches without an unknown amount. */
function stretchesOf(points: readonly TimedAmount[]): KnownAmount[][] {
  const stretches: KnownAmount[][] = [];
  let isOpen = false;
  for (const { atMs, amount } of points) {
    if (amount !== null && isOpen) stretches.at(-1)?.push({ atMs, amount });
    else if (amount !== null) stretches.push([{ atMs, amount }]);
    isOpen = amount !== null;
  }
  return stretches;
}

/** Returns the next of 1, 2, 5, 10, 20 ... that is not below the amount. */
function niceTop(amount: number): number {
  if (amount <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(amount));
  return power * ([1, 2, 5].find((step) => step * power >= amount) ?? 10);
}
