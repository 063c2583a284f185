/** Ranges as rows of a table. There may be hundreds: a few are listed, the others summed up, all of them are in --json. */
import { formatCount } from '../lib/counting.ts';
import type { TextRow } from './format.ts';

interface ListedRange {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly documents: number;
  readonly phase?: string;
}

const LISTED_MAX = 8;

/** The first ranges that `isWorthListing`, unless all of them fit; then one row for the others. */
export function rangeRows(
  ranges: readonly ListedRange[],
  isWorthListing: (range: ListedRange) => boolean = () => true,
): TextRow[] {
  const listed = ranges.length <= LISTED_MAX ? ranges : ranges.filter(isWorthListing).slice(0, LISTED_MAX);
  const hasPhases = ranges.some(({ phase }) => phase !== undefined);
  const row = (name: string, phase: string, documents: number, rest: string): TextRow => [
    `  ${name}`,
    `${hasPhases ? phase.padEnd(6) : ''}${formatCount(documents).padStart(14)}  ${rest}`,
  ];
  const rows = listed.map(({ id, min, max, documents, phase = '' }) =>
    row(id, phase, documents, `[${shorten(min)}, ${shorten(max)})`),
  );
  const others = ranges.filter((range) => !listed.includes(range));
  if (others.length === 0) return rows;
  const documents = others.reduce((sum, range) => sum + range.documents, 0);
  const name = listed.length === 0 ? 'all of them' : `${formatCount(others.length)} more`;
  return [...rows, row(name, '', documents, 'one by one with --json')];
}

/** The first digits of a bound are enough to distinguish ranges. */
function shorten(bound: string): string {
  return bound.length <= 8 ? bound : `${bound.slice(0, 8)}..`;
}
