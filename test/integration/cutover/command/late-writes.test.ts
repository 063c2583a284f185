/** Real processes: late writes are reported by name and exit code; and which commands may run at the same time. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VerifyStore, verifyPath } from '../../../../src/verify/store.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { cosmig, start, typed } from '../../../helpers/migration/typed.ts';
import { until } from '../../../helpers/wait.ts';

let move: Move;
beforeEach(async () => {
  move = await Move.open();
  for (let n = 0; n < 6; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: 'P' });
  for (const command of ['copy', 'verify']) {
    const { code, stderr } = await cosmig(move, command);
    if (code !== 0) throw new Error(stderr);
  }
});
afterEach(async () => move[Symbol.asyncDispose]());

test('cutover command: late writes -> reported by id, exit code 4', async () => {
  const argv = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '4s', '--json'];
  await using cutover = start(move, ...argv);
  const phase = (): string => move.ledger(({ migration }) => migration.read().phase);
  await until(() => phase() === 'committed', { what: 'the commit' });
  await move.put({ id: 'too late', customerId: 'x', tenantId: 'P' });
  const { code, stdout, stderr } = await cutover.ended;
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({
    phase: 'committed',
    complete: false,
    lateWrites: [{ ids: ['"too late"'], what: 'written' }],
    error: { code: 'mismatch', message: '1 document or more changed in the source after the commit' },
  });
  expect(stderr).toContain(
    String.raw`LATE WRITE after the commit, not replicated: \"too late\" written in range 0`,
  );
  expect((await move.documents(move.target)).map(({ id }) => id)).not.toContain('too late');
  const { stdout: status } = await typed(move, 'status');
  expect(status).toMatch(/^LATE WRITES +not replicated: "too late"$/m);
  // A further run reports it again.
  expect((await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s')).code).toBe(4);
});

test('cutover command: a write after the watch -> verify and status name the command that names it', async () => {
  const again = 'run cosmig cutover again';
  const cutover = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];
  const status = async (): Promise<string> => (await typed(move, 'status')).stdout.replaceAll(/\s+/g, ' ');
  expect((await cosmig(move, ...cutover)).code).toBe(0);
  expect(await status()).not.toContain(again);
  await move.put({ id: 'late', customerId: 'x', tenantId: 'P' });
  const verified = await cosmig(move, 'verify', '--deadline', '1s', '--json');
  const { hint } = JSON.parse(verified.stderr.trim().split('\n').at(-1) ?? '') as { readonly hint: string };
  expect([verified.code, hint]).toEqual([3, expect.stringContaining(`${again}: it names`)]);
  expect(await status()).toContain(`next ${again}`);
  const named = await cosmig(move, ...cutover);
  expect([named.code, named.stdout.replaceAll(/\s+/g, ' ')]).toEqual([4, expect.stringContaining('"late"')]);
  const after = await status();
  expect(after).toContain('LATE WRITES not replicated: "late"');
  expect(after).not.toContain(again);
});

test('cutover command: other commands during it, and after its commit -> refused', async () => {
  const held = ['--on-fence', 'sleep 2'];
  await using cutover = start(move, 'cutover', ...held, '--quiet-for', '1s', '--watch-writes', '1s');
  const isFencing = (): boolean => move.ledger(({ migration }) => migration.read().phase === 'fencing');
  await until(isFencing, { what: 'the fence' });
  for (const [command, ...flags] of [
    ['tail', '--until-caught-up'],
    ['copy'],
    ['cutover', '--writers-stopped'],
  ] as const) {
    const refused = await cosmig(move, command, ...flags);
    expect([command, refused.code, refused.stderr]).toEqual([
      command,
      3,
      expect.stringContaining('cosmig: another cosmig is working with'),
    ]);
    const skipped = await cosmig(move, command, ...flags, '--skip-if-running', '--json');
    expect([command, skipped.code, JSON.parse(skipped.stdout)]).toEqual([
      command,
      0,
      expect.objectContaining({ skipped: true, complete: false }),
    ]);
  }
  expect((await cutover.ended).code).toBe(0);
  // Commands that a schedule still runs.
  for (const [command, ...flags] of [
    ['tail', '--until-caught-up'],
    ['copy'],
    ['tail', '--for', '1m'],
  ] as const) {
    const { code, stderr } = await cosmig(move, command, ...flags);
    expect([command, code, stderr]).toEqual([
      command,
      3,
      expect.stringContaining('cosmig: this migration is committed: the target is in use\n'),
    ]);
  }
});

test('cutover command: verify while writers are stopped -> refused', async () => {
  const held = ['--on-fence', 'sleep 3'];
  await using cutover = start(move, 'cutover', ...held, '--quiet-for', '1s', '--watch-writes', '1s');
  const isFencing = (): boolean => move.ledger(({ migration }) => migration.read().phase === 'fencing');
  await until(isFencing, { what: 'the fence' });
  expect(() => VerifyStore.open(verifyPath(move.ledgerPath))).toThrow('another cosmig verify is running');
  const refused = await cosmig(move, 'verify');
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('or a cosmig cutover')]);
  const skipped = await cosmig(move, 'verify', '--skip-if-running', '--json');
  expect([skipped.code, JSON.parse(skipped.stdout)]).toMatchObject([0, { skipped: true }]);
  const { code, stderr } = await cutover.ended;
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
});

test('cutover command: verify is running -> refused before writers are stopped', async () => {
  using _verify = VerifyStore.open(verifyPath(move.ledgerPath));
  const { code, stderr } = await cosmig(move, 'cutover', '--on-fence', 'echo stopping');
  expect(code).toBe(3);
  expect(stderr).toContain('cosmig: a cosmig verify is running\n');
  expect(stderr).not.toContain('stopping');
});
