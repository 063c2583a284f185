/**
 * The physical partitions of a container as tiles over the hash space. The width of a tile is its share of the space, its
 * strength how busy it is. Widths are percentages, so that labels keep their size on every screen; a label that does not
 * fit is cut off by its tile.
 */
import { at, markup, type Markup } from './markup.ts';
import type { Caption } from './picture.ts';

export interface Tile {
  /** Where it begins and ends, as shares of the hash space. */
  readonly from: number;
  readonly to: number;
  readonly label: string;
  /** From 0 (idle) to 1 (as busy as it may be). */
  readonly heat: number;
  /** The class that sets its colour. */
  readonly tone: string;
  /** Draws a mark: it rests after a 429. */
  readonly isMarked: boolean;
  /** All that the tile shows, for a pointer. */
  readonly title: string;
}

const HEIGHT = 46;
const LEVELS = 8;
/** A tile that is stronger than this needs a light label. */
const STRONG = 4;

export function tiles({ id, title, description }: Caption, list: readonly Tile[]): Markup {
  return markup`<svg class="tiles" width="100%" height="${HEIGHT}" role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${list.map(tile)}</svg>`;
}

function tile({ from, to, label, heat, tone, isMarked, title }: Tile): Markup {
  const level = heat <= 0 ? 0 : Math.max(1, Math.min(LEVELS, Math.ceil(heat * LEVELS)));
  const filled = (style: string, y: number): Markup =>
    markup`<rect class="${style}" x="1" y="${y}" width="100%" height="${HEIGHT - y}"/>`;
  return markup`<svg class="tile ${tone}" x="${at(from * 100)}%" width="${at((to - from) * 100)}%" height="${HEIGHT}"><title>${title}</title>${[
    filled('track', 0),
    level === 0 ? null : filled(`heat${level}`, 0),
    isMarked ? filled('rest', HEIGHT - 5) : null,
  ]}<text class="${level > STRONG ? 'on-tile' : ''}" x="8" y="${HEIGHT / 2 + 4}">${label}</text></svg>`;
}
