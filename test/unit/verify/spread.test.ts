import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ReadPart } from '../../../src/cosmos/feed/fenced-pass.ts';
import { countsOfParts, countsOfRanges, lastSpread } from '../../../src/verify/spread.ts';
import { VerifyStore } from '../../../src/verify/store.ts';

function part(rangeId: string, [min, max]: readonly [string, string], more: Partial<ReadPart>): ReadPart {
  return { rangeId, min, max, position: null, fenceLsn: 1, isDone: true, documents: 0, ...more };
}

describe('documents of each partition', () => {
  test('parts of one range each -> one count each, in the order of the hash space', () => {
    expect(
      countsOfParts([part('1', ['1F', 'FF'], { documents: 4 }), part('0', ['', '1F'], { documents: 3 })]),
    ).toEqual([
      { ids: ['0'], min: '', max: '1F', documents: 3 },
      { ids: ['1'], min: '1F', max: 'FF', documents: 4 },
    ]);
    expect(countsOfRanges([{ id: '0', min: '', max: 'FF', documents: 2 }])).toEqual([
      { ids: ['0'], min: '', max: 'FF', documents: 2 },
    ]);
  });

  test('a range that was split after some of it was read -> its children are counted together', () => {
    const parts = [
      part('0', ['', '1'], { documents: 9 }),
      part('3', ['1', '2'], { documents: 30 }),
      // Its sibling was split again, before it had read anything.
      part('5', ['2', '3'], { documents: 1, countedWith: '1' }),
      part('6', ['3', '4'], { documents: 2, countedWith: '1' }),
      part('2', ['4', 'FF'], { documents: 7 }),
    ];
    expect(countsOfParts(parts)).toEqual([
      { ids: ['0'], min: '', max: '1', documents: 9 },
      { ids: ['3', '5', '6'], min: '1', max: '4', documents: 33 },
      { ids: ['2'], min: '4', max: 'FF', documents: 7 },
    ]);
  });

  test('ranges that were merged while they were read -> one partition', () => {
    const parts = [part('4', ['', '1'], { documents: 5 }), part('4', ['1', 'FF'], { documents: 6 })];
    expect(countsOfParts(parts)).toEqual([{ ids: ['4'], min: '', max: 'FF', documents: 11 }]);
  });
});

test('verify file: the counts -> stay through the next comparisons, until they are replaced', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-spread-'));
  try {
    const path = join(folder, 'ledger.db-verify');
    expect(lastSpread(path)).toBeNull();
    using store = VerifyStore.open(path);
    expect(lastSpread(path)).toBeNull();
    const counts = { source: [{ ids: ['0'], min: '', max: 'FF', documents: 1 }], target: [] };
    store.spread.put({ atMs: 1, fingerprint: 'f', counts });
    const subject = { fingerprint: 'f', sourceRid: 's', targetRid: 't', targetTtl: null };
    store.begin({ ...subject, beganAtMs: 2, extent: 'all', isAfterRepair: false });
    store.disprove();
    expect(lastSpread(path)).toEqual({ atMs: 1, fingerprint: 'f', counts });
    store.spread.put({ atMs: 3, fingerprint: 'g', counts });
    expect(lastSpread(path)).toEqual({ atMs: 3, fingerprint: 'g', counts });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
