/**
 * Bars of values with bounds, the longest first: what is certain is drawn full, what may be there in addition pale, with a
 * whisker at both bounds. Limits are vertical lines.
 */
import { markup, type Markup } from './markup.ts';
import { box, line, picture, text, WIDTH, type Caption } from './picture.ts';

export interface Bar {
  readonly label: string;
  readonly low: number;
  readonly high: number;
  /** The figure as text. */
  readonly figure: string;
}

export interface LimitLine {
  readonly at: number;
  readonly label: string;
}

const ROW = 36;
const BAR = 9;
const TOP = 4;
const LIMIT_LABEL = 18;
/** Columns of the fixed-width face at 12 pixels. */
const COLUMN = 7.3;

export function bars(
  caption: Caption,
  {
    bars: list,
    end,
    limits = [],
    tone,
  }: {
    readonly bars: readonly Bar[];
    /** The value at the right edge, so that pictures next to each other can be compared. */
    readonly end: number;
    readonly limits?: readonly LimitLine[];
    readonly tone: string;
  },
): Markup {
  const shownLimits = limits.filter(({ at }) => at <= end);
  const top = TOP + (shownLimits.length > 0 ? LIMIT_LABEL : 0);
  const height = top + list.length * ROW;
  const x = (value: number): number => (end <= 0 ? 0 : (Math.min(value, end) / end) * WIDTH);
  return picture(caption, { height, tone }, [
    list.map((bar, index) => {
      const y = top + index * ROW;
      const columns = Math.floor((WIDTH - bar.figure.length * 6.8 - 12) / COLUMN);
      return [
        text(bar.label, { x: 0, y: y + 12, style: 'value', columns }),
        text(bar.figure, { x: WIDTH, y: y + 12, anchor: 'end', style: 'figure' }),
        box({ x: 0, y: y + 17, width: WIDTH, height: BAR }, 'track', 2),
        box({ x: 0, y: y + 17, width: x(bar.high), height: BAR }, 'pale', 2),
        box({ x: 0, y: y + 17, width: Math.max(bar.low > 0 ? 1 : 0, x(bar.low)), height: BAR }, 'full', 2),
        bar.high > bar.low && x(bar.high) - x(bar.low) > 2 ? whisker(x(bar.low), x(bar.high), y + 17) : null,
      ];
    }),
    shownLimits.map((limit) => [
      list.map((_bar, index) => {
        const y = top + index * ROW + 15;
        return line([x(limit.at), y], [x(limit.at), y + BAR + 4], 'limit');
      }),
      text(limit.label, {
        x: x(limit.at),
        y: TOP + 9,
        anchor: x(limit.at) > WIDTH - 30 ? 'end' : 'middle',
        style: 'axis alarm',
      }),
    ]),
  ]);
}

function whisker(low: number, high: number, y: number): Markup {
  const middle = y + BAR / 2;
  return markup`${line([low, middle], [high, middle], 'whisker')}${line([high - 0.5, y + 1], [high - 0.5, y + BAR - 1], 'whisker')}`;
}
