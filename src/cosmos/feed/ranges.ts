/**
 * The physical ranges of a container. Invariant: a list of ranges is used only if it tiles the whole key space, with no
 * gap and no overlap, so no range is ever forgotten. Any other list counts as trouble that may pass.
 */
import type { FeedOptions } from '@azure/cosmos';
import { assert } from '../../lib/assert.ts';
import { TroubleError, troubleOf } from '../transport/trouble.ts';
import type { Call, ContainerRequests } from '../transport/container-requests.ts';
import { memberOf } from '../../lib/json/json.ts';

/** An interval of effective keys, as upper-case hex: from `min`, up to and excluding `max`. */
export interface Interval {
  readonly min: string;
  readonly max: string;
}

export interface PhysicalRange extends Interval {
  readonly id: string;
  /** Ids of the ranges from which this range was split or merged, the oldest first. */
  readonly parents: readonly string[];
}

/** What one reader reads: a physical range, or after a merge the part of it that the reader had before. */
export interface FeedRange extends Interval {
  readonly range: PhysicalRange;
}

export const WHOLE: Interval = { min: '', max: 'FF' };
/** The most pages of the list. A page has at least a thousand ranges, so a container has far fewer pages. */
const PAGES_MAX = 100;

/** Reads all ranges of a container, in the order of the key space; throws a TroubleError if they do not tile it. */
export async function readRanges(
  requests: Pick<ContainerRequests, 'feed' | 'is'>,
  call: Call,
): Promise<readonly PhysicalRange[]> {
  try {
    return await listRanges(requests, call);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble?.rangesOf !== null || requests.is === undefined) throw error;
    throw new TroubleError({ ...trouble, rangesOf: requests.is });
  }
}

async function listRanges(
  requests: Pick<ContainerRequests, 'feed'>,
  call: Call,
): Promise<readonly PhysicalRange[]> {
  const listed: PhysicalRange[] = [];
  let continuation: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const options: FeedOptions = continuation === undefined ? {} : { continuationToken: continuation };
    const exchange = await requests.feed({ ...call, what: 'pkranges', options });
    if (!exchange.ok) throw new TroubleError(exchange.trouble);
    listed.push(...parseRanges(exchange.reply.body));
    continuation = exchange.reply.header('x-ms-continuation');
    if (continuation === undefined || continuation === '') return tile(listed);
  }
  throw unusable('the list of ranges does not end');
}

/** Returns the ranges in the order of the key space, without split parents; throws if they do not tile it. */
export function tile(listed: readonly PhysicalRange[]): readonly PhysicalRange[] {
  // Right after a split the service may still list the parents.
  const gone = new Set(listed.flatMap(({ parents }) => parents));
  const unique = new Map(listed.filter(({ id }) => !gone.has(id)).map((range) => [range.id, range]));
  const ranges = inOrder([...unique.values()]);
  const fault = gapOrOverlap(ranges, WHOLE);
  if (fault !== undefined) throw unusable(fault);
  return ranges;
}

function inOrder(ranges: readonly PhysicalRange[]): PhysicalRange[] {
  return ranges.toSorted((a, b) => (a.min < b.min ? -1 : a.min > b.min ? 1 : 0));
}

/** Returns what prevents ordered intervals from covering `whole`; undefined if they do cover it. */
export function gapOrOverlap(intervals: readonly Interval[], whole: Interval): string | undefined {
  let at = whole.min;
  for (const { min, max } of intervals) {
    if (min > at) return `there is a gap in the list of ranges at '${at}'`;
    if (min < at || max <= min) return `the list of ranges overlaps at '${min}'`;
    at = max;
  }
  return at === whole.max ? undefined : `there is a gap in the list of ranges at '${at}'`;
}

/** Returns the whole range, for its first reader. */
export function wholeOf(range: PhysicalRange): FeedRange {
  return { range, min: range.min, max: range.max };
}

/** Whether a reader reads only a part of its physical range. */
export function isPart({ range, min, max }: FeedRange): boolean {
  return range.min !== min || range.max !== max;
}

/**
 * Finds where the keys of a reader are now: returns the same reader, or its children, each of which continues at the
 * position of its parent. If nothing has changed, the service has not finished splitting the range, and the caller
 * waits and calls again.
 */
export function remap(
  ranges: readonly PhysicalRange[],
  reader: FeedRange,
): { readonly changed: boolean; readonly readers: readonly FeedRange[] } {
  const readers = inOrder(ranges)
    .filter(({ min, max }) => min < reader.max && max > reader.min)
    .map((range) => ({
      range,
      min: range.min > reader.min ? range.min : reader.min,
      max: range.max < reader.max ? range.max : reader.max,
    }));
  assert(gapOrOverlap(readers, reader) === undefined, 'the children of a range cover it');
  const [only] = readers;
  return { changed: readers.length !== 1 || only?.range.id !== reader.range.id, readers };
}

function parseRanges(body: Buffer): PhysicalRange[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw unusable('the list of ranges cannot be read', error);
  }
  const list = memberOf(parsed, 'PartitionKeyRanges');
  if (!Array.isArray(list)) throw unusable('the reply has no list of ranges');
  return list.map(parseRange);
}

function parseRange(listed: unknown): PhysicalRange {
  const id = memberOf(listed, 'id');
  const [min, max] = [memberOf(listed, 'minInclusive'), memberOf(listed, 'maxExclusive')];
  const parents = memberOf(listed, 'parents') ?? [];
  if (typeof id !== 'string' || typeof min !== 'string' || typeof max !== 'string' || !Array.isArray(parents))
    throw unusable('a range in the list is described incompletely');
  return { id, min: min.toUpperCase(), max: max.toUpperCase(), parents: parents.map(String) };
}

function unusable(what: string, cause?: unknown): TroubleError {
  const known = { kind: 'transient', status: 200, substatus: 0, chargeRu: 0, rangesOf: null } as const;
  return new TroubleError({ ...known, what, cause });
}
