/**
 * The physical ranges of a container. They always tile '' .. 'FF'; every document belongs to the one range
 * that holds its effective key. A range has its own LSN, which never falls: the children of a split go on
 * from their parent's, a merged range from the higher of the two, so a parent's position is valid on both.
 */
import { middleOf } from '../../epk/bounds.ts';
import type { KeyKind } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import type { RangeRow } from '../storage/catalog-store.ts';
import { Refusal } from '../http/refusal.ts';

export interface RangeModel {
  readonly id: number;
  readonly min: string;
  readonly max: string;
  readonly parents: readonly number[];
  lsn: number;
  documents: number;
  bytes: number;
  /** AVAD positions below this are no longer served. */
  avadFloor: number;
  /** While it is being split (machine time): requests answer 410/1007 until then. */
  splittingUntilMs: number | undefined;
  /** Recent transactions, kept only while a replica lags: what it has seen by when. */
  commits: { lsn: number; atMs: number }[];
}

export function rangeFromRow(row: RangeRow): RangeModel {
  return {
    id: row.id,
    min: row.min,
    max: row.max,
    parents: JSON.parse(row.parents) as number[],
    lsn: row.lsn,
    documents: row.documents,
    bytes: row.bytes,
    avadFloor: row.avad_floor,
    splittingUntilMs: undefined,
    commits: [],
  };
}

export function rangeToRow(container: number, range: RangeModel): RangeRow {
  return {
    container,
    id: range.id,
    min: range.min,
    max: range.max,
    parents: JSON.stringify(range.parents),
    lsn: range.lsn,
    documents: range.documents,
    bytes: range.bytes,
    avad_floor: range.avadFloor,
  };
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

/** The range that holds an effective key; `ranges` are sorted by min. */
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

/** A range by the id that a request names; a gone or splitting one answers as the service does. */
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
 * The bound nearest to the middle of a range that parts two of its keys, found by halving towards them;
 * undefined when they have one hash. Under a hierarchical key all may lie below one prefix, in a sliver of it.
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

/** The two halves of a range, not yet filled. */
export function halvesOf(kind: KeyKind, range: RangeModel, nextId: number): [RangeModel, RangeModel] {
  const middle = middleOf(kind, range.min, range.max);
  if (middle === undefined) throw new Refusal(400, `Range ${range.id} is too narrow to be split.`);
  return splitAt(range, middle, nextId);
}

/** What is below a bound within a range and what is not, not yet filled. */
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

/** One range in place of two neighbours, not yet filled. */
export function unionOf(left: RangeModel, right: RangeModel, id: number): RangeModel {
  if (left.max !== right.min) {
    throw new Refusal(400, `Ranges ${left.id} and ${right.id} are not neighbours and cannot be merged.`);
  }
  return {
    ...newRange(id, left.min, right.max),
    parents: [...new Set([...left.parents, left.id, ...right.parents, right.id])],
    lsn: Math.max(left.lsn, right.lsn),
    avadFloor: Math.max(left.avadFloor, right.avadFloor),
  };
}
