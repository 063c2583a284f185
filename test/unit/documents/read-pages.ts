/** What the kernel and the plain walk find in a page, in one form: rows with offsets and cuts, or the fault. */
import { PageError } from '../../../src/documents/page-error.ts';
import type { PageScan } from '../../../src/documents/page-scan.ts';
import { Fault, PlainWalk, ROW_HEAD } from './plain-walk.ts';

export function readAll(scan: PageScan, page: Buffer): object {
  try {
    scan.scan(page);
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    return { fault: error.message };
  }
  const rows = Array.from({ length: scan.count }, (_, row) => ({
    element: scan.elementStart(row),
    values: Array.from({ length: scan.tree.count }, (_, node) => [
      scan.start(row, node),
      scan.end(row, node),
    ]),
    cuts: Array.from({ length: scan.lastCut(row) - scan.firstCut(row) }, (_, i) => {
      const cut = scan.firstCut(row) + i;
      return [scan.cutStart(cut), scan.cutEnd(cut)];
    }),
  }));
  return { rows };
}

export function readPlainly(scan: PageScan, page: Buffer): unknown {
  const walk = new PlainWalk(scan.tree);
  try {
    walk.walk(scan.shape, page);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: new PageError(error.what, error.at).message };
  }
  const stride = ROW_HEAD + 2 * scan.tree.count;
  const rows = Array.from({ length: walk.count }, (_, row) => {
    const fields = [...walk.rows.subarray(row * stride, (row + 1) * stride)];
    const [start, , firstCut = 0, lastCut = 0] = fields;
    return {
      element: start,
      values: Array.from({ length: scan.tree.count }, (_, node) =>
        fields.slice(ROW_HEAD + 2 * node, ROW_HEAD + 2 * node + 2),
      ),
      cuts: Array.from({ length: lastCut - firstCut }, (_, i) => [
        ...walk.cuts.subarray(2 * (firstCut + i), 2 * (firstCut + i) + 2),
      ]),
    };
  });
  return { rows };
}
