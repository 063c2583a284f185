/**
 * Estimates what a pass over the source will cost, before it begins: from the number of documents that the service
 * reports, and from what documents of the first pages cost. Pure.
 */
import { NotReadyError } from '../../lib/errors.ts';
import { stretchCount } from './stretches.ts';

export interface PassCost {
  /** The number of documents that the service reports, which lags; null: it reports none. */
  readonly documents: number | null;
  /** How many of them are read. */
  readonly share: number;
  readonly ruPerDocument: number;
  /** What the pass will cost; null: the number of documents is not known. */
  readonly ru: number | null;
}

/** The price of an empty page (fact SVC-34); a page with documents costs at most this much more than they do. */
const PAGE_RU = 2;

/**
 * Computes what reading a share of the source will cost. If a sample costs as much as everything, everything is read:
 * the share of the result is 1.
 */
export function passCost(
  { documentCount: documents, ranges }: { readonly documentCount: number | null; readonly ranges: number },
  { share, readRu }: { readonly share: number; readonly readRu: number },
): PassCost {
  const ruPerDocument = readRu > 0 ? readRu : PAGE_RU;
  if (documents === null) return { documents, share, ruPerDocument, ru: null };
  const all = documents * ruPerDocument;
  const stretches = ranges * stretchCount(documents / ranges, share, ranges);
  const sample = all * share + stretches * PAGE_RU;
  const isWhole = share >= 1 || sample >= all;
  return { documents, share: isWhole ? 1 : share, ruPerDocument, ru: Math.ceil(isWhole ? all : sample) };
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
