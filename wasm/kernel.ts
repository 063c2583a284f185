/**
 * The loops over bytes that take most of the time: the scan of a page, and what is made of its rows. Written in
 * AssemblyScript and compiled by `npm run build` to dist/documents/kernel.wasm. Only the files of src/documents/kernel call
 * this code.
 *
 * The caller divides the memory: tables | stack | known names | scratch | page | 64 zero bytes | cuts | rows. The zero bytes
 * allow loads of several bytes at the end of the page without a check.
 */

export { digest } from './digest';
export { faultAt, faultKind } from './page';
export { hash, hashLong } from './hash';
export { identity } from './identity';
export { addCursor, beginMerge, exhausted, merge, nextRival, shelve, sortShelf } from './index';
export { addRecord, forgetKeys, keysAreFull } from './known-keys';
export { beyondCount, listedCount, mappedCount, mapRows } from './map';
export { lookRows, packRows } from './pack';
export { rowKeys } from './row-keys';
export { copyKept } from './rows';
export { count, scanArray, scanFeed, setNames } from './scan';
