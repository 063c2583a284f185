/**
 * Lists the documents in which the application uses a property name (`_lsn`) that feeds use for a value of their own. A
 * feed shows its own value there, so on both sides the pass reads such a document without the application's value. A
 * query and a point read return the document as it is stored. Invariant: each such document becomes a candidate, and is
 * then compared by point reads, in which the property is content like any other.
 */
import { queryRange } from '../../cosmos/container/query-range.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import { FIRST_CONTACT } from '../../cosmos/load/retry.ts';
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { queryScan } from '../../documents/page-scan.ts';
import { FEED_PROPERTY } from '../../documents/system-properties.ts';
import { putName, readName } from '../document-name.ts';
import { rowPaths, SourceRows, TargetRows, type RowOptions } from '../pass/rows.ts';
import type { Sides } from '../sides.ts';
import type { VerifyStore } from '../store.ts';

const QUERY = `SELECT * FROM c WHERE IS_DEFINED(c["${FEED_PROPERTY}"])`;
/** How many ranges are queried at the same time. Most answer from their index that there is no such document. */
const READERS_MAX = 8;

interface HiddenParts {
  readonly sides: Sides;
  readonly store: VerifyStore;
  readonly rows: RowOptions;
  readonly isRequired: boolean;
  readonly signal: AbortSignal;
}

/**
 * Returns whether both sides could be queried. An identity that may only read feeds and documents has no right to
 * query. If `isRequired`, such a refusal is thrown.
 */
export async function listHidden(parts: HiddenParts): Promise<boolean> {
  try {
    await queryBoth(parts);
    return true;
  } catch (error) {
    if (parts.isRequired || troubleOf(error)?.kind !== 'denied') throw error;
    return false;
  }
}

async function queryBoth({ sides, store, rows, isRequired, signal }: HiddenParts): Promise<void> {
  for (const side of [sides.source, sides.target]) {
    const take = pageTaker(side, { store, rows });
    await forEachRange(side, side.ranges.list.map(wholeOf), {
      limit: READERS_MAX,
      signal,
      work: async (range, inner) => {
        const { requests, governor, patience, sessions, timeoutMs } = side;
        const call = {
          signal: inner,
          timeoutMs,
          governor,
          patience: isRequired ? patience.fresh() : patience.fresh(FIRST_CONTACT),
          sessionToken: tokenOf(side, range.range.id),
        };
        for await (const { body, sessionToken } of queryRange(requests, { range, query: QUERY }, call)) {
          sessions.add(sessionToken);
          take(body);
        }
      },
    });
  }
}

/** Returns a function that adds the documents of a page to the candidates. */
function pageTaker(
  { is }: Side,
  { store, rows: options }: Pick<HiddenParts, 'store' | 'rows'>,
): (page: Buffer) => void {
  const scan = queryScan(rowPaths(options));
  const rows = is === 'source' ? new SourceRows(scan, options) : new TargetRows(scan, options);
  const sourceLevels = options.rekey.plan.sourcePaths.length;
  const out = new ByteOutput();
  return (page) => {
    const { count } = scan.scan(page);
    const found = Array.from({ length: count }, (_, row) => row).flatMap((row) => {
      const verdict = rows.read(row);
      if (verdict === 'none') return [];
      out.clear();
      // A document that cannot be moved has no key. What `key` then returns is that of an earlier row.
      const moved = rows instanceof SourceRows && verdict !== 'refused' ? rows.key : [];
      const values = rows instanceof TargetRows ? rows.nameValues : moved;
      putName(out, { scan, row, nodes: rows.nameNodes, values });
      const { targetKey, ...name } = readName(out.view(), sourceLevels);
      const identity = Buffer.from(rows.words.slice(0, 4).buffer);
      return [{ identity, name: { ...name, targetKeys: targetKey.length === 0 ? [] : [targetKey] } }];
    });
    store.candidates.add(found);
  };
}
