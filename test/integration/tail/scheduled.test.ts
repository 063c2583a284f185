/** What a crontab needs: no terminal, no overlap, few lines, and a next run that goes on after any death. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { VerifyStore, verifyPath } from '../../../src/verify/store.ts';
import { runShell } from '../../helpers/process/cosmig-process.ts';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, envOf, SPEC, start } from '../../helpers/migration/typed.ts';
import { until } from '../../helpers/wait.ts';

let move: Move;
beforeEach(async () => {
  move = await Move.open({ settings: { pageBytes: 2000 } });
  for (let n = 0; n < 40; n += 1)
    await move.put({ id: `${n}`, customerId: `c${n % 9}`, tenantId: `t${n % 4}` });
});
afterEach(async () => move[Symbol.asyncDispose]());

test('scheduled: verify alongside another one -> refused, or skipped', async () => {
  expect((await cosmig(move, 'copy')).code).toBe(0);
  {
    using _other = VerifyStore.open(verifyPath(move.ledgerPath));
    const refused = await cosmig(move, 'verify');
    expect([refused.code, refused.stderr]).toEqual([
      3,
      expect.stringContaining('another cosmig verify is running'),
    ]);
    const skipped = await cosmig(move, 'verify', '--skip-if-running', '--json');
    expect([skipped.code, JSON.parse(skipped.stdout)]).toEqual([
      0,
      expect.objectContaining({ command: 'verify', skipped: true, complete: false }),
    ]);
  }
  expect((await cosmig(move, 'verify', '--skip-if-running')).code).toBe(0);
});

test('scheduled: verify --repair alongside another run -> refused, or skipped', async () => {
  expect((await cosmig(move, 'copy')).code).toBe(0);
  using _tail = Ledger.openForOperator(move.ledgerPath);
  expect((await cosmig(move, 'verify', '--repair')).code).toBe(3);
  const skipped = await cosmig(move, 'verify', '--repair', '--skip-if-running', '--json');
  expect([skipped.code, JSON.parse(skipped.stdout)]).toEqual([
    0,
    expect.objectContaining({ command: 'verify', skipped: true, complete: false }),
  ]);
  // A command that only reads does not wait for others, and is not skipped.
  expect((await cosmig(move, 'verify', '--skip-if-running', '--json')).stdout).not.toContain('skipped');
});

test('scheduled: any of three commands died -> the same commands resume', async () => {
  const schedule = async (): Promise<readonly number[]> => {
    const codes: number[] = [];
    for (const [command, ...flags] of [
      ['copy'],
      ['tail', '--until-caught-up', '--for', '5m'],
      ['verify', '--deadline', '60s'],
    ] as const)
      codes.push((await start(move, command, ...flags).ended).code);
    return codes;
  };
  // As when a machine goes down: the process is not asked to stop.
  const dies = async (command: string, isInTheMiddle: () => boolean): Promise<void> => {
    await using child = start(move, command);
    await until(isInTheMiddle, { what: `${command} in its middle` });
    child.kill('SIGKILL');
    expect((await child.ended).code).toBe(-1);
  };
  const begun = (command: string) => (): boolean => {
    try {
      return move.ledger(({ runs }) => runs.last()?.command === command && runs.last()?.endedAtMs === null);
    } catch {
      // The file is being made.
      return false;
    }
  };
  await dies('copy', begun('copy'));
  expect(await schedule()).toEqual([0, 0, 0]);
  await move.put({ id: 'new', customerId: 'c1', tenantId: 't9' });
  await dies('tail', begun('tail'));
  await dies('verify', () => VerifyStore.isInUse(verifyPath(move.ledgerPath)));
  expect(await schedule()).toEqual([0, 0, 0]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('scheduled: lasting trouble -> a line every five seconds at most', async () => {
  expect((await cosmig(move, 'copy')).code).toBe(0);
  await move.admin.faults([
    { match: { op: 'read-feed' }, probability: 0.5, effect: { status: 503 } },
    { match: { op: 'batch' }, probability: 0.5, effect: { status: 429, retryAfterMs: 10 } },
  ]);
  const beganMs = Date.now();
  await using tail = start(move, 'tail', '--for', '12s');
  const writing = setInterval(
    () => void move.put({ id: '1', customerId: 'c1', tenantId: 't1', at: Date.now() }),
    100,
  );
  const { stderr } = await tail.ended;
  clearInterval(writing);
  const lines = stderr.split('\n').filter((line) => line !== '');
  // And four for how it ended.
  expect(lines.length).toBeLessThanOrEqual(Math.ceil((Date.now() - beganMs) / 5000) + 4);
});

test('scheduled: the result cannot be printed -> everything is replicated, and the run fails', async () => {
  expect((await cosmig(move, 'copy')).code).toBe(0);
  await move.put({ id: 'new', customerId: 'c1', tenantId: 't9' });
  const lost = await runShell(
    `cosmig tail --until-caught-up --json ${SPEC.join(' ')} > /dev/full`,
    envOf(move),
  );
  expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('the output cannot be written')]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
