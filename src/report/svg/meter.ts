/**
 * Small pictures for a cell of a table: a bar with an optional limit, and a bar that is divided into shares. They are
 * decoration for a figure that stands next to them as text, and screen readers skip them.
 */
import { at, markup, type Markup } from './markup.ts';
import { box, picture, WIDTH, type Caption } from './picture.ts';

/** Draws a figure against the largest one, and against a limit if there is one. */
export function meter(
  value: number,
  {
    end,
    limit = null,
    tone,
  }: { readonly end: number; readonly limit?: number | null; readonly tone: string },
): Markup {
  const x = (figure: number): number => (end <= 0 ? 0 : Math.min(1, figure / end) * 100);
  // Shares of the width, and no frame to be stretched: the round ends stay round at any width.
  const bar = (width: number, style: string): Markup =>
    markup`<rect y="12.5%" width="${at(width)}%" height="75%" rx="3" class="${style}"/>`;
  return markup`<svg class="meter ${tone}" aria-hidden="true" focusable="false">${[
    bar(100, 'track'),
    value > 0 ? bar(Math.max(2, x(value)), 'full') : null,
    limit === null || limit > end
      ? null
      : markup`<line x1="${at(x(limit))}%" y1="0" x2="${at(x(limit))}%" y2="100%" class="limit"/>`,
  ]}</svg>`;
}

export interface Share {
  readonly name: string;
  readonly share: number;
  /** The class that fills it. */
  readonly style: string;
}

/** Draws shares of one whole as one bar. */
export function shareBar(caption: Caption, shares: readonly Share[], tone: string): Markup {
  let x = 0;
  return picture(
    caption,
    { height: 22, tone },
    shares
      .filter(({ share }) => share > 0)
      .map(({ share, style }) => {
        const from = x;
        x += share * WIDTH;
        return box({ x: from, y: 2, width: share * WIDTH - 1, height: 18 }, style, 2);
      }),
  );
}
