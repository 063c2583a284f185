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
