/** Lines over time, with limits as horizontal lines. What rises above the top leaves the picture there. */
import { at, markup, type Markup } from './markup.ts';
import { line, picture, text, type Caption } from './picture.ts';
import type { LimitLine } from './bars.ts';

export interface Series {
  /** A short name, which is written at the end of the line. */
  readonly name: string;
  /** The class that sets its colour. */
  readonly tone: string;
  /** One amount for each date. */
  readonly amounts: readonly number[];
}

export interface LineShape {
  readonly width: number;
  readonly height: number;
}

const LEFT = 52;
const RIGHT = 30;
const TOP = 20;
const BOTTOM = 22;
const LABEL = 13;
/** How many dates are written below the picture. */
const DATES_SHOWN = { wide: 6, narrow: 3 } as const;

export function lines(
  caption: Caption,
  {
    series,
    dates,
    end,
    ticks,
    limits,
    shape,
  }: {
    readonly series: readonly Series[];
    readonly dates: readonly string[];
    /** The amount at the top. */
    readonly end: number;
    readonly ticks: readonly LimitLine[];
    readonly limits: readonly LimitLine[];
    readonly shape: LineShape;
  },
): Markup {
  const { width, height } = shape;
  const [right, bottom] = [width - RIGHT, height - BOTTOM];
  const x = (index: number): number => LEFT + (index / Math.max(1, dates.length - 1)) * (right - LEFT);
  const y = (amount: number): number => bottom - (end <= 0 ? 0 : amount / end) * (bottom - TOP);
  const every = Math.max(
    1,
    Math.ceil((dates.length - 1) / (width > 500 ? DATES_SHOWN.wide : DATES_SHOWN.narrow)),
  );
  return picture(caption, { width, height }, [
    ticks.map((tick) => [
      line([LEFT, y(tick.at)], [right, y(tick.at)], 'gridline'),
      text(tick.label, { x: LEFT - 6, y: y(tick.at) + 4, anchor: 'end', style: 'axis' }),
    ]),
    limits
      .filter((limit) => limit.at <= end)
      .map((limit) => [
        line([LEFT, y(limit.at)], [right, y(limit.at)], 'limit'),
        text(limit.label, { x: LEFT - 6, y: y(limit.at) + 4, anchor: 'end', style: 'axis alarm' }),
      ]),
    dates.map((date, index) =>
      index % every === 0
        ? text(date, { x: x(index), y: height - 6, anchor: index === 0 ? 'start' : 'middle', style: 'axis' })
        : null,
    ),
    series.map(
      ({ tone, amounts }) =>
        markup`<polyline points="${pointsOf(amounts, end, x, y)}" class="curve ${tone}"/>`,
    ),
    labelsOf(series, { end, x, y, bottom }).map(({ name, tone, labelX, labelY, isGone }) =>
      text(isGone ? `${name} ↑` : name, { x: labelX, y: labelY + 4, style: `strong tinted ${tone}` }),
    ),
  ]);
}

/** The points of a line, which ends where it leaves the picture. */
function pointsOf(
  amounts: readonly number[],
  end: number,
  x: (index: number) => number,
  y: (amount: number) => number,
): string {
  const exit = exitOf(amounts, end);
  const inside = exit === null ? amounts : amounts.slice(0, Math.ceil(exit));
  const points = inside.map((amount, index) => `${at(x(index))},${at(y(amount))}`);
  if (exit !== null) points.push(`${at(x(exit))},${at(y(end))}`);
  return points.join(' ');
}

/** Where a line leaves the picture, as an index between its points; null: it stays inside. */
function exitOf(amounts: readonly number[], end: number): number | null {
  const index = amounts.findIndex((amount) => amount > end);
  if (index < 0) return null;
  const [before, after] = [amounts[index - 1], amounts[index] ?? 0];
  return before === undefined ? 0 : index - 1 + (end - before) / (after - before);
}

interface Scale {
  readonly end: number;
  readonly x: (index: number) => number;
  readonly y: (amount: number) => number;
  readonly bottom: number;
}

/** Names stand at the ends of their lines, or above the point where a line leaves; they are moved apart. */
function labelsOf(series: readonly Series[], { end, x, y, bottom }: Scale) {
  let lowest = bottom;
  let farthest = 0;
  const ends = series.map(({ name, tone, amounts }) => {
    const exit = exitOf(amounts, end);
    const labelX = exit === null ? x(Math.max(0, amounts.length - 1)) + 6 : x(exit) + 4;
    const labelY = exit === null ? y(amounts.at(-1) ?? 0) : TOP - 8;
    return { name, tone, isGone: exit !== null, labelX, labelY };
  });
  const gone = ends
    .filter(({ isGone }) => isGone)
    .toSorted((one, other) => one.labelX - other.labelX)
    .map((label) => {
      const labelX = Math.max(label.labelX, farthest);
      farthest = labelX + 14 + label.name.length * 8;
      return { ...label, labelX };
    });
  const staying = ends
    .filter(({ isGone }) => !isGone)
    .toSorted((one, other) => other.labelY - one.labelY)
    .map((label) => {
      const labelY = Math.min(label.labelY, lowest);
      lowest = labelY - LABEL;
      return { ...label, labelY };
    });
  return [...gone, ...staying];
}
