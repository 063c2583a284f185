/** --metrics-file on commands of a schedule: while they run, at their end, after a failure, and after a kill. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, start } from '../../helpers/migration/typed.ts';
import { until } from '../../helpers/wait.ts';

let move: Move;
let path: string;
beforeEach(async () => {
  move = await Move.open();
  path = join(dirname(move.ledgerPath), 'orders.prom');
  for (let n = 0; n < 40; n += 1)
    await move.put({ id: `secret-id-${n}`, customerId: `secret-c${n % 9}`, tenantId: `secret-t${n % 4}` });
});
afterEach(async () => move[Symbol.asyncDispose]());

/** The value of a sample; undefined: it is left out. */
function valueOf(name: string, label = ''): string | undefined {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines
    .find((line) => line.startsWith(`cosmig_${name}{`) && line.includes(label))
    ?.split('} ')
    .at(-1);
}

test('each command of a schedule -> its end and its figures, without ids and key values', async () => {
  const metrics = ['--metrics-file', path];
  expect((await cosmig(move, 'copy', ...metrics)).code).toBe(0);
  expect(valueOf('documents_read_total')).toBe('40');
  expect(valueOf('command_exit_code', 'command="copy"')).toBe('0');
  expect(valueOf('running')).toBe('0');
  expect(valueOf('last_run_outcome', '="done"')).toBe('1');

  await move.put({ id: 'secret-new', customerId: 'secret-c1', tenantId: 'secret-t1' });
  expect((await cosmig(move, 'tail', '--until-caught-up', ...metrics)).code).toBe(0);
  expect(valueOf('documents_read_total')).toBe('41');
  expect(Number(valueOf('replicated_until_timestamp_seconds'))).toBeGreaterThan(Date.now() / 1000 - 60);

  expect((await cosmig(move, 'verify', ...metrics)).code).toBe(0);
  expect(valueOf('command_exit_code', 'command="verify"')).toBe('0');
  expect(valueOf('last_proof_timestamp_seconds')).toBeDefined();

  // A cutover that backs out ends with 3 after the run of the engine has ended.
  expect((await cosmig(move, 'cutover', '--on-fence', 'false', ...metrics)).code).toBe(3);
  expect(valueOf('command_exit_code', 'command="cutover"')).toBe('3');
  expect(readFileSync(path, 'utf8')).not.toContain('secret');
});

test('another run holds the ledger -> skipped with 0, refused with 3; its figures are there', async () => {
  expect((await cosmig(move, 'copy')).code).toBe(0);
  using _other = Ledger.openForOperator(move.ledgerPath);
  const metrics = ['--metrics-file', path];
  expect((await cosmig(move, 'tail', '--skip-if-running', ...metrics)).code).toBe(0);
  expect([valueOf('command_exit_code'), valueOf('running')]).toEqual(['0', '1']);
  expect((await cosmig(move, 'tail', ...metrics)).code).toBe(3);
  expect(valueOf('command_exit_code')).toBe('3');
});

test('an account that refuses the key -> the exit code, although there is no ledger', async () => {
  const wrong = Buffer.alloc(64).toString('base64');
  move.connectionString = move.connectionString.replace(/(?<=AccountKey=)[^;]+/, wrong);
  expect((await cosmig(move, 'copy', '--metrics-file', path)).code).toBe(6);
  expect(valueOf('command_exit_code')).toBe('6');
  expect(valueOf('ledger_readable')).toBeUndefined();
});

test('a file that cannot be written -> one warning, and the copy is complete', async () => {
  const { code, stderr } = await cosmig(move, 'copy', '--metrics-file', '/nowhere/orders.prom');
  expect(code).toBe(0);
  expect(stderr.match(/metrics cannot be written/g)).toHaveLength(1);
});

test('a name that the node exporter does not read -> refused', async () => {
  const { code, stderr } = await cosmig(move, 'copy', '--metrics-file', 'orders.txt');
  expect(code).toBe(2);
  expect(stderr).toContain('.prom');
});

test('killed -> the last state stays, with its time', async () => {
  await using tail = start(move, 'copy', '--metrics-file', path);
  expect((await tail.ended).code).toBe(0);
  await using child = start(move, 'tail', '--metrics-file', path);
  await until(() => existsSync(path) && valueOf('running') === '1', {
    what: 'the run to be in the file',
  });
  child.kill('SIGKILL');
  await child.ended;
  expect(valueOf('running')).toBe('1');
  expect(valueOf('command_end_timestamp_seconds')).toBeUndefined();
  expect(Number(valueOf('command_start_timestamp_seconds'))).toBeGreaterThan(0);
});
