import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { runCosmig, type Ran } from '../../../helpers/run-cosmig.ts';
import { envOf, SPEC, typed } from '../../../helpers/migration/typed.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n}`,
    tenantId: `t${n % 5}`,
    secret: 'body',
  }));

let move: Move;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-verify-'));
  move = await Move.open();
  await putAll(move, orders(30));
  await move.run('copy');
  await move.run('catch-up');
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function verify(...argv: readonly string[]): Promise<Ran> {
  return typed(move, 'verify', ...SPEC, ...argv);
}

describe('cosmig verify', () => {
  test('equal sides -> says so, exit code 0', async () => {
    const { code, stdout, stderr } = await verify();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'next: cosmig tail replicates what has changed since; run cosmig cutover when you are ready (with the same flags)\n',
    });
    expect(stdout).toMatch(/^equal +yes$/m);
    expect(stdout).toMatch(/^source +30 documents$/m);
  });

  test('--json -> prints the documented object', async () => {
    const { code, stdout } = await verify('--json');
    expect(code).toBe(0);
    const printed: unknown = JSON.parse(stdout);
    expect(printed).toMatchObject({
      command: 'verify',
      migration: expect.any(String) as unknown,
      level: 'digest',
      equal: true,
      source: { count: 30 },
      target: { count: 30 },
      differences: { missing: 0, extra: 0, different: 0, wrongSlot: 0 },
      inFlight: 0,
      samples: [],
      ru: { source: expect.any(Number) as unknown, target: expect.any(Number) as unknown },
      durationMs: expect.any(Number) as unknown,
      complete: true,
    });
  });

  test('differences -> listed without content, exit code 4; the report has all of them', async () => {
    await move.target.item('o3', 't3').delete();
    const report = join(folder, 'proof.json');
    try {
      const { code, stdout, stderr } = await verify('--report', report);
      expect(code).toBe(4);
      expect(stdout).toMatch(/^equal +NO$/m);
      expect(stdout).toMatch(/^missing +"o3" {2}source key \["c3"\] {2}target key \["t3"\]$/m);
      expect(stderr).toMatch(/^cosmig: 1 difference between source and target\n {2}why {2}1 missing; /);
      const kept = readFileSync(report, 'utf8');
      expect(stdout + stderr + kept).not.toContain('body');
      expect(JSON.parse(kept)).toMatchObject({
        versions: { cosmig: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown },
        equal: false,
        fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
        containers: { source: expect.any(String) as unknown, target: expect.any(String) as unknown },
        digests: { source: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown },
        ranges: { source: [{ id: '0', documents: 30, upToLsn: expect.any(Number) as unknown }] },
        listed: { differences: [{ kind: 'missing', id: 'o3' }] },
      });
      const json = await verify('--json', '--quiet');
      expect(json.code).toBe(4);
      expect(JSON.parse(json.stdout)).toMatchObject({ equal: false, error: { code: 'mismatch' } });
    } finally {
      await move.target.items.upsert(orders(4)[3]);
    }
  });

  test('report cannot be written -> refused before comparing; if it fails later, the verdict is kept', async () => {
    const early = await verify('--report', join(folder, 'nowhere', 'proof.json'));
    expect([early.code, early.stdout]).toEqual([2, '']);
    expect(early.stderr).toMatch(
      /^cosmig: the report cannot be written to .*\n {2}why {2}there is no such file/,
    );
    // Opened like any other file, and full.
    const late = await verify('--report', '/dev/full', '--json');
    expect(late.code).toBe(7);
    expect(JSON.parse(late.stdout)).toMatchObject({
      equal: true,
      error: { code: 'ledger', message: 'the report cannot be written to /dev/full' },
    });
    expect(late.stderr).toContain('its disk is full');
  });

  test('wrong key -> reported at once, without waiting as for a key rotation', async () => {
    const key = Buffer.alloc(64, 7).toString('base64');
    const connectionString = move.connectionString.replace(/AccountKey=[^;]*/, `AccountKey=${key}`);
    const { code, stderr } = await runCosmig(['verify', ...SPEC], {
      env: { ...envOf(move), COSMIG_SOURCE_CONNECTION_STRING: connectionString },
      clock: systemClock,
    });
    expect([code, stderr]).toEqual([6, expect.stringContaining('401')]);
  });

  test('--deadline passes -> exit code 3; --deadline invalid -> exit code 2', async () => {
    await move.put({ id: 'late', customerId: 'c', tenantId: 't1' });
    const { code, stdout, stderr } = await verify('--deadline', '1s');
    expect(code).toBe(3);
    expect(stdout).toMatch(/^equal +not proven$/m);
    expect(stdout).toMatch(/^in flight +1 document, the oldest for \d+ s$/m);
    expect(stderr).toContain('1 document may still be in flight: 1 range of the source has changes');
    // An observer learns the reason before the deadline.
    const stop = new AbortController();
    const watched = verifyMove(move, {
      signal: stop.signal,
      onProgress: ({ waitsFor }) => void (waitsFor !== null && stop.abort(new Error(waitsFor))),
    });
    await expect(watched).rejects.toThrow('cosmig tail');
    const { code: usage, stderr: hint } = await verify('--deadline', 'soon');
    expect(usage).toBe(2);
    expect(hint).toContain('for example --deadline 3m');
  });

  test('--level count -> compares counts', async () => {
    await move.run('catch-up');
    const { code, stdout } = await verify('--level', 'count', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ level: 'count', equal: true, source: { count: 31 } });
  });
});
