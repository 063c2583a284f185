/** `--watch` of commands that work, `cosmig watch` from the command line, and the page as a file. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, envOf, start, typed } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';
import { freePort } from '../../helpers/process/free-port.ts';
import { until } from '../../helpers/wait.ts';

let move: Move;

beforeAll(async () => {
  move = await Move.open({ source: { throughput: 20_000 }, target: { throughput: 20_000 } });
  await putAll(
    move,
    Array.from({ length: 50 }, (_none, n) => ({
      id: `o${n}`,
      customerId: `c${n}`,
      tenantId: `t${n % 5}`,
      n,
    })),
  );
});
afterAll(async () => {
  await move[Symbol.asyncDispose]();
});

async function metricsAt(port: number): Promise<string> {
  try {
    return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  } catch (error) {
    return String(error);
  }
}

test('copy and tail --watch -> the page is served while they run, and ends with them', async () => {
  expect((await cosmig(move, 'copy', '--watch')).stderr).toMatch(
    /watch it at http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\//,
  );
  const port = await freePort();
  await using tail = start(move, 'tail', '--watch', String(port));
  const isServed = async (): Promise<boolean> => /cosmig_running\{.*\} 1/.test(await metricsAt(port));
  await until(isServed, { what: 'the page of the run' });
  tail.kill('SIGTERM');
  expect((await tail.ended).code).toBe(143);
  expect(await metricsAt(port)).toContain('fetch failed');
});

test('watch --json -> one object with the address of the page; Ctrl-C ends it', async () => {
  const port = await freePort();
  await using watch = startCosmig(['watch', '--json', '--port', String(port)], envOf(move));
  await until(async () => (await metricsAt(port)).includes('cosmig_build_info'), { what: 'the page' });
  watch.kill('SIGINT');
  const { code, stdout } = await watch.ended;
  const [first = ''] = stdout.split('\n');
  const ready = JSON.parse(first) as { readonly ready: boolean; readonly url: string };
  expect([code, ready.ready]).toEqual([130, true]);
  expect(ready.url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/[\\w-]{22}/$`));
});

test.each([
  ['a port that is none', ['tail', '--watch', '70000'], /--watch 70000 is not valid/],
  ['a word', ['verify', '--watch', 'now'], /--watch now is not valid/],
])('%s -> exit code 2', async (_what, argv, message) => {
  const ran = await cosmig(move, ...argv);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(message)]);
});

test('verify --report -> names the proof by the time that status shows', async () => {
  const path = join(dirname(move.ledgerPath), 'proof.json');
  expect((await cosmig(move, 'verify', '--fresh', '--report', path)).code).toBe(0);
  const { proof } = JSON.parse((await typed(move, 'status', '--json')).stdout) as { readonly proof: unknown };
  expect(proof).toMatchObject({ at: expect.stringMatching(/^2/) });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ proof });
  const counted = await cosmig(move, 'verify', '--level', 'count', '--report', path);
  expect([counted.code, JSON.parse(readFileSync(path, 'utf8'))]).toMatchObject([0, { proof: null }]);
});

test('cutover --watch TIME, its name before -> taken for --watch-writes', async () => {
  expect((await cosmig(move, 'verify')).code).toBe(0);
  const ran = await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch', '1s');
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('taken for --watch-writes 1s')]);
});

test('status --report -> the page as one file without a script, for its owner only', async () => {
  const path = join(dirname(move.ledgerPath), 'page.html');
  expect((await typed(move, 'status', '--report', path)).code).toBe(0);
  const html = readFileSync(path, 'utf8');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(html).toContain('The target is in use');
  expect(html).not.toContain('<script');
  const refused = await typed(move, 'status', '--report', join(dirname(path), 'missing', 'x.html'));
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('the report cannot be written'),
  ]);
});
