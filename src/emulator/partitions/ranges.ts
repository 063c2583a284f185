/**
 * The physical ranges of a container.
 *
 * Invariant: they tile '' .. 'FF', and a document belongs to the one range that contains its effective key. The LSN of a
 * range never falls. The children of a split continue from their parent's LSN, a merged range from the higher of the
 * two, so a position of a parent is valid on its children.
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
  /** Positions of all-versions feeds below this LSN are no longer served. */
  avadFloor: number;
  /** During a split: requests answer 410/1007 until this machine time. */
  splittingUntilMs: number | undefined;
  /** Recent transactions, kept only while `replicaLagMs` is set: what a lagging replica has seen at which time. */
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

/** The range that contains an effective key; `ranges` are sorted by min. */
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

/** The range that a request names; if it is gone or being split, the refusal is the service's. */
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
 * The bound nearest to the middle of a range that separates two of its keys, found by halving towards them; undefined
 * when both have the same hash. With a hierarchical key all documents may lie below one prefix, in a sliver of the range.
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

/** The two halves of a range, still without documents. */
export function halvesOf(kind: KeyKind, range: RangeModel, nextId: number): [RangeModel, RangeModel] {
  const middle = middleOf(kind, range.min, range.max);
  if (middle === undefined) throw new Refusal(400, `Range ${range.id} is too narrow to be split.`);
  return splitAt(range, middle, nextId);
}

/** The parts of a range below and above a bound, still without documents. */
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

/** One range in place of two neighbours, still without documents. */
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
