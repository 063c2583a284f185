/** A report names every document that differs, however many there are. */
import { chmodSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeReport } from '../../../src/report/verify-report-file.ts';
import type { Candidate } from '../../../src/verify/recheck/candidate-store.ts';
import { firstDifferences, streamDifferences } from '../../../src/verify/difference-lists.ts';
import { VerifyStore } from '../../../src/verify/store.ts';
import { VERDICT } from './verdict.ts';

const COUNT = 3500;

function candidate(n: number, state: Candidate['state']): Candidate {
  const identity = Buffer.alloc(16);
  identity.writeUInt32BE(n, 12);
  const name = { id: `"o${n}"`, sourceKey: ['"a"', null], targetKeys: [[`${n}`]] };
  return { identity, name, state, kind: 'missing', seen: null, fenceLsn: null, sinceMs: 1000 };
}

test('report file: more differences than fit into memory -> all are written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-report-'));
  using store = VerifyStore.open(join(folder, 'verify.db'));
  const found = Array.from({ length: COUNT }, (_none, n) => candidate(n, 'confirmed'));
  found.push(candidate(COUNT, 'open'), candidate(COUNT + 1, 'waived'), candidate(COUNT + 2, 'equal'));
  store.candidates.add(found);
  store.candidates.set(found);
  const verdict = { ...VERDICT, details: { ...VERDICT.details, listed: firstDifferences(store, 2000) } };
  expect(verdict.details.listed.differences).toHaveLength(1000);

  const path = join(folder, 'proof.json');
  expect(
    writeReport(path, verdict, { named: streamDifferences(store, 2000), proofMs: null }),
  ).toBeUndefined();
  const sample = (n: number): object => ({
    kind: 'missing',
    id: `o${n}`,
    sourceKey: ['a', {}],
    targetKey: [n],
  });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    equal: VERDICT.equal,
    fingerprint: VERDICT.details.fingerprint,
    listed: {
      differences: Array.from({ length: COUNT }, (_none, n) => sample(n)),
      inFlight: [{ ...sample(COUNT), ageMs: 1000 }],
      waived: [sample(COUNT + 1)],
    },
  });
});

test.skipIf(process.platform === 'win32')(
  'report file: created -> only its owner may read it; an existing file -> keeps its permissions',
  () => {
    const path = join(mkdtempSync(join(tmpdir(), 'cosmig-report-')), 'proof.json');
    const mode = (): number => statSync(path).mode & 0o777;
    expect(writeReport(path, VERDICT, { named: null, proofMs: null })).toBeUndefined();
    expect(mode()).toBe(0o600);
    chmodSync(path, 0o644);
    expect(writeReport(path, VERDICT, { named: null, proofMs: null })).toBeUndefined();
    expect(mode()).toBe(0o644);
  },
);

test('report file: a count -> no lists; no differences -> empty lists', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-report-'));
  using store = VerifyStore.open(join(folder, 'verify.db'));
  const path = join(folder, 'proof.json');
  const written = (): unknown => JSON.parse(readFileSync(path, 'utf8'));
  expect(writeReport(path, VERDICT, { named: null, proofMs: null })).toBeUndefined();
  expect(written()).not.toHaveProperty('listed');
  expect(writeReport(path, VERDICT, { named: streamDifferences(store, 1), proofMs: 1 })).toBeUndefined();
  expect(written()).toMatchObject({ listed: { differences: [], inFlight: [], waived: [] } });
});
