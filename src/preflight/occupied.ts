/**
 * Checks a target that holds documents although there is no ledger, to distinguish copies of an earlier run from
 * foreign documents. The migration is refused in both cases, but with different advice. Invariant: a document counts as
 * a copy only if it is in the slot where this plan would put an existing source document.
 */
import { mapKeyOfWords } from '../documents/hash.ts';
import { sendBatch } from '../cosmos/bulk/batch-request.ts';
import { TroubleError } from '../cosmos/transport/trouble.ts';
import type { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { ChangeFeed } from '../cosmos/feed/feed.ts';
import { readRanges, wholeOf, type PhysicalRange } from '../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../cosmos/load/retry.ts';
import { BatchBody, type Key } from '../documents/batch-body.ts';
import { decodeScalar, decodeText, isText, keyStart } from '../documents/scalar.ts';
import { latestVersionScan, replyScan, type PageScan } from '../documents/page-scan.ts';
import { effectiveKey, type KeyComponent, type KeyKind } from '../epk/effective-key.ts';
import { NO_ETAG, repeatable } from './permissions.ts';
import { Placement, Rekey, rekeyPaths, type RekeyOptions } from '../keys/rekey.ts';

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
  readonly sourceKey: Key;
  readonly slot: string;
}

export interface Asking {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly patience: Patience;
}

export async function occupantsOf(
  parts: {
    readonly source: ContainerRequests;
    readonly target: ContainerRequests;
    readonly sourceKind: KeyKind;
    readonly rekey: RekeyOptions;
  },
  call: Asking,
): Promise<Occupants> {
  const { signal, timeoutMs, patience } = call;
  const look = async (): Promise<Occupants> => {
    const { seen, candidates } = await firstDocuments(parts.target, parts.rekey, call);
    if (seen === 0) return { seen, ours: 0 };
    const ranges = await readRanges(parts.source, { signal, timeoutMs });
    let ours = 0;
    for (const range of ranges) {
      const there = candidates.filter(({ sourceKey }) => {
        const epk = effectiveKey(parts.sourceKind, sourceKey);
        return range.min <= epk && epk < range.max;
      });
      if (there.length > 0) ours += await copiesAmong(there, { ...parts, range, signal, timeoutMs });
    }
    return { seen, ours };
  };
  return retrying(look, { signal, patience, splits: 'waited-for' });
}

async function firstDocuments(
  requests: ContainerRequests,
  { plan, kind }: RekeyOptions,
  { signal, timeoutMs, patience }: Asking,
): Promise<{ readonly seen: number; readonly candidates: readonly PossibleCopy[] }> {
  const scan = latestVersionScan(rekeyPaths(plan));
  const placement = new Placement(scan, plan);
  const keyNodes = plan.sourcePathsInTarget.map((path) => scan.nodeAt(path));
  const candidates: PossibleCopy[] = [];
  let seen = 0;
  for (const range of await readRanges(requests, { signal, timeoutMs })) {
    const sessionToken = await newestToken(requests, range, {
      kind,
      levels: plan.targetPaths.length,
      signal,
      timeoutMs,
    });
    const pageSize = CHECKED_MAX;
    const feed = new ChangeFeed(requests, {
      mode: 'latest-version',
      range: wholeOf(range),
      pageSize,
      priority: 'High',
    });
    let pages = 0;
    const call = { signal, timeoutMs, patience: patience.fresh(), sessionToken: () => sessionToken };
    for await (const page of feed.pages('beginning', call)) {
      if (page.status === 304 || pages >= PAGES_MAX || seen >= CHECKED_MAX) break;
      pages += 1;
      scan.scan(page.bytes);
      for (let row = 0; row < scan.count && seen < CHECKED_MAX; row += 1) {
        seen += 1;
        const candidate = possibleCopyIn(scan, row, { placement, keyNodes });
        if (candidate !== undefined) candidates.push(candidate);
      }
    }
    if (seen >= CHECKED_MAX) break;
  }
  return { seen, candidates };
}

/**
 * How many keys are tried to find one that belongs to a range. A range within one prefix of a hierarchical key may
 * contain none of the tried keys.
 */
const TRIES_PER_RANGE = 100_000;

/**
 * Returns the session token of a range from the replica that accepts its writes; undefined: none of the tried keys
 * belongs to the range. The token is in the reply to a delete that must fail. Without the token a lagging replica could
 * return no documents although another process has just written some.
 */
async function newestToken(
  requests: ContainerRequests,
  { id: rangeId, min, max }: PhysicalRange,
  {
    kind,
    levels,
    ...call
  }: Pick<Asking, 'signal' | 'timeoutMs'> & { readonly kind: KeyKind; readonly levels: number },
): Promise<string | undefined> {
  for (let n = 0; n < TRIES_PER_RANGE; n += 1) {
    const word = `cosmig-preflight-${n}`;
    const key = Array.from({ length: levels }, () => word);
    const epk = effectiveKey(kind, key);
    if (epk < min || epk >= max) continue;
    const body = new BatchBody();
    body.delete(key, { id: word, ifMatch: NO_ETAG });
    const batch = { rangeId, body: body.finish(), count: 1, ...call };
    const result = await sendBatch(requests, batch, replyScan([]));
    if (!result.answered) throw new TroubleError(repeatable(result.trouble));
    return result.sessionToken;
  }
  return undefined;
}

/** Reads the identity and the slot of a target document; undefined: no source document can have this identity. */
function possibleCopyIn(
  scan: PageScan,
  row: number,
  { placement, keyNodes }: { readonly placement: Placement; readonly keyNodes: readonly number[] },
): PossibleCopy | undefined {
  const { page, nodes } = scan;
  const idStart = scan.start(row, nodes.id);
  if (idStart === 0 || !isText(page, idStart)) return undefined;
  const sourceKey: KeyComponent[] = [];
  for (const node of keyNodes) {
    const start = keyStart(scan, row, node);
    sourceKey.push(start === 0 ? undefined : decodeScalar(page, start, scan.end(row, node)));
  }
  placement.read(row);
  const id = decodeText(page, idStart, scan.end(row, nodes.id));
  return { id, sourceKey, slot: mapKeyOfWords(placement.hashes, 4) };
}

/** Returns how many candidates have a source document that this plan would put into the same slot. */
async function copiesAmong(
  candidates: readonly PossibleCopy[],
  parts: {
    readonly source: ContainerRequests;
    readonly range: PhysicalRange;
    readonly rekey: RekeyOptions;
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
  },
): Promise<number> {
  const { source, range, rekey, signal, timeoutMs } = parts;
  const body = new BatchBody();
  for (const { sourceKey, id } of candidates) body.read(sourceKey, { id });
  const count = candidates.length;
  const scan = replyScan(rekeyPaths(rekey.plan));
  const batch = { rangeId: range.id, body: body.finish(), count, reads: () => true, signal, timeoutMs };
  const result = await sendBatch(source, batch, scan);
  if (!result.answered) throw new TroubleError(repeatable(result.trouble));
  scan.scan(result.bytes);
  const expected = new Rekey(scan, rekey);
  return candidates.filter(({ slot }, row) => {
    if (result.outcomes[row]?.kind !== 'done' || !scan.hasDocument(row)) return false;
    // The source document was read by its identity, so only the slot remains to be compared.
    return expected.read(row, 0) === 'moves' && mapKeyOfWords(expected.hashes, 4) === slot;
  }).length;
}
