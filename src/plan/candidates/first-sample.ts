/** Reads some documents from the beginning of every range: enough to propose candidates, and for averages. */
import { ChangeFeed } from '../../cosmos/feed/feed.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import { latestVersionScan } from '../../documents/page-scan.ts';
import { termsIn } from '../../preflight/sample.ts';

const READERS_MAX = 8;
const DOCUMENTS_MAX = 5000;
/** Of how many documents the indexed values are counted. */
const COUNTED_MAX = 100;

export interface FirstSample {
  readonly documents: readonly unknown[];
  /** How many values of a document a full index would contain, on average. */
  readonly averageTerms: number;
}

export async function firstSample(side: Side, signal: AbortSignal): Promise<FirstSample> {
  const documents: unknown[] = [];
  const terms: number[] = [];
  const scan = latestVersionScan([]);
  const pageSize = Math.max(10, Math.min(1000, Math.floor(DOCUMENTS_MAX / side.ranges.list.length)));
  await forEachRange(side, side.ranges.list.map(wholeOf), {
    limit: READERS_MAX,
    signal,
    work: async (range, inner) => {
      const { requests, patience, governor, timeoutMs } = side;
      const pages = new ChangeFeed(requests, { mode: 'latest-version', range, pageSize }).parsedPages(
        'beginning',
        {
          signal: inner,
          timeoutMs,
          governor,
          patience: patience.fresh(),
          sessionToken: () => tokenOf(side, range.range.id),
          parse: (page) => {
            const count = page.status === 304 ? 0 : scan.scan(page.bytes).count;
            for (let row = 0; row < count && documents.length < DOCUMENTS_MAX; row += 1) {
              const bytes = scan.bytes(row, scan.nodes.document);
              documents.push(JSON.parse(bytes.toString()));
              if (terms.length < COUNTED_MAX) terms.push(termsIn(bytes));
            }
            page.free();
          },
        },
      );
      await pages.next();
    },
  });
  const sum = terms.reduce((total, one) => total + one, 0);
  return { documents, averageTerms: terms.length === 0 ? 0 : sum / terms.length };
}
