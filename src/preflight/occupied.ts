/**
 * Checks a target that holds documents although there is no ledger, to distinguish copies of an earlier run from
 * foreign documents. The migration is refused in both cases, but with different advice. Invariant: a document counts as
 * a copy only if it is in the slot where this plan would put an existing source document.
 */
import { mapKeyOfWords } from '../documents/hash.ts';
import type { SideParts } from '../cosmos/side.ts';
import type { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { ChangeFeed } from '../cosmos/feed/feed.ts';
import { readRanges, wholeOf, type PhysicalRange } from '../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../cosmos/load/retry.ts';
import { BatchBody, type Key } from '../documents/batch-body.ts';
import { decodeText, isText } from '../documents/scalar.ts';
import { latestVersionScan, type PageScan } from '../documents/page-scan.ts';
import { effectiveKey, type KeyKind } from '../epk/effective-key.ts';
import { RESERVATION_ID } from './reservation.ts';
import { NO_ETAG, sendHarmless } from './permissions.ts';
import { Placement } from '../keys/placement.ts';
import { rekeyPaths, type RekeyOptions } from '../keys/rekey.ts';
import { slotsNow, type SourceSlotsParts } from './source-slots.ts';

/** The documents found in a target without a ledger. */
export interface Occupants {
  /** The number of target documents that were checked; 0: the target is empty. */
  readonly seen: number;
  /** How many of the checked documents are copies, each in the slot where this migration would put it. */
  readonly ours: number;
}

/** How many target documents are checked: enough to distinguish copies from foreign documents. */
const CHECKED_MAX = 100;
/** How many pages of a range are read at most, in case its feed returns neither documents nor its end. */
const PAGES_MAX = 100;

/** A target document, identified by the id and key of the source document of which it may be a copy. */
interface PossibleCopy {
  readonly id: string;
  /** The key of the source document. */
  readonly key: Key;
  readonly slot: string;
}

export interface Asking extends Pick<SideParts, 'clock' | 'random'> {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly patience: Patience;
}

export async function occupantsOf(
  parts: {
    readonly source: Pick<SideParts, 'account' | 'facts'>;
    readonly target: ContainerRequests;
    readonly rekey: RekeyOptions;
  },
  call: Asking,
): Promise<Occupants> {
  const { signal, patience } = call;
  const first = async (): Promise<FirstDocuments> => firstDocuments(parts.target, parts.rekey, call);
  const { seen, candidates } = await retrying(first, { signal, patience, splits: 'waited-for' });
  return { seen, ours: candidates.length === 0 ? 0 : await copiesAmong(candidates, parts, call) };
}

interface FirstDocuments {
  readonly seen: number;
  readonly candidates: readonly PossibleCopy[];
}

async function firstDocuments(
  requests: ContainerRequests,
  { plan, kind }: RekeyOptions,
  { signal, timeoutMs, patience }: Asking,
): Promise<FirstDocuments> {
  const scan = latestVersionScan(rekeyPaths(plan));
  const placement = new Placement(scan, plan);
  const words = new WordsByKey({ kind, levels: plan.targetPaths.length });
  const candidates: PossibleCopy[] = [];
  let seen = 0;
  for (const range of await readRanges(requests, { signal, timeoutMs })) {
    const sessionToken = await newestToken(requests, range, { words, signal, timeoutMs });
    const settings = { mode: 'latest-version', pageSize: CHECKED_MAX, priority: 'High' } as const;
    const feed = new ChangeFeed(requests, { ...settings, range: wholeOf(range) });
    let pages = 0;
    const call = { signal, timeoutMs, patience: patience.fresh(), sessionToken: () => sessionToken };
    for await (const page of feed.pages('beginning', call)) {
      if (page.status === 304 || pages >= PAGES_MAX || seen >= CHECKED_MAX) break;
      pages += 1;
      scan.scan(page.bytes);
      for (let row = 0; row < scan.count && seen < CHECKED_MAX; row += 1) {
        if (isReservation(scan, row)) continue;
        seen += 1;
        const candidate = possibleCopyIn(scan, row, placement);
        if (candidate !== undefined) candidates.push(candidate);
      }
    }
    if (seen >= CHECKED_MAX) break;
  }
  return { seen, candidates };
}

/**
 * How many keys are tried to find one for each range. A range within one prefix of a hierarchical key may contain none of
 * them.
 */
const TRIES = 100_000;

/** Words whose keys lie anywhere in the hash space. Each is hashed once, however many ranges look for one of them. */
class WordsByKey {
  readonly #kind: KeyKind;
  readonly #levels: number;
  /** The effective keys of the words that were tried. */
  readonly #tried: string[] = [];

  constructor({ kind, levels }: { readonly kind: KeyKind; readonly levels: number }) {
    this.#kind = kind;
    this.#levels = levels;
  }

  /** Returns a word and its key in a range; undefined if none of them belongs to it. */
  in({ min, max }: PhysicalRange): { readonly word: string; readonly key: Key } | undefined {
    for (let n = 0; n < TRIES; n += 1) {
      const effective = (this.#tried[n] ??= effectiveKey(this.#kind, this.#keyOf(n)));
      if (effective >= min && effective < max) return { word: wordOf(n), key: this.#keyOf(n) };
    }
    return undefined;
  }

  #keyOf(n: number): string[] {
    return Array.from({ length: this.#levels }, () => wordOf(n));
  }
}

function wordOf(n: number): string {
  return `cosmig-preflight-${n}`;
}

/**
 * Returns the session token of a range from the replica that accepts its writes; undefined: none of the words belongs to
 * the range. The token is in the reply to a delete that must fail. Without the token a lagging replica could
 * return no documents although another process has just written some.
 */
async function newestToken(
  requests: ContainerRequests,
  range: PhysicalRange,
  { words, ...call }: Pick<Asking, 'signal' | 'timeoutMs'> & { readonly words: WordsByKey },
): Promise<string | undefined> {
  const found = words.in(range);
  if (found === undefined) return undefined;
  const body = new BatchBody();
  body.delete(found.key, { id: found.word, ifMatch: NO_ETAG });
  const batch = { rangeId: range.id, body: body.finish(), count: 1, ...call };
  return (await sendHarmless(requests, batch)).sessionToken;
}

/** Whether a document is the reservation of a migration, which reservation.ts checks separately. */
function isReservation(scan: PageScan, row: number): boolean {
  const [start, end] = [scan.start(row, scan.nodes.id), scan.end(row, scan.nodes.id)];
  return start !== 0 && isText(scan.page, start) && decodeText(scan.page, start, end) === RESERVATION_ID;
}

/** Reads the identity and the slot of a target document; undefined: no source document can have this identity. */
function possibleCopyIn(scan: PageScan, row: number, placement: Placement): PossibleCopy | undefined {
  const { page, nodes } = scan;
  const idStart = scan.start(row, nodes.id);
  if (idStart === 0 || !isText(page, idStart)) return undefined;
  if (!placement.read(row)) return undefined;
  const id = decodeText(page, idStart, scan.end(row, nodes.id));
  return { id, key: placement.key, slot: mapKeyOfWords(placement.hashes, 4) };
}

/** Returns how many candidates have a source document that this plan would put into the same slot. */
async function copiesAmong(
  candidates: readonly PossibleCopy[],
  { source, rekey }: Pick<SourceSlotsParts, 'source' | 'rekey'>,
  call: Asking,
): Promise<number> {
  const slots = await slotsNow(candidates, { ...call, source, rekey });
  return slots.filter((slot, at) => slot !== undefined && slot === candidates[at]?.slot).length;
}
