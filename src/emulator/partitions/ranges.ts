/**
 * The physical ranges of a container.
 *
 * Invariant: the ranges cover '' .. 'FF' without gaps or overlaps, and a document belongs to the range that contains
 * its effective key. The LSN of a range never falls. The children of a split continue from their parent's LSN, and a
 * merged range from the higher LSN of the two, so a position of a parent is valid on its children.
 */
import { middleOf } from '../../epk/bounds.ts';
import type { KeyKind } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import type { RangeRow } from '../storage/catalog-store.ts';
import { badRequest, Refusal } from '../http/refusal.ts';

export interface RangeModel {
  readonly id: number;
  readonly min: string;
  readonly max: string;
  readonly parents: readonly number[];
  lsn: number;
  documents: number;
  bytes: number;
  /** The LSN below which positions of all-versions feeds are refused. */
  avadFloor: number;
  /** The machine time until which requests are answered with 410/1007, because the range is being split. */
  splittingUntilMs: number | undefined;
  /** Recent transactions and their times. They show what a lagging replica sees. Empty without `replicaLagMs`. */
  commits: { lsn: number; atMs: number }[];
}

export function rangeFromRow(row: RangeRow): RangeModel {
  const { id, min, max, lsn, documents, bytes, avad_floor: avadFloor } = row;
  const parents = JSON.parse(row.parents) as number[];
  return { ...newRange(id, min, max), parents, lsn, documents, bytes, avadFloor };
}

export function rangeToRow(container: number, range: RangeModel): RangeRow {
  const { id, min, max, lsn, documents, bytes, avadFloor } = range;
  const parents = JSON.stringify(range.parents);
  return { container, id, min, max, parents, lsn, documents, bytes, avad_floor: avadFloor };
}

export function newRange(id: number, min: string, max: string): RangeModel {
  return {
    id,
    min,
    max,
    parents: [],
    lsn: 0,
    documents: 0,
    bytes: 0,
    avadFloor: 0,
    splittingUntilMs: undefined,
    commits: [],
  };
}

/** Returns the range that contains an effective key. `ranges` must be sorted by `min`. */
export function rangeOf(ranges: readonly RangeModel[], epk: string): RangeModel {
  let low = 0;
  let high = ranges.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (must(ranges[middle], 'the middle lies between the ends').min <= epk) low = middle;
    else high = middle - 1;
  }
  return must(ranges[low], 'a container has at least one range');
}

/** Returns the range that a request names. Throws the service's refusal if it does not exist or is being split. */
export function rangeById(ranges: readonly RangeModel[], id: string, nowMs: number): RangeModel {
  const range = ranges.find((candidate) => String(candidate.id) === id);
  if (range === undefined) {
    throw new Refusal(410, `The requested partition key range ${id} is gone.`, { substatus: 1002 });
  }
  refuseWhileSplitting(range, nowMs);
  return range;
}

export function refuseWhileSplitting(range: RangeModel, nowMs: number): void {
  if (range.splittingUntilMs !== undefined && nowMs < range.splittingUntilMs) {
    throw new Refusal(410, `Range ${range.id} is completing a split.`, { substatus: 1007 });
  }
}

/**
 * Returns a bound that separates two keys of a range, as near to the middle of the range as repeated halving finds;
 * undefined when both keys have the same hash. Halving is needed because all documents of a hierarchical key may lie
 * below one prefix, in a tiny part of the range.
 */
export function boundBetween(
  kind: KeyKind,
  range: RangeModel,
  { first, last }: { first: string; last: string },
): string | undefined {
  let { min, max } = range;
  for (;;) {
    const middle = middleOf(kind, min, max);
    if (middle === undefined || (first < middle && middle <= last)) return middle;
    if (last < middle) max = middle;
    else min = middle;
  }
}

/** Returns the two halves of a range, without documents yet. */
export function halvesOf(kind: KeyKind, range: RangeModel, nextId: number): [RangeModel, RangeModel] {
  const middle = middleOf(kind, range.min, range.max);
  if (middle === undefined) throw badRequest(`Range ${range.id} is too narrow to be split.`);
  return splitAt(range, middle, nextId);
}

/** Returns the parts of a range below and above a bound, without documents yet. */
export function splitAt(range: RangeModel, bound: string, nextId: number): [RangeModel, RangeModel] {
  const part = (id: number, min: string, max: string): RangeModel => ({
    ...newRange(id, min, max),
    parents: [...range.parents, range.id],
    lsn: range.lsn,
    avadFloor: range.avadFloor,
    commits: [...range.commits],
  });
  return [part(nextId, range.min, bound), part(nextId + 1, bound, range.max)];
}

/** Returns one range that replaces two adjacent ranges, without documents yet. */
export function unionOf(left: RangeModel, right: RangeModel, id: number): RangeModel {
  if (left.max !== right.min) {
    throw badRequest(`Ranges ${left.id} and ${right.id} are not neighbours and cannot be merged.`);
  }
  return {
    ...newRange(id, left.min, right.max),
    parents: [...new Set([...left.parents, left.id, ...right.parents, right.id])],
    lsn: Math.max(left.lsn, right.lsn),
    avadFloor: Math.max(left.avadFloor, right.avadFloor),
  };
}
