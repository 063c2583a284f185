/** Limits the size of V8's young generation, which is a setting of the whole process. */
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The young generation of a program that moves documents: half of what V8 allows. A copy is hardly slower with it. */
const YOUNG_BYTES = 16 * 1024 * 1024;

/**
 * Keeps the young generation at its present size; otherwise it grows to 32 MB, which is worth its memory only in
 * programs that allocate much. bin/cosmig.js calls this first, because loading the program would already make it grow.
 * V8 reads this flag whenever the young generation is about to grow, so it can be set in a running process.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Lets the young generation grow to YOUNG_BYTES and no further. It grows only when garbage is collected. */
export function limitYoungGeneration(): void {
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young !== undefined && young.space_size < YOUNG_BYTES) return;
    keepYoungGenerationSmall();
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}
