/**
 * Estimates what a pass over the source will cost, before it begins: from the number of documents that the service
 * reports, and from what the first page of some ranges costs.
 */
import { ChangeFeed } from '../../cosmos/feed/feed.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import { latestVersionScan } from '../../documents/page-scan.ts';
import { NotReadyError } from '../../lib/errors.ts';

export interface PassCost {
  /** The number of documents that the service reports, which lags; null: it reports none. */
  readonly documents: number | null;
  readonly bytes: number | null;
  /** How many of them are read. */
  readonly share: number;
  readonly ruPerDocument: number;
  /** What the pass will cost; null: the number of documents is not known. */
  readonly ru: number | null;
}

/** How many ranges are asked for a page. Pages of other ranges cost about the same. */
const RANGES_MAX = 8;
/** How many documents such a page has: few, since they are read again later. */
const PAGE_SIZE = 100;
/** A page has at least this price, also an empty one. */
const PAGE_RU = 1;

/** Reads a page of some ranges, and computes what the whole pass will cost. */
export async function passCost(side: Side, share: number, signal: AbortSignal): Promise<PassCost> {
  const { requests, patience, governor, timeoutMs, facts } = side;
  const totals = { documents: 0, ru: 0 };
  const scan = latestVersionScan([]);
  await forEachRange(side, side.ranges.list.slice(0, RANGES_MAX).map(wholeOf), {
    limit: RANGES_MAX,
    signal,
    work: async (range, inner) => {
      const feed = new ChangeFeed(requests, { mode: 'latest-version', range, pageSize: PAGE_SIZE });
      const pages = feed.parsedPages('beginning', {
        signal: inner,
        timeoutMs,
        governor,
        patience: patience.fresh(),
        sessionToken: () => tokenOf(side, range.range.id),
        parse: (page) => {
          const { count } = page.status === 304 ? { count: 0 } : scan.scan(page.bytes);
          page.free();
          return { count, chargeRu: page.chargeRu };
        },
      });
      const { value } = await pages.next();
      totals.documents += value.count;
      totals.ru += value.chargeRu;
    },
  });
  const { documentCount: documents, sizeBytes: bytes } = facts;
  const ruPerDocument = totals.documents === 0 ? PAGE_RU : totals.ru / totals.documents;
  const ru = documents === null ? null : Math.ceil(documents * share * ruPerDocument);
  return { documents, bytes, share, ruPerDocument, ru };
}

/** Refuses a pass that costs more than the operator has allowed, unless it was accepted. */
export function refuseDear(
  { ru, documents }: PassCost,
  { ruMax, isAccepted }: { readonly ruMax: number | null; readonly isAccepted: boolean },
): void {
  if (isAccepted || ruMax === null || (ru !== null && ru <= ruMax)) return;
  const hint = 'add --yes to read it all the same, or read a part of it, as with --sample 5%';
  const most = `${ruMax.toLocaleString('en-US')} RU`;
  if (ru === null || documents === null)
    throw new NotReadyError('what reading the source costs is not known', {
      why: `the service does not report the number of its documents, so --max-ru (${most}) cannot be compared`,
      hint,
    });
  throw new NotReadyError(`reading the source costs about ${ru.toLocaleString('en-US')} RU`, {
    why: `it has about ${documents.toLocaleString('en-US')} documents, and --max-ru is ${most}`,
    hint,
  });
}
