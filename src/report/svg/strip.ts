/**
 * Steps that follow each other as one strip over time, with a band below it for a state that lasted over some of them.
 * Widths are percentages, so that the strip fits every screen and paper.
 */
import { at, markup, type Markup } from './markup.ts';
import type { Caption } from './picture.ts';

export interface StripPart {
  readonly fromMs: number;
  readonly toMs: number;
  /** All that the part shows, for a pointer. */
  readonly title: string;
  /** The class that sets its colour. */
  readonly tone: string;
}

const [HEIGHT, STRIP, BAND] = [40, 24, 8] as const;

export function strip(
  { id, title, description }: Caption,
  { parts, band }: { readonly parts: readonly StripPart[]; readonly band: StripPart | null },
): Markup {
  const fromMs = Math.min(...parts.map((part) => part.fromMs));
  const spanMs = Math.max(1, Math.max(...parts.map((part) => part.toMs)) - fromMs);
  const part = (one: StripPart, y: number, height: number, style: string): Markup => {
    const x = Math.max(0, (one.fromMs - fromMs) / spanMs);
    const width = Math.min(1 - x, (one.toMs - one.fromMs) / spanMs);
    return markup`<rect class="${style} ${one.tone}" x="${at(x * 100)}%" y="${y}" width="${at(width * 100)}%" height="${height}"><title>${one.title}</title></rect>`;
  };
  return markup`<svg class="strip" width="100%" height="${HEIGHT}" role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d"><title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>${[
    markup`<rect class="track" x="0" y="0" width="100%" height="${STRIP}"/>`,
    parts.map((one) => part(one, 0, STRIP, 'bar full')),
    band === null ? null : part(band, STRIP + 4, BAND, 'rest'),
  ]}</svg>`;
}
