/** Owns what the source of the model answers: its ranges, pages of its two feeds, and reads of single documents. */
import { readFeed, type Change, type FeedName } from '../feeds.ts';
import { PLACES, placeOf, type Lag, type Range } from '../source.ts';
import type { Answer, Asked } from './memory-service.ts';
import type { World } from './world.ts';
import {
  borderAt,
  identityOf,
  placeAt,
  sessionToken,
  sourceDocument,
  sourceEtag,
  tenantOf,
  lsnIn,
} from './wire.ts';
import type { Json } from './wire.ts';

export interface SourceRequest {
  readonly pathname: string;
  readonly header: (name: string) => string | undefined;
  /** The operations of a batch; undefined for a page of a feed. */
  readonly operations: readonly Json[] | undefined;
}

const GONE: Answer = { status: 410, headers: { 'x-ms-substatus': '1002' } };
const FORGOTTEN: Answer = { status: 400 };
/** No replica has come as far as the session token says. */
const UNAVAILABLE: Answer = { status: 404, headers: { 'x-ms-substatus': '1002' } };

export function answerSource(world: World, request: SourceRequest): Asked {
  const { pathname, header, operations } = request;
  if (pathname.endsWith('/pkranges'))
    return { name: 'ranges of the source', writes: null, answer: () => listRanges(world) };
  const range = header('x-ms-documentdb-partitionkeyrangeid') ?? '';
  if (operations !== undefined) {
    const names = operations.map(({ partitionKey, id }) => {
      const [tenant] = JSON.parse(String(partitionKey)) as unknown[];
      return identityOf(tenant, id);
    });
    return {
      name: `read ${names.join(' + ')}`,
      writes: null,
      answer: (lag) => readDocuments(world, { names, range, token: header('x-ms-session-token'), lag }),
    };
  }
  const feed = header('a-im')?.toLowerCase() === 'incremental feed' ? 'LV' : 'AVAD';
  const since = header('if-none-match');
  return {
    name: `${feed} ${range}@${since ?? 'beginning'}`,
    writes: null,
    answer: (lag) => readPage(world, { feed, range, since, lag, header }),
  };
}

function listRanges({ source, ranges }: World): Answer {
  const list = source.ranges.map((range) => {
    const { id, parents } = ranges.describe(range);
    return { id, minInclusive: borderAt(range.min), maxExclusive: borderAt(range.max), parents };
  });
  return { status: 200, body: { PartitionKeyRanges: list } };
}

interface Reading {
  readonly names: readonly string[];
  readonly range: string;
  readonly token: string | undefined;
  readonly lag: Lag;
}

function readDocuments(world: World, { names, range, token, lag }: Reading): Answer {
  const physical = world.ranges.find(range);
  if (physical === undefined) return GONE;
  const floor = world.ranges.lsnIn(token, physical);
  if (floor > physical.lsn) return UNAVAILABLE;
  const replica = world.source.replica(physical.min, floor, lag);
  const body = names.map((id) => {
    // A stranger in the target may name a document without a key, which the source does not have.
    if (placeOf(id) < 0 || placeOf(id) >= PLACES) return { statusCode: 404 };
    const there = placeOf(id) >= physical.min && placeOf(id) < physical.max;
    if (!there) return { statusCode: 410, subStatusCode: 1002 };
    const version = world.source.at(id, replica);
    if (version === null) return { statusCode: 404 };
    return { statusCode: 200, eTag: sourceEtag(version.etag), resourceBody: sourceDocument(id, version) };
  });
  return { status: 200, headers: { 'x-ms-session-token': sessionToken(range, replica) }, body };
}

interface PageRequest {
  readonly feed: FeedName;
  readonly range: string;
  readonly since: string | undefined;
  readonly lag: Lag;
  readonly header: SourceRequest['header'];
}

function readPage(world: World, { feed, range, since, lag, header }: PageRequest): Answer {
  const { source, ranges, scenario } = world;
  const physical = ranges.find(range);
  if (physical === undefined) return GONE;
  const [start, end] = [header('x-ms-start-epk'), header('x-ms-end-epk')];
  const min = start === undefined ? physical.min : placeAt(start);
  const max = end === undefined ? physical.max : placeAt(end);
  const asked = ranges.lsnIn(header('x-ms-session-token'), physical);
  if (asked > physical.lsn) return UNAVAILABLE;
  const position = since === undefined ? 0 : since === '*' ? null : Number(since.replaceAll('"', ''));
  const token = scenario.feedKeepsToken ? asked : 0;
  const replica = source.replica(min, Math.max(token, position ?? 0), lag);
  const page =
    position === null
      ? { changes: [], end: replica, token: replica }
      : readFeed(source, { feed, min, max, position, replica });
  if (page === 'split') return GONE;
  if (page === 'forgotten') return FORGOTTEN;
  const headers = { etag: `"${page.end}"`, 'x-ms-session-token': sessionToken(range, page.token) };
  if (page.changes.length === 0) return { status: 304, headers };
  const Documents = inAnyOrder(page.changes).map((change) =>
    feed === 'LV' ? latest(change) : envelope(world, change),
  );
  return { status: 200, headers, body: { _rid: 'x', Documents, _count: Documents.length } };
}

/** Changes of one transaction may come in any order: here every other transaction is turned round. */
function inAnyOrder(changes: readonly Change[]): Change[] {
  return changes.toSorted((a, b) => (a.lsn === b.lsn && a.lsn % 2 === 1 ? -1 : a.lsn - b.lsn));
}

function latest({ id, version }: Change): Json {
  return version === null ? {} : { ...sourceDocument(id, version), _lsn: version.lsn };
}

/** A change as the feed of all versions shows it. */
export function envelope({ timers, namesDeletes }: World, { id, lsn, version }: Change): Json {
  const metadata = { lsn, crts: Math.floor(timers.nowMs / 1000) };
  if (version !== null) {
    const previous = version.op === 'replace' ? { previousImageLSN: version.previous } : {};
    const metadataOf = { ...metadata, operationType: version.op, ...previous };
    return { current: sourceDocument(id, version), metadata: metadataOf };
  }
  const named = namesDeletes ? { id: id.slice(1), partitionKey: { tenant: tenantOf(id) } } : {};
  return { current: {}, metadata: { ...metadata, operationType: 'delete', ...named } };
}

/** The ids of the source's ranges. A split or a merge makes new ones, which name their parents. */
export class RangeIds {
  readonly #world: World;
  readonly #known = new Map<Range, { readonly id: string; readonly parents: readonly string[] }>();
  #next = 0;

  constructor(world: World) {
    this.#world = world;
  }

  describe(range: Range): { readonly id: string; readonly parents: readonly string[] } {
    let known = this.#known.get(range);
    if (known === undefined) {
      const before = [...this.#known].filter(([one]) => one.min < range.max && one.max > range.min);
      known = { id: String(this.#next), parents: before.map(([, { id }]) => id) };
      this.#next += 1;
      this.#known.set(range, known);
    }
    return known;
  }

  /** The range with this id, if it still exists. */
  find(id: string): Range | undefined {
    return this.#world.source.ranges.find((range) => this.describe(range).id === id);
  }

  lsnIn(token: string | undefined, range: Range): number {
    const { id, parents } = this.describe(range);
    return lsnIn(token, [id, ...parents]);
  }
}
