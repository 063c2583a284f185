/**
 * The physical partitions of a container as tiles over the hash space. The width of a tile is its share of the space, its
 * strength how busy it is. Widths are percentages, so that texts keep their size on every screen. A line of text that
 * does not fit is shortened or left out; its tile has all of it as a title.
 */
import { at, markup, type Markup } from './markup.ts';
import type { Caption } from './picture.ts';

export interface Tile {
  /** Where it begins and ends, as shares of the hash space. */
  readonly from: number;
  readonly to: number;
  /** What is written on it. */
  readonly lines: readonly [size: TileLine, pace: TileLine];
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

export interface TileLine {
  readonly whole: string;
  /** What is shown instead where the whole does not fit. */
  readonly short: string;
  /** What is shown on a tile that is too small even for that. */
  readonly tiny?: string;
}

const LEVELS = 8;
/** Where the two lines of text stand. */
const HEIGHTS = ['33%', '68%'] as const;
/** How wide a picture is at least on a phone, on a laptop, and on a screen of 1240 px or more. */
const WIDTHS = { phone: 310, laptop: 700, wide: 1090 } as const;
/** The width of a letter, and of the space around a text. */
const [LETTER, SPACE] = [7.4, 12];
/** Where the text of a tiny tile begins. */
const TINY_X = 4;
/** How strong the colour of a tile may be, of 1: its text has to be readable on it. */
export const TILE_STRENGTH = 0.42;
export const TILE_STYLE = `.tile [class^=heat]{opacity:${TILE_STRENGTH}}`;

export function tiles({ id, title, description }: Caption, list: readonly Tile[]): Markup {
  return markup`<svg class="tiles" role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${list.map(tile)}</svg>`;
}

function tile({ from, to, lines, heat, tone, isMarked, isFresh, title }: Tile): Markup {
  const level = heat <= 0 ? 0 : Math.max(1, Math.min(LEVELS, Math.ceil(heat * LEVELS)));
  return markup`<svg class="tile ${tone}" x="${at(from * 100)}%" width="${at((to - from) * 100)}%" height="100%"><title>${title}</title>${[
    box('track'),
    level === 0 ? null : box(`heat${level}`),
    isMarked ? markup`<rect class="rest" x="1" y="88%" width="100%" height="12%"/>` : null,
    isFresh ? markup`<rect class="fresh" x="1" width="100%" height="12%"/>` : null,
  ]}${lines.map((one, index) =>
    labels(one, to - from).map(
      ([content, style]) =>
        markup`<text class="${style}" x="${content === one.tiny ? TINY_X : 8}" y="${HEIGHTS[index] ?? ''}" dy=".35em">${content}</text>`,
    ),
  )}</svg>`;
}

const box = (style: string): Markup => markup`<rect class="${style}" x="1" width="100%" height="100%"/>`;

/** Returns what stands on a tile of this share: the whole where it fits, and where only the short text does, that. */
function labels(
  { whole, short, tiny = '' }: TileLine,
  share: number,
): Array<readonly [content: string, style: string]> {
  const [first, other] = [screenFor(whole, share), screenFor(short, share)];
  if (first === 'phone') return [[whole, '']];
  const small = [
    [whole, `from-${first}`],
    [short, `from-${other} until-${first}`],
  ] as const;
  if (other === 'phone' || tiny === '') return [...small];
  return [...small, [tiny, `from-${screenFor(tiny, share, TINY_X * 1.5)} until-${other}`]];
}

/** Returns the smallest screen on which a tile has space for a text. */
function screenFor(text: string, share: number, space = SPACE): keyof typeof WIDTHS | 'none' {
  const needed = (text.length * LETTER + space) / share;
  if (needed <= WIDTHS.phone) return 'phone';
  if (needed <= WIDTHS.laptop) return 'laptop';
  return needed <= WIDTHS.wide ? 'wide' : 'none';
}
