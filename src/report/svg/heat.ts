/**
 * A heat map: amounts by row and column, in a few levels of one colour. The levels grow with the square of the amount, so
 * that ordinary cells can still be seen next to the busiest one. Each level is one path, which keeps a page small.
 */
import { at, Markup, markup, type Insertable } from './markup.ts';
import { picture, text, WIDTH, type Caption } from './picture.ts';

export const LEVELS = 8;
const ROWS_SHOWN = 64;
const HEIGHT = 150;
const LABEL = 18;
const AXIS = 18;
const GAP = 16;
/** The side of a map before it is stretched: whole numbers for 64 rows and columns keep the paths short. */
const SIDE = 128;

/** One map. Maps of one picture stand next to each other and share the axes. */
export interface HeatShape {
  readonly label: string;
  readonly tone: string;
  /** From `heatShape`: a unit square, which the picture stretches. */
  readonly content: Markup;
}

export function heat(
  caption: Caption,
  { maps, from, to }: { readonly maps: readonly HeatShape[]; readonly from: string; readonly to: string },
): Markup {
  const width = (WIDTH - (maps.length - 1) * GAP) / maps.length;
  return picture(
    caption,
    { height: LABEL + HEIGHT + AXIS },
    maps.map(({ label, tone, content }, index) => {
      const x = index * (width + GAP);
      return [
        text(label, { x, y: 11, style: `strong tinted ${tone}` }),
        markup`<svg x="${at(x)}" y="${LABEL}" width="${at(width)}" height="${HEIGHT}" viewBox="0 0 ${SIDE} ${SIDE}" preserveAspectRatio="none" class="${tone}">${content}</svg>`,
        text(from, { x, y: LABEL + HEIGHT + 14, style: 'axis' }),
        text(to, { x: x + width, y: LABEL + HEIGHT + 14, anchor: 'end', style: 'axis' }),
      ];
    }),
  );
}

/** Draws amounts by row and column. `most` is the largest amount in all maps that are compared. */
export function heatShape(rows: ReadonlyArray<readonly number[]>, most: number): Markup {
  const shown = shrink(rows);
  const columnWidth = SIDE / Math.max(1, ...shown.map(({ length }) => length));
  const rowHeight = SIDE / Math.max(1, shown.length);
  const paths = Array.from({ length: LEVELS + 1 }, () => '');
  shown.forEach((row, index) => {
    let start = 0;
    for (let column = 1; column <= row.length; column += 1) {
      const level = levelOf(row[start] ?? 0, most);
      if (column < row.length && levelOf(row[column] ?? 0, most) === level) continue;
      const width = short((column - start) * columnWidth);
      if (level > 0)
        paths[level] +=
          `M${short(start * columnWidth)} ${short(index * rowHeight)}h${width}v${short(rowHeight)}h-${width}z`;
      start = column;
    }
  });
  return markup`<rect x="0" y="0" width="${SIDE}" height="${SIDE}" class="track"/>${paths.map((path, level): Insertable => (path === '' ? null : markup`<path d="${new Markup(path)}" class="heat${level}"/>`))}`;
}

/** Returns the largest amount of a cell as it is shown. */
export function mostOf(rows: ReadonlyArray<readonly number[]>): number {
  return Math.max(0, ...shrink(rows).flat());
}

/** The scale of the levels, as a row of squares. */
export function heatScale(tone: string): Markup {
  const squares = Array.from(
    { length: LEVELS },
    (_none, level) => markup`<rect x="${level * 14}" y="0" width="13" height="10" class="heat${level + 1}"/>`,
  );
  return markup`<svg class="scale ${tone}" viewBox="0 0 ${LEVELS * 14} 10" aria-hidden="true" focusable="false">${squares}</svg>`;
}

function levelOf(amount: number, most: number): number {
  if (amount <= 0 || most <= 0) return 0;
  return Math.max(1, Math.min(LEVELS, Math.ceil(LEVELS * Math.sqrt(amount / most))));
}

/** Adds neighbouring rows until few enough are left. */
function shrink(rows: ReadonlyArray<readonly number[]>): ReadonlyArray<readonly number[]> {
  const size = Math.ceil(rows.length / ROWS_SHOWN);
  if (size <= 1) return rows;
  return Array.from({ length: Math.ceil(rows.length / size) }, (_none, index) => {
    const [first = [], ...others] = rows.slice(index * size, (index + 1) * size);
    return first.map((amount, column) => others.reduce((sum, row) => sum + (row[column] ?? 0), amount));
  });
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
