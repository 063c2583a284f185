/** Limits the memory that V8 leaves to garbage. These are settings of the whole process. */
import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the young generation at its present size; otherwise it grows to 32 MB, which is worth its memory only in
 * programs that allocate much. bin/cosmig.js calls this first, because loading the program would already make it grow.
 * V8 reads this flag whenever the young generation is about to grow, so it can be set in a running process.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Lets the heap grow to twice of what was in use, instead of four times, before garbage is searched for in all of it. V8 reads
 * this flag after each such search, so it can be set in a running process.
 */
export function keepOldGenerationSmall(): void {
  setFlagsFromString('--heap-growing-percent=100');
}
