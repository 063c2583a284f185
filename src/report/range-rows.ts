/**
 * Renders ranges as rows of a table. There may be hundreds: the table lists a few and sums up the others, and --json
 * contains all of them.
 */
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

/**
 * Returns a row for each range if all of them fit. Otherwise returns rows for the first ranges that `isWorthListing`
 * accepts, and one row for all others.
 */
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

/** Returns the first digits of a bound, which are enough to distinguish ranges. */
function shorten(bound: string): string {
  return bound.length <= 8 ? bound : `${bound.slice(0, 8)}..`;
}
