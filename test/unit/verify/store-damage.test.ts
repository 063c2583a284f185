/** Random damage to a verify file: it is refused, or as good as new, or contains what was written to it. */
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { LedgerError } from '../../../src/lib/errors.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import type { Proof } from '../../../src/verify/proof-record.ts';
import { VerifyStore } from '../../../src/verify/store.ts';
import { damage, type OlderFiles } from '../../helpers/damage.ts';
import { contentsOf, execIn } from '../../helpers/database-file.ts';
import { draws } from '../../helpers/generated.ts';
import { sized } from '../../helpers/nightly.ts';
import { hashOf, temporaryFolder } from '../state/making.ts';

const SEEDS = sized({ daily: draws(100), nightly: 5000 });
const ENDINGS = ['', '-wal', '-shm', '-mark', '-lock'];
const SUBJECT = { fingerprint: 'f', sourceRid: 's', targetRid: 't', targetTtl: null } as const;
const OLDER: Proof = { atMs: 1, fingerprint: 'f', details: '{"older":true}' };
const PROOF: Proof = { atMs: 9, fingerprint: 'f', details: '{"source":{"count":3}}' };

/** A comparison in progress after one that ended clean, while its process has the file open. */
function filled(path: string): { readonly store: VerifyStore; readonly older: Required<OlderFiles> } {
  const store = VerifyStore.open(path);
  const older = { wal: [] as Buffer[], database: [] as Buffer[] };
  const keepFiles = (): void => {
    older.wal.push(readFileSync(`${path}-wal`));
    execIn(path, 'PRAGMA wal_checkpoint(PASSIVE)');
    older.database.push(readFileSync(path));
  };
  for (const proof of [OLDER, PROOF]) {
    store.begin({ ...SUBJECT, beganAtMs: proof.atMs, extent: 'all', isAfterRepair: false });
    keepFiles();
    store.end(proof);
  }
  store.begin({ ...SUBJECT, beganAtMs: 10, extent: 'all', isAfterRepair: false });
  for (let n = 1; n <= 6; n += 1) {
    for (const side of ['source', 'target'] as const) {
      const part = { min: '', max: 'FF', rangeId: '0', position: `"${n}"`, fenceLsn: 9, isDone: n === 6 };
      store.checkpoint(side, {
        parts: [{ ...part, documents: n }],
        buckets: Buffer.alloc(98_304, n),
        refused: { 'too large': n },
        longIntegers: 0,
        entries: new Uint32Array(0),
      });
    }
    if (n % 3 === 0) keepFiles();
  }
  const names = Array.from({ length: 300 }, (_, n) => ({
    identity: hashOf(`d${n}`),
    name: { id: `"d${n}"`, sourceKey: ['"k"'], targetKeys: [['"t"']] },
  }));
  store.candidates.add(names);
  store.listed({ source: 0, target: 0 }, { nowMs: 11, readMs: 1, knowsHidden: true, absent: [] });
  return { store, older };
}

function copyAll(path: string): string {
  const copy = join(temporaryFolder(), 'ledger.db-verify');
  for (const ending of ENDINGS) if (existsSync(path + ending)) copyFileSync(path + ending, copy + ending);
  return copy;
}

/** What the next comparison finds; 'again' if it starts from scratch. */
function contentsWhenOpened(path: string): unknown {
  const isNew = ((): boolean => {
    using store = VerifyStore.open(path);
    return store.begun() === null && store.proof() === null;
  })();
  return isNew ? 'again' : contentsOf(path);
}

/** What `read` returns, or 'refused' if the file is refused with exit code 7. */
function outcomeOf(read: () => unknown, what: string): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof LedgerError) return 'refused';
    throw new Error(what, { cause: error });
  }
}

test('verify file: random damage -> refused, started again, or the same contents', () => {
  const path = join(temporaryFolder(), 'ledger.db-verify');
  const { store, older } = filled(path);
  const killed = copyAll(path);
  store[Symbol.dispose]();
  const expected = contentsOf(path);
  const first = Number(process.env['COSMIG_SEED'] ?? 1);
  const seen = new Set<string>();
  for (let seed = first; seed < first + SEEDS; seed += 1) {
    const copy = copyAll(seed % 2 === 0 ? killed : path);
    const what = `seed ${seed}: ${damage(copy, seededRandom(seed), older)}`;
    const proof = outcomeOf(() => VerifyStore.lastProof(copy), what);
    expect({ what, proof }).toEqual({ what, proof: expect.toBeOneOf([PROOF, null, 'refused']) });
    const found = outcomeOf(() => contentsWhenOpened(copy), what);
    expect({ what, found }).toEqual({ what, found: expect.toBeOneOf([expected, 'refused', 'again']) });
    seen.add(typeof found === 'string' ? found : 'same');
    rmSync(dirname(copy), { recursive: true });
  }
  expect([...seen].toSorted()).toEqual(['again', 'refused', 'same']);
}, 600_000);

test.each([
  ['a proof', "UPDATE proofs SET details = '{}'"],
  ['a position', "UPDATE parts SET position = '\"9\"' WHERE side = 'source'"],
  ['sums', "UPDATE sums SET buckets = zeroblob(length(buckets)) WHERE side = 'target'"],
  [
    'a candidate that is gone',
    'DELETE FROM candidates WHERE identity = (SELECT min(identity) FROM candidates)',
  ],
  ['tables of another shape', 'ALTER TABLE parts RENAME COLUMN range_id TO rbnge_id'],
])(
  'verify file: %s changed by another program -> refused, and the hint says what to delete',
  (_what, sql) => {
    const path = join(temporaryFolder(), 'ledger.db-verify');
    filled(path).store[Symbol.dispose]();
    execIn(path, sql);
    const opened = (): VerifyStore => VerifyStore.open(path);
    expect(opened).toThrow(/ledger\.db-verify is damaged/);
    expect(opened).toThrow(
      expect.objectContaining({ exitCode: 7, hint: expect.stringContaining(`delete ${path}`) }),
    );
  },
);
