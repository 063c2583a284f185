import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { built } from '../../helpers/process/built.ts';

const HEAP = built(new URL('../../../src/lib/heap.ts', import.meta.url));

/** The size of the space for young objects after many were made, in MB; in a process of its own, which it is set for. */
function youngMbAfter(first: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { keepYoungGenerationSmall } from ${JSON.stringify(HEAP)};
    ${first}
    const kept = [];
    for (let i = 0; i < 3_000_000; i += 1) kept[i % 50_000] = { i };
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    console.log(young.space_size / 2 ** 20);`;
  const args = ['--input-type=module', '--eval', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('keepYoungGenerationSmall: many allocations -> the young generation does not grow', () => {
  expect(youngMbAfter('')).toBeGreaterThan(8);
  expect(youngMbAfter('keepYoungGenerationSmall();')).toBeLessThan(8);
});

/** The most memory of the heap, in MB, while 200,000 objects are kept and replaced again and again. */
function heapMbAfter(first: string): number {
  const script = `
    import { getHeapStatistics } from 'node:v8';
    import { keepOldGenerationSmall } from ${JSON.stringify(HEAP)};
    ${first}
    const kept = [];
    let most = 0;
    for (let i = 0; i < 3_000_000; i += 1) {
      kept[i % 200_000] = { i, text: [i] };
      if (i % 10_000 === 0) most = Math.max(most, getHeapStatistics().used_heap_size);
    }
    console.log(most / 2 ** 20);`;
  const args = ['--input-type=module', '--eval', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('keepOldGenerationSmall: old objects are replaced -> less garbage is left than by default', () => {
  expect(heapMbAfter('keepOldGenerationSmall();')).toBeLessThan(heapMbAfter('') * 0.9);
});
