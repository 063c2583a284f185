/**
 * Applies the new key to a sample of source documents, and counts how its values are distributed and which documents
 * cannot be moved. Invariant: nothing is written, memory is limited by the size of the sample, and each document counts
 * once.
 */
import { mapKeyOfWords } from '../documents/hash.ts';
import type { Key } from '../documents/batch-body.ts';
import type { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { ChangeFeed, type FeedPage } from '../cosmos/feed/feed.ts';
import type { Governor } from '../cosmos/load/governor.ts';
import { readRanges, wholeOf, type PhysicalRange } from '../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../cosmos/load/retry.ts';
import { decodeScalar, decodeText, integerAt, isText, keyStart } from '../documents/scalar.ts';
import { latestVersionScan, type PageScan } from '../documents/page-scan.ts';
import { SYSTEM_PROPERTIES } from '../documents/system-properties.ts';
import { assert } from '../lib/assert.ts';
import { NotReadyError } from '../lib/errors.ts';
import { forEachConcurrently } from '../lib/group.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { noRefusals, Rekey, rekeyPaths, type DocumentRefusal, type RekeyOptions } from '../keys/rekey.ts';
import { KeyTally, type KeyCount } from '../keys/key-spread.ts';
import { slotsNow, type SourceSlotsParts } from './source-slots.ts';

/** Two source documents that belong at the same slot, because they have this id and this new key. */
export interface Collision {
  readonly id: string;
  readonly targetKey: readonly KeyComponent[];
}

/** A collision as the pages of the sample show it. */
interface SeenCollision extends Collision {
  readonly slot: string;
  /** The keys of both documents in the source. */
  readonly sourceKeys: readonly [Key, Key];
}

export interface SourceSample {
  readonly documents: number;
  /** Whether the sample contains every document of the source. */
  readonly isWhole: boolean;
  /** Documents that lack a level of the new key and would be moved without this level. */
  readonly missing: number;
  readonly refused: Readonly<Record<DocumentRefusal['reason'], number>>;
  /** Documents that expire before they could be moved. */
  readonly expired: number;
  readonly collisions: number;
  /** The first few collisions. */
  readonly collided: readonly Collision[];
  readonly distinct: number;
  /** Distinct values of the first level of the new key; equal to `distinct` for a key with one level. */
  readonly distinctFirst: number;
  readonly biggest: readonly KeyCount[];
  /** Documents that have a `ttl` property. */
  readonly withTtl: number;
  readonly averageBytes: number;
  readonly averageKeyBytes: number;
  /** How many values of a document a full index would contain, on average. */
  readonly averageTerms: number;
  /** RU to read one document from the feed, on average. */
  readonly readRu: number;
}

/** How many collisions and key values the report shows at most. */
const SHOWN_MAX = 5;
/** How many collisions are checked at most. */
const CHECKED_MAX = 200;
/** How many documents are parsed to count their indexed values. */
const PARSED_MAX = 100;
/** How many pages of a range are read at most, in case it does not return enough documents. */
const PAGES_MAX = 100;
const PAGE_SIZE = 250;
/** How many ranges are read at the same time. */
const READERS_MAX = 8;

/** Adds the documents of pages to a sample. */
export class SampleTally {
  readonly #scan: PageScan;
  readonly #rekey: Rekey;
  readonly #tally: KeyTally;
  readonly #seen = new Set<string>();
  /** The source key of the document that belongs at each slot. */
  readonly #slots = new Map<string, Key>();
  readonly #sourceKey: readonly number[];
  readonly #firsts = new Set<string>();
  #collided: SeenCollision[] = [];
  /** Documents that were counted and have gone since. */
  #gone = 0;
  readonly #refused = noRefusals();
  readonly #counts = { collisions: 0, expired: 0, missing: 0, withTtl: 0 };
  /** What the averages are computed from. */
  readonly #totals = { bytes: 0, keyBytes: 0, moved: 0, terms: 0, parsed: 0, ru: 0, rows: 0 };

  constructor(options: RekeyOptions) {
    this.#scan = latestVersionScan(rekeyPaths(options.plan));
    this.#rekey = new Rekey(this.#scan, options);
    this.#tally = new KeyTally(options.kind, 1);
    this.#sourceKey = options.plan.sourcePaths.map((path) => this.#scan.nodeAt(path));
  }

  /** The collisions, up to a number of them. */
  get collided(): readonly SeenCollision[] {
    return this.#collided;
  }

  /** Leaves out collisions of which one document has gone. */
  leaveOut(passed: ReadonlySet<SeenCollision>): void {
    this.#collided = this.#collided.filter((one) => !passed.has(one));
    this.#counts.collisions -= passed.size;
    this.#gone += passed.size;
  }

  /** Adds at most `most` documents of a page that was read at `nowTs`, the service's time; returns how many. */
  add({ bytes, chargeRu }: Pick<FeedPage, 'bytes' | 'chargeRu'>, nowTs: number, most: number): number {
    const { count } = this.#scan.scan(bytes);
    const taken = Math.min(count, most);
    for (let row = 0; row < taken; row += 1) this.#count(row, nowTs);
    this.#totals.ru += chargeRu;
    this.#totals.rows += count;
    return taken;
  }

  result(isWhole: boolean): SourceSample {
    const documents = this.#seen.size - this.#gone;
    const perDocument = (total: number, of = documents): number => (of === 0 ? 0 : total / of);
    return {
      ...this.#counts,
      documents,
      isWhole,
      refused: { ...this.#refused },
      collided: this.#collided.slice(0, SHOWN_MAX).map(({ id, targetKey }) => ({ id, targetKey })),
      distinct: this.#tally.distinct,
      distinctFirst: this.#firsts.size,
      biggest: this.#tally.biggest(SHOWN_MAX),
      averageBytes: perDocument(this.#totals.bytes),
      averageKeyBytes: perDocument(this.#totals.keyBytes, this.#totals.moved),
      averageTerms: perDocument(this.#totals.terms, this.#totals.parsed),
      readRu: perDocument(this.#totals.ru, this.#totals.rows),
    };
  }

  #count(row: number, nowTs: number): void {
    const [scan, rekey] = [this.#scan, this.#rekey];
    const verdict = rekey.read(row, nowTs);
    const identity = mapKeyOfWords(rekey.hashes, 0);
    // A document that changes while the sample is taken appears on two pages, and counts once.
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    const document = scan.bytes(row, scan.nodes.document);
    this.#totals.bytes += document.length;
    if (scan.start(row, scan.nodes.ttl) !== 0) this.#counts.withTtl += 1;
    if (this.#totals.parsed < PARSED_MAX) {
      this.#totals.parsed += 1;
      this.#totals.terms += termsIn(document);
    }
    if (verdict === 'expired') this.#counts.expired += 1;
    else if (verdict === 'moves') this.#countMove(row);
    else if (rekey.refusal !== undefined) this.#refused[rekey.refusal.reason] += 1;
  }

  #countMove(row: number): void {
    const { key, hashes } = this.#rekey;
    const missing = key.includes(undefined);
    this.#totals.moved += 1;
    if (missing) this.#counts.missing += 1;
    this.#totals.keyBytes += Buffer.byteLength(JSON.stringify(key));
    this.#tally.add({ kind: 'key', values: key, additions: [], missing });
    this.#firsts.add(JSON.stringify(key[0]) ?? '');
    const slot = mapKeyOfWords(hashes, 4);
    const sourceKey = this.#sourceKey.map((node) => this.#valueAt(row, node));
    const holder = this.#slots.get(slot);
    if (holder === undefined) this.#slots.set(slot, sourceKey);
    else {
      this.#counts.collisions += 1;
      if (this.#collided.length < CHECKED_MAX)
        this.#collided.push({ id: this.#idOf(row), targetKey: key, slot, sourceKeys: [holder, sourceKey] });
    }
  }

  #valueAt(row: number, node: number): KeyComponent {
    const scan = this.#scan;
    const start = keyStart(scan, row, node);
    return start === 0 ? undefined : decodeScalar(scan.page, start, scan.end(row, node));
  }

  #idOf(row: number): string {
    const scan = this.#scan;
    const [start, end] = [scan.start(row, scan.nodes.id), scan.end(row, scan.nodes.id)];
    return start !== 0 && isText(scan.page, start) ? decodeText(scan.page, start, end) : '';
  }
}

export interface SampleCall {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly patience: Patience;
  /** Counts the RU that the sample uses in the source. */
  readonly governor: Governor;
  /** The throughput of the container in RU/s, which its ranges share; undefined: not known. */
  readonly containerRu: number | undefined;
  readonly documentsMax: number;
}

/**
 * Takes a sample from the beginning of every range. Starts over if a range splits meanwhile. An application that gives a
 * document another key of the source deletes it and creates it again, and the sample may have read it before and after: so
 * both documents of a collision have to be there when it ends.
 */
export async function takeSample(
  requests: ContainerRequests,
  rekey: RekeyOptions,
  call: SampleCall & Omit<SourceSlotsParts, 'rekey'>,
): Promise<SourceSample> {
  const {
    tallies: [tally],
    isWhole,
  } = await tallySample(requests, [rekey], call);
  assert(tally !== undefined, 'there is a tally for each key');
  const { collided } = tally;
  if (collided.length > 0) {
    const both = collided.flatMap(({ id, sourceKeys }) => sourceKeys.map((key) => ({ id, key })));
    const slots = await slotsNow(both, { ...call, rekey, patience: call.patience.fresh() });
    const areThere = ({ slot }: SeenCollision, at: number): boolean =>
      slots[2 * at] === slot && slots[2 * at + 1] === slot;
    tally.leaveOut(new Set(collided.filter((one, at) => !areThere(one, at))));
  }
  return tally.result(isWhole);
}

/** Takes one sample of documents, and applies several keys to it. */
export async function takeSamples(
  requests: ContainerRequests,
  keys: readonly RekeyOptions[],
  call: SampleCall,
): Promise<readonly SourceSample[]> {
  const { tallies, isWhole } = await tallySample(requests, keys, call);
  return tallies.map((tally) => tally.result(isWhole));
}

interface TalliedSample {
  readonly tallies: readonly SampleTally[];
  readonly isWhole: boolean;
}

async function tallySample(
  requests: ContainerRequests,
  keys: readonly RekeyOptions[],
  call: SampleCall,
): Promise<TalliedSample> {
  const { signal, timeoutMs, patience, governor, containerRu, documentsMax } = call;
  const take = async (): Promise<TalliedSample> => {
    const ranges = await readRanges(requests, { signal, timeoutMs });
    governor.setCapacity(
      containerRu,
      ranges.map(({ id }) => id),
    );
    const tallies = keys.map((options) => new SampleTally(options));
    const most = Math.max(1, Math.floor(documentsMax / ranges.length));
    let isWhole = true;
    const work = async (range: PhysicalRange, own: AbortSignal): Promise<readonly []> => {
      const ended = await readInto(tallies, { ...call, requests, range, most, signal: own });
      isWhole &&= ended;
      return [];
    };
    await forEachConcurrently(ranges, { limit: READERS_MAX, signal, work });
    return { tallies, isWhole };
  };
  return retrying(take, { signal, patience, splits: 'waited-for' });
}

/** Adds up to `most` documents of one range to the sample; returns whether the range has no others. */
async function readInto(
  tallies: readonly SampleTally[],
  parts: Pick<SampleCall, 'signal' | 'timeoutMs' | 'patience' | 'governor'> & {
    readonly requests: ContainerRequests;
    readonly range: PhysicalRange;
    readonly most: number;
  },
): Promise<boolean> {
  const { requests, range, governor, signal, timeoutMs, patience } = parts;
  // Pages are small, so that the first page does not exceed a small RU budget.
  const pageSize = Math.min(PAGE_SIZE, parts.most);
  const feed = new ChangeFeed(requests, { mode: 'latest-version', range: wholeOf(range), pageSize });
  let left = parts.most;
  let pages = 0;
  for await (const page of feed.pages('beginning', {
    signal,
    timeoutMs,
    governor,
    patience: patience.fresh(),
  })) {
    if (page.status === 304) return true;
    if (pages === 0) refuseWithoutLsn(page.bytes);
    const most = left;
    const nowTs = requests.serviceTime.nowTs();
    for (const tally of tallies) left = most - tally.add(page, nowTs, most);
    page.free();
    pages += 1;
    if (left <= 0 || pages === PAGES_MAX) return false;
  }
  return true;
}

/** Refuses a feed whose documents have no LSN: no change could be placed before or after an anchor (fact SVC-15). */
function refuseWithoutLsn(page: Buffer): void {
  const scan = latestVersionScan([]).scan(page);
  if (scan.count === 0 || integerAt(scan, 0, scan.nodes.lsn) !== null) return;
  throw new NotReadyError('documents in the change feed of the source have no _lsn', {
    why: 'it shows whether a document changed before or after the copy began',
    hint: 'run cosmig doctor --probe and attach its report to an issue; this account cannot be migrated yet',
  });
}

/** Counts the scalar values of a document, also in arrays. A full index has one term for each of them (fact SVC-33). */
export function termsIn(document: Buffer): number {
  const parsed: unknown = JSON.parse(document.toString());
  if (typeof parsed !== 'object' || parsed === null) return 0;
  const own = Object.entries(parsed).filter(([name]) => !SYSTEM_PROPERTIES.includes(name));
  // Adds one for `_ts`, which is always indexed.
  return 1 + own.reduce((terms, [, value]) => terms + scalarsIn(value), 0);
}

function scalarsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((terms: number, one) => terms + scalarsIn(one), 0);
}
