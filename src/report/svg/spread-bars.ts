/**
 * How an amount is spread over the physical partitions of one container: a bar for each, as wide as its share of the
 * hash space and as tall as its share of the amount, against the line of an even share. Widths are percentages, so that
 * labels keep their size on every screen and on paper.
 */
import { formatShare } from '../../lib/counting.ts';
import { at, markup, type Markup } from './markup.ts';
import type { Caption } from './picture.ts';

export interface SpreadBar {
  /** Where it begins and ends, as shares of the hash space. */
  readonly from: number;
  readonly to: number;
  /** Its share of the amount. */
  readonly share: number;
  /** All that the bar shows, for a pointer. */
  readonly title: string;
}

const LABEL = 20;
const TALL = 96;
const HEIGHT = LABEL + TALL + 2;
/** Closer to an edge than this share of the width, a label begins or ends at its bar. */
const EDGE = 0.12;

/** `end`: the share that has the full height, so that pictures next to each other can be compared. */
export function spreadBars(
  { id, title, description }: Caption,
  { bars, end, tone }: { readonly bars: readonly SpreadBar[]; readonly end: number; readonly tone: string },
): Markup {
  const fullest = bars.toSorted((one, other) => other.share - one.share)[0];
  const y = (share: number): number => LABEL + TALL * (1 - (end <= 0 ? 0 : Math.min(1, share / end)));
  const even = y(1 / Math.max(1, bars.length));
  return markup`<svg class="spread ${tone}" width="100%" height="${HEIGHT}" role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${[
    markup`<rect class="track" x="0" y="${LABEL}" width="100%" height="${TALL}"/>`,
    bars.map(
      (bar) =>
        markup`<rect class="bar ${bar === fullest ? 'full' : 'half'}" x="${at(bar.from * 100)}%" y="${at(y(bar.share))}" width="${at((bar.to - bar.from) * 100)}%" height="${at(LABEL + TALL - y(bar.share))}"><title>${bar.title}</title></rect>`,
    ),
    markup`<line class="even" x1="0" x2="100%" y1="${at(even)}" y2="${at(even)}"/>`,
    markup`<line class="base" x1="0" x2="100%" y1="${LABEL + TALL}" y2="${LABEL + TALL}"/>`,
    fullest === undefined ? null : label(fullest, y(fullest.share)),
  ]}</svg>`;
}

/** The figure of the fullest bar, above it. */
function label({ from, to, share }: SpreadBar, top: number): Markup {
  const middle = (from + to) / 2;
  const [x, anchor] = middle < EDGE ? [from, 'start'] : middle > 1 - EDGE ? [to, 'end'] : [middle, 'middle'];
  return markup`<text class="strong" x="${at(x * 100)}%" y="${at(top - 6)}" text-anchor="${anchor}">${formatShare(share)}</text>`;
}
