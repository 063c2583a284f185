/** Whole numbers of a page, read digit by digit: LSNs, times in seconds, status codes. */
import type { PageScan } from './page-scan.ts';

/** The number at a node; null where there is none, or another value. */
export function integerAt(scan: PageScan, row: number, node: number): number | null {
  const start = scan.start(row, node);
  if (start === 0) return null;
  const end = scan.end(row, node);
  const { page } = scan;
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (page[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return null;
    value = value * 10 + digit;
  }
  return value;
}
