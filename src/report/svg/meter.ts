/**
 * Small pictures for a cell of a table: a bar with an optional limit, and a bar that is divided into shares. They are
 * decoration for a figure that stands next to them as text, and screen readers skip them.
 */
import { at, markup, type Markup } from './markup.ts';
import { box, line, picture, WIDTH, type Caption } from './picture.ts';

const METER = { width: 96, height: 8 } as const;

/** Draws a figure against the largest one, and against a limit if there is one. */
export function meter(
  value: number,
  {
    end,
    limit = null,
    tone,
  }: { readonly end: number; readonly limit?: number | null; readonly tone: string },
): Markup {
  const x = (figure: number): number => (end <= 0 ? 0 : Math.min(1, figure / end) * METER.width);
  return markup`<svg class="meter ${tone}" viewBox="0 0 ${METER.width} ${METER.height}" preserveAspectRatio="none" aria-hidden="true" focusable="false">${[
    box({ x: 0, y: 1, width: METER.width, height: 6 }, 'track', 3),
    box({ x: 0, y: 1, width: value > 0 ? Math.max(2, x(value)) : 0, height: 6 }, 'full', 3),
    limit === null || limit > end ? null : line([at(x(limit)), 0], [at(x(limit)), METER.height], 'limit'),
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
