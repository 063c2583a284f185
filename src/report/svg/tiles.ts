/**
 * The physical partitions of a container as tiles over the hash space. The width of a tile is its share of the space, its
 * strength how busy it is. Widths are percentages, so that labels keep their size on every screen. A label that
 * does not fit is shortened or left out; its tile has all of it as a title.
 */
import { at, markup, type Markup } from './markup.ts';
import type { Caption } from './picture.ts';

export interface Tile {
  /** Where it begins and ends, as shares of the hash space. */
  readonly from: number;
  readonly to: number;
  readonly label: string;
  /** What is shown instead where the label does not fit. */
  readonly short: string;
  /** From 0 (idle) to 1 (as busy as it may be). */
  readonly heat: number;
  /** The class that sets its colour. */
  readonly tone: string;
  /** Draws a mark: it rests after a 429. */
  readonly isMarked: boolean;
  /** Draws another mark: it is new. */
  readonly isFresh: boolean;
  /** All that the tile shows, for a pointer. */
  readonly title: string;
}

const LEVELS = 8;
/** How wide a picture is at least on a phone, on a laptop, and on a screen of 1240 px or more. */
const WIDTHS = { phone: 310, laptop: 700, wide: 1090 } as const;
/** The width of a letter of a label, and of the space around a label. */
const [LETTER, SPACE] = [7.4, 12];
/** A tile that is stronger than this needs a light label. */
const STRONG = 4;

export function tiles({ id, title, description }: Caption, list: readonly Tile[]): Markup {
  return markup`<svg class="tiles" role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${list.map(tile)}</svg>`;
}

function tile({ from, to, label, short, heat, tone, isMarked, isFresh, title }: Tile): Markup {
  const level = heat <= 0 ? 0 : Math.max(1, Math.min(LEVELS, Math.ceil(heat * LEVELS)));
  return markup`<svg class="tile ${tone}" x="${at(from * 100)}%" width="${at((to - from) * 100)}%" height="100%"><title>${title}</title>${[
    box('track'),
    level === 0 ? null : box(`heat${level}`),
    isMarked ? markup`<rect class="rest" x="1" y="88%" width="100%" height="12%"/>` : null,
    isFresh ? markup`<rect class="fresh" x="1" width="100%" height="12%"/>` : null,
  ]}${labels(label, short, to - from).map(
    ([content, style]) =>
      markup`<text class="${style} ${level > STRONG ? 'on-tile' : ''}" x="8" y="50%" dy=".35em">${content}</text>`,
  )}</svg>`;
}

const box = (style: string): Markup => markup`<rect class="${style}" x="1" width="100%" height="100%"/>`;

/** Returns what stands on a tile of this share: the label where it fits, and where only the short one does, that. */
function labels(
  label: string,
  short: string,
  share: number,
): Array<readonly [content: string, style: string]> {
  const [whole, other] = [screenFor(label, share), screenFor(short, share)];
  if (whole === 'phone') return [[label, '']];
  return [
    [label, `from-${whole}`],
    [short, `from-${other} until-${whole}`],
  ];
}

/** Returns the smallest screen on which a tile has space for a label. */
function screenFor(label: string, share: number): keyof typeof WIDTHS | 'none' {
  const needed = (label.length * LETTER + SPACE) / share;
  if (needed <= WIDTHS.phone) return 'phone';
  if (needed <= WIDTHS.laptop) return 'laptop';
  return needed <= WIDTHS.wide ? 'wide' : 'none';
}
