/**
 * The frame of every picture: an SVG that scales with its column and that a screen reader announces by its title and
 * describes by its text alternative. Invariant: what a picture shows is also in its description.
 */
import { printableLine } from '../../lib/json/printable.ts';
import { cutToColumns } from '../width.ts';
import { at, markup, type Insertable, type Markup } from './markup.ts';

/** The width of a picture in a column of its own. Texts have their natural size at this width. */
export const WIDTH = 340;

export interface Caption {
  /** Unique on the page. */
  readonly id: string;
  readonly title: string;
  /** All that the picture shows, as sentences. */
  readonly description: string;
}

/** Returns a picture. `tone` is the class that sets its colour, such as `k1`. */
export function picture(
  { id, title, description }: Caption,
  {
    width = WIDTH,
    height,
    tone = '',
  }: { readonly width?: number; readonly height: number; readonly tone?: string },
  body: Insertable,
): Markup {
  return markup`<svg class="picture ${tone}" viewBox="0 0 ${at(width)} ${at(height)}" role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${body}</svg>`;
}

export interface TextPosition {
  readonly x: number;
  readonly y: number;
  readonly anchor?: 'start' | 'middle' | 'end';
  /** Classes of the style of pictures: `axis`, `strong`, `value`. */
  readonly style?: string;
  /** The columns that the text may take; a longer text is cut, and its title has the whole. */
  readonly columns?: number;
}

export function text(content: string, { x, y, anchor = 'start', style = '', columns }: TextPosition): Markup {
  // Escapes are longer than what they stand for, so the text is cut after they are in it.
  const safe = printableLine(content);
  const shown = columns === undefined ? safe : cutToColumns(safe, columns);
  const whole = shown === safe ? null : markup`<title>${safe}</title>`;
  return markup`<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" class="${style}">${whole}${shown}</text>`;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function box({ x, y, width, height }: Box, style: string, radius = 0): Markup {
  return markup`<rect x="${at(x)}" y="${at(y)}" width="${at(Math.max(0, width))}" height="${at(height)}" rx="${radius}" class="${style}"/>`;
}

export function line(
  from: readonly [x: number, y: number],
  to: readonly [x: number, y: number],
  style: string,
): Markup {
  return markup`<line x1="${at(from[0])}" y1="${at(from[1])}" x2="${at(to[0])}" y2="${at(to[1])}" class="${style}"/>`;
}
