/** How much memory V8 takes for what is young; a setting of the whole process. */
import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the space for young objects as small as it is now; else it grows to 32 MB, which pays for programs that make
 * many. bin/cosmig.js calls it before anything large is loaded: it has grown behind that. V8 reads this flag whenever
 * that space is about to grow, so unlike others it may be set in a process that runs.
 */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
