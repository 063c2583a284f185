/**
 * What a test does with the time of a night: `npm run test:nightly` sets COSMIG_NIGHTLY and runs more seeds, more
 * documents and longer loads of the same tests. docs/internals/testing.md lists them with the reason for each.
 */
export const isNightly = process.env['COSMIG_NIGHTLY'] === '1';

/** One size for every run of the tests, a larger one for the night. */
export function sized<T>(size: { readonly daily: T; readonly nightly: T }): T {
  return isNightly ? size.nightly : size.daily;
}
