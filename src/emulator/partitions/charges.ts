/**
 * Computes what each operation costs in request units, by the tables and formulas of Microsoft's "Understand request
 * unit consumption" (facts SVC-31 to SVC-35). The service's charges differ from these by up to a third, but grow in the
 * same way. Every answer states a charge.
 *
 * Invariant: a charge has at most two decimals, as on the service, and is never negative.
 */

/** The RU to read, and to write, one item of 1, 2, 4, ... 2048 KB. */
const READ_RU = [1, 1.04, 1.14, 1.33, 1.67, 2.19, 4.76, 9.95, 20.28, 40.95, 145.9, 291.8] as const;
const WRITE_RU = [4.95, 6.29, 6.67, 7.04, 9.52, 11.23, 22.67, 48.19, 98.29, 184.57, 625, 1250] as const;

const KB = 1024;
/** The RU for each indexed term that a write adds or removes. */
const TERM_RU = 0.2;
/** The RU for each operation of a patch, in addition to the price of a replace. */
const PATCH_OPERATION_RU = 0.4;
/** The RU for a read or delete of a missing document, seen in a production trace (fact SVC-34). */
export const POINT_MISS_RU = 1.24;
/**
 * The RU for a create whose id is taken. No figure is published; we assume the charge for a missing document (fact
 * SVC-34).
 */
export const CONFLICT_RU = 1.24;
/** The RU for a 429, seen in a production trace (fact SVC-34). */
export const THROTTLED_RU = 0.38;
/** The RU for an empty page of a feed, with status 200 or 304 (fact SVC-34). */
export const EMPTY_POLL_RU = 2;
/** The RU for each physical range that a query visits, whatever the query finds there (fact SVC-35). */
const QUERY_RANGE_RU = 2.5;

/** The RU for a refused operation whose reason has no price of its own. */
export const REFUSED_RU = 1;

/** Rounds a charge to two decimals, as replies state it. */
export function roundRu(ru: number): number {
  return Math.round(ru * 100) / 100;
}

export function readCharge(bytes: number): number {
  return roundRu(interpolate(READ_RU, bytes));
}

/** Returns the charge of a create or a delete. */
export function writeCharge(bytes: number, terms: number): number {
  return roundRu(interpolate(WRITE_RU, bytes) + TERM_RU * terms);
}

/**
 * Returns the charge of a replace, or of a patch with that many operations. The old and the new version are charged by
 * their size. `changedTerms` counts removed and added terms.
 */
export function replaceCharge(
  oldBytes: number,
  newBytes: number,
  changedTerms: number,
  patchOperations = 0,
): number {
  const documentsRu = interpolate(WRITE_RU, oldBytes) + interpolate(WRITE_RU, newBytes);
  return roundRu(documentsRu + TERM_RU * changedTerms + PATCH_OPERATION_RU * patchOperations);
}

/**
 * Returns the charge of a feed page from the sizes of its items. The same items cost the same on one page or on
 * several.
 */
export function feedCharge(itemBytes: readonly number[]): number {
  if (itemBytes.length === 0) return EMPTY_POLL_RU;
  return roundRu(itemBytes.reduce((ru, bytes) => ru + interpolate(READ_RU, bytes), 0));
}

/**
 * Returns the charge of a query, from the number of physical ranges that it visits and the documents that it loads, by
 * their average size. A count that the index answers alone loads no document. The price of index lookups is not
 * published (fact SVC-34).
 */
export function queryCharge(
  ranges: number,
  loaded: { readonly items: number; readonly bytes: number },
): number {
  const { items, bytes } = loaded;
  const reads = items === 0 ? 0 : items * interpolate(READ_RU, bytes / items);
  return roundRu(QUERY_RANGE_RU * ranges + reads);
}

/**
 * Returns the price of a document, interpolated between two sizes of the table. Below the first size the price is flat.
 * Above the last size it grows as between the last two sizes.
 */
function interpolate(table: readonly number[], bytes: number): number {
  const kb = Math.max(1, bytes / KB);
  const column = Math.min(table.length - 2, Math.floor(Math.log2(kb)));
  const columnKb = 2 ** column;
  const [low = 0, high = 0] = [table[column], table[column + 1]];
  return low + ((kb - columnKb) / columnKb) * (high - low);
}
