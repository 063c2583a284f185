/** Before the first test: what tests start as processes is compiled. */
import { buildForProcesses } from './built.ts';

export function setup(): void {
  // A mutation may not compile, and tests that start no process need no build.
  if (process.env['COSMIG_TEST_BUILD'] !== 'nothing') buildForProcesses();
}
