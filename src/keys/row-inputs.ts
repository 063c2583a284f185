/** Reads the values of a row from which a plan computes its key. */
import type { PageScan } from '../documents/page-scan.ts';
import { decodeScalar, isComposite } from '../documents/scalar.ts';
import { composite, type Value } from './strategies/strategy.ts';

/** Returns the value of a row at a node. */
export function valueAt(scan: PageScan, row: number, node: number): Value {
  const start = scan.start(row, node);
  if (start === 0) return undefined;
  if (isComposite(scan.page, start)) return composite;
  return decodeScalar(scan.page, start, scan.end(row, node));
}

/** Returns the values of a row at nodes. */
export function valuesAt(scan: PageScan, row: number, nodes: readonly number[]): readonly Value[] {
  const values: Value[] = [];
  for (const node of nodes) values.push(valueAt(scan, row, node));
  return values;
}
