import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ENTRY } from '../../../src/documents/comparison-entries.ts';
import { VerifyStore } from '../../../src/verify/store.ts';
import { rowsIn } from '../../helpers/database-file.ts';

const SUBJECT = { fingerprint: 'f', sourceRid: 's', targetRid: 't', targetTtl: null };

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-proof-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const path = (): string => join(folder, 'ledger.db-verify');

describe('verify store: the last proof', () => {
  test('no comparison, or one killed before it created tables -> none', () => {
    expect(VerifyStore.lastProof(path())).toBeNull();
    writeFileSync(path(), '');
    expect(VerifyStore.lastProof(path())).toBeNull();
  });

  test('another comparison runs -> still the earlier proof', () => {
    using store = VerifyStore.open(path());
    store.begin({ ...SUBJECT, beganAtMs: 1, extent: 'all', isAfterRepair: false });
    expect(VerifyStore.lastProof(path())).toBeNull();
    const proof = { atMs: 5, fingerprint: 'f', details: '{"source":{"count":3}}' };
    store.end(proof);
    store.begin({ ...SUBJECT, beganAtMs: 6, extent: 'all', isAfterRepair: false });
    expect(VerifyStore.lastProof(path())).toEqual(proof);
  });

  test('many comparisons -> only the last proof is kept', () => {
    {
      using store = VerifyStore.open(path());
      for (const atMs of [1, 2, 3]) {
        store.begin({ ...SUBJECT, beganAtMs: atMs, extent: 'all', isAfterRepair: false });
        store.end({ atMs, fingerprint: 'f', details: '{}' });
      }
    }
    expect(rowsIn(path(), 'SELECT at_ms FROM proofs')).toEqual([{ at_ms: 3 }]);
  });
});

test('verify store: documents on neither side -> kept with the proof of their comparison, and until a change is seen', () => {
  const [one, two] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
  const listed = { nowMs: 2, readMs: 1, knowsHidden: true };
  const proof = { atMs: 3, fingerprint: 'f', details: '{}' };
  const begin = (extent: 'all' | 'changes') => ({ ...SUBJECT, beganAtMs: 1, extent, isAfterRepair: false });
  /** Opens the file again for each step, as after a crash. */
  const then = (step: (store: VerifyStore) => void): readonly Buffer[] => {
    using store = VerifyStore.open(path());
    step(store);
    return store.absent();
  };
  const readNow = (absent: readonly Buffer[]): readonly Buffer[] =>
    then((store) => {
      store.begin(begin('all'));
      store.listed({ source: 0, target: 0 }, { ...listed, absent });
    });
  expect(readNow([one, two])).toEqual([]);
  expect(then((store) => store.end(proof))).toEqual([one, two]);
  // An unfinished comparison changes nothing, nor does one of changes that has proven nothing.
  expect(readNow([one])).toEqual([one, two]);
  const seen = { identity: one, name: { id: '"1"', sourceKey: [], targetKeys: [] } };
  expect(
    then((store) => {
      store.begin(begin('changes'));
      store.candidates.add([seen]);
      store.end();
    }),
  ).toEqual([one, two]);
  expect(then((store) => store.end(proof))).toEqual([two]);
  expect(readNow([one])).toEqual([two]);
  expect(then((store) => store.end(proof))).toEqual([one]);
  expect(then((store) => store.disprove())).toEqual([]);
});

test.skipIf(process.platform === 'win32')('verify store: its files -> only the owner may read them', () => {
  using store = VerifyStore.open(path());
  store.begin({ ...SUBJECT, beganAtMs: 1, extent: 'all', isAfterRepair: false });
  const entries = new Uint32Array(9);
  entries[ENTRY.size] = entries.byteLength;
  store.checkpoint('source', { parts: [], buckets: Buffer.alloc(8), refused: {}, longIntegers: 0, entries });
  store.end();
  const modes = readdirSync(folder)
    .filter((name) => !name.endsWith('-journal'))
    .map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
  expect(Object.fromEntries(modes)).toEqual({
    'ledger.db-verify': '600',
    'ledger.db-verify-lock': '600',
    'ledger.db-verify-mark': '600',
    'ledger.db-verify-runs': '600',
    'ledger.db-verify-shm': '600',
    'ledger.db-verify-wal': '600',
  });
});
