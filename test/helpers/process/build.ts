/** Before the first test: what tests start as processes is bundled. */
import { buildForProcesses } from './built.ts';

export async function setup(): Promise<void> {
  // Tests that start no process need no build.
  if (process.env['COSMIG_TEST_BUILD'] !== 'nothing') await buildForProcesses();
}
