/** Reads some documents from the beginning of every range: enough to propose candidates. */
import { ChangeFeed } from '../../cosmos/feed/feed.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import { latestVersionScan } from '../../documents/page-scan.ts';

const READERS_MAX = 8;
const DOCUMENTS_MAX = 5000;

export async function firstSample(side: Side, signal: AbortSignal): Promise<readonly unknown[]> {
  const documents: unknown[] = [];
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
            }
            page.free();
          },
        },
      );
      await pages.next();
    },
  });
  return documents;
}
