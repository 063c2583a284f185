/**
 * A target that holds documents though there is no ledger: somebody else's, or ours without its ledger. Either way
 * nothing is begun; which it is decides what to do. What always holds: only documents that stand where this very plan
 * puts an existing source document are taken for ours.
 */
import { mapKeyOfWords } from '../documents/hash.ts';
import { sendBatch } from '../cosmos/bulk/batch-request.ts';
import { TroubleError } from '../cosmos/transport/trouble.ts';
import type { ContainerLane } from '../cosmos/transport/container-requests.ts';
import { Feed } from '../cosmos/feed/feed.ts';
import { readRanges, wholeOf, type PhysicalRange } from '../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../cosmos/load/retry.ts';
import { BatchBody, type Key } from '../documents/batch-body.ts';
import { decodeScalar, decodeText, isComposite, isText } from '../documents/scalar.ts';
import { latestVersionScan, replyScan, type PageScan } from '../documents/page-scan.ts';
import { effectiveKey, type KeyComponent, type KeyKind } from '../epk/effective-key.ts';
import { NO_ETAG, repeatable } from './bound-to-fail.ts';
import { Placement, Rekey, rekeyPaths, type RekeyOptions } from '../keys/rekey.ts';

export interface Occupants {
  /** How many documents of the target were looked at; 0: it is empty. */
  readonly seen: number;
  /** How many of them are copies of source documents, where this migration would put them. */
  readonly ours: number;
}

/** Enough to tell whose they are. */
const LOOKED_AT_MAX = 100;
/** Pages without a document and without an end. */
const PAGES_MAX = 100;

/** A document of the target, as what it may be a copy of. */
interface Suspect {
  readonly id: string;
  readonly sourceKey: Key;
  readonly slot: string;
}

/** How it is asked. */
export interface Asking {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly patience: Patience;
}

export async function occupantsOf(
  parts: {
    readonly source: ContainerLane;
    readonly target: ContainerLane;
    readonly sourceKind: KeyKind;
    readonly rekey: RekeyOptions;
  },
  call: Asking,
): Promise<Occupants> {
  const { signal, timeoutMs, patience } = call;
  const look = async (): Promise<Occupants> => {
    const { seen, suspects } = await firstDocuments(parts.target, parts.rekey, call);
    if (seen === 0) return { seen, ours: 0 };
    const ranges = await readRanges(parts.source, { signal, timeoutMs });
    let ours = 0;
    for (const range of ranges) {
      const there = suspects.filter(({ sourceKey }) => {
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
  lane: ContainerLane,
  { plan, kind }: RekeyOptions,
  { signal, timeoutMs, patience }: Asking,
): Promise<{ readonly seen: number; readonly suspects: readonly Suspect[] }> {
  const scan = latestVersionScan(rekeyPaths(plan));
  const placement = new Placement(scan, plan);
  const keyNodes = plan.sourcePathsInTarget.map((path) => scan.nodeAt(path));
  const suspects: Suspect[] = [];
  let seen = 0;
  for (const range of await readRanges(lane, { signal, timeoutMs })) {
    const sessionToken = await newestToken(lane, range, {
      kind,
      levels: plan.targetPaths.length,
      signal,
      timeoutMs,
    });
    const pageSize = LOOKED_AT_MAX;
    const feed = new Feed(lane, {
      mode: 'latest-version',
      range: wholeOf(range),
      pageSize,
      priority: 'High',
    });
    let pages = 0;
    const call = { signal, timeoutMs, patience: patience.fresh(), sessionToken: () => sessionToken };
    for await (const page of feed.pages('beginning', call)) {
      if (page.status === 304 || pages >= PAGES_MAX || seen >= LOOKED_AT_MAX) break;
      pages += 1;
      scan.scan(page.bytes);
      for (let row = 0; row < scan.count && seen < LOOKED_AT_MAX; row += 1) {
        seen += 1;
        const suspect = suspectIn(scan, row, { placement, keyNodes });
        if (suspect !== undefined) suspects.push(suspect);
      }
    }
    if (seen >= LOOKED_AT_MAX) break;
  }
  return { seen, suspects };
}

/** A key of a range is found by trying; one below a single prefix of a hierarchical key may have none to be found. */
const TRIES_PER_RANGE = 100_000;

/**
 * How far the range has come, from the replica that takes its writes: a delete that is bound to be refused is asked
 * for. Without it a replica that lags behind would show a target that was just being filled as an empty one.
 */
async function newestToken(
  lane: ContainerLane,
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
    const result = await sendBatch(lane, batch, replyScan([]));
    if (!result.answered) throw new TroubleError(repeatable(result.trouble));
    return result.sessionToken;
  }
  return undefined;
}

/** Nothing when no source document can have this identity. */
function suspectIn(
  scan: PageScan,
  row: number,
  { placement, keyNodes }: { readonly placement: Placement; readonly keyNodes: readonly number[] },
): Suspect | undefined {
  const { page, nodes } = scan;
  const idStart = scan.start(row, nodes.id);
  if (idStart === 0 || !isText(page, idStart)) return undefined;
  const sourceKey: KeyComponent[] = [];
  for (const node of keyNodes) {
    const start = scan.start(row, node);
    if (start !== 0 && isComposite(page, start)) return undefined;
    sourceKey.push(start === 0 ? undefined : decodeScalar(page, start, scan.end(row, node)));
  }
  placement.read(row);
  const id = decodeText(page, idStart, scan.end(row, nodes.id));
  return { id, sourceKey, slot: mapKeyOfWords(placement.hashes, 4) };
}

/** How many of them have a source document whose copy belongs in this slot. */
async function copiesAmong(
  suspects: readonly Suspect[],
  parts: {
    readonly source: ContainerLane;
    readonly range: PhysicalRange;
    readonly rekey: RekeyOptions;
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
  },
): Promise<number> {
  const { source, range, rekey, signal, timeoutMs } = parts;
  const body = new BatchBody();
  for (const { sourceKey, id } of suspects) body.read(sourceKey, { id });
  const count = suspects.length;
  const scan = replyScan(rekeyPaths(rekey.plan));
  const batch = { rangeId: range.id, body: body.finish(), count, reads: () => true, signal, timeoutMs };
  const result = await sendBatch(source, batch, scan);
  if (!result.answered) throw new TroubleError(repeatable(result.trouble));
  scan.scan(result.bytes);
  const expected = new Rekey(scan, rekey);
  return suspects.filter(({ slot }, row) => {
    if (result.outcomes[row]?.kind !== 'done' || !scan.hasDocument(row)) return false;
    // It was asked for by its identity.
    return expected.read(row, 0) === 'moves' && mapKeyOfWords(expected.hashes, 4) === slot;
  }).length;
}
