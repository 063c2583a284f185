/**
 * How evenly something is spread over partitions: one bar for each partition, against the line of an even share. Data
 * stands above the baseline, writes hang below it.
 */
import type { Markup } from './markup.ts';
import { box, line, picture, text, WIDTH, type Caption } from './picture.ts';

export interface PartitionSpread {
  readonly label: string;
  /** Shares of all, in the order of the partitions. */
  readonly data: readonly number[];
  readonly writes: readonly number[];
  readonly dataFigure: string;
  readonly writesFigure: string;
}

const HALF = 30;
const LABEL = 18;
const GAP = 14;
/** More bars than this cannot be distinguished; each bar then shows the largest of several partitions. */
export const BARS_MAX = 80;

export function balance(
  caption: Caption,
  {
    spreads,
    endOverAverage,
    tone,
  }: {
    readonly spreads: readonly PartitionSpread[];
    /** How many times the average the height of a half shows. Taller bars are cut. */
    readonly endOverAverage: number;
    readonly tone: string;
  },
): Markup {
  const rowHeight = LABEL + 2 * HALF + GAP;
  return picture(
    caption,
    { height: spreads.length * rowHeight - GAP + 2, tone },
    spreads.map((spread, index) => {
      const top = index * rowHeight + LABEL;
      const baseline = top + HALF;
      const tall = (overAverage: number): number =>
        (Math.min(overAverage, endOverAverage) / endOverAverage) * HALF;
      const barsOf = (shares: readonly number[], style: string, up: boolean): readonly Markup[] => {
        const shown = grouped(shares);
        const width = WIDTH / Math.max(1, shown.length);
        const gap = Math.min(2, width * 0.18);
        return shown.map((share, bar) => {
          const height = tall(share * shares.length);
          const y = up ? baseline - height : baseline + 1;
          return box({ x: bar * width, y, width: width - gap, height }, style);
        });
      };
      return [
        text(spread.label, { x: 0, y: top - 6, style: 'strong' }),
        text(`data ${spread.dataFigure} · writes ${spread.writesFigure}`, {
          x: WIDTH,
          y: top - 6,
          anchor: 'end',
          style: 'axis',
        }),
        barsOf(spread.data, 'full', true),
        barsOf(spread.writes, 'half', false),
        line([0, baseline - tall(1)], [WIDTH, baseline - tall(1)], 'even'),
        line([0, baseline + 1 + tall(1)], [WIDTH, baseline + 1 + tall(1)], 'even'),
        line([0, baseline + 0.5], [WIDTH, baseline + 0.5], 'base'),
      ];
    }),
  );
}

/** Returns at most BARS_MAX shares: the largest of each run of neighbours. */
function grouped(shares: readonly number[]): readonly number[] {
  if (shares.length <= BARS_MAX) return shares;
  const size = Math.ceil(shares.length / BARS_MAX);
  return Array.from({ length: Math.ceil(shares.length / size) }, (_none, index) =>
    Math.max(...shares.slice(index * size, (index + 1) * size)),
  );
}
