/** NODE_TLS_REJECT_UNAUTHORIZED=0: refused for an account elsewhere, and never text between lines of JSON. */
import { expect, test } from 'vitest';
import { startTestEmulator } from '../../helpers/emulator/emulator.ts';
import { Move } from '../../helpers/migration/move.ts';
import { envOf, withSpec } from '../../helpers/migration/typed.ts';
import { startCosmig } from '../../helpers/process/cosmig-process.ts';

const UNCHECKED = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };

test('an account that is not on this machine -> refused before anything is sent', async () => {
  await using move = await Move.open();
  const account = 'AccountEndpoint=https://cosmig.invalid:443/;AccountKey=a2V5;';
  const env = { ...envOf(move), ...UNCHECKED, COSMIG_SOURCE_CONNECTION_STRING: account };
  const { code, stderr } = await startCosmig(withSpec(['copy']), env).ended;
  expect(code).toBe(2);
  expect(stderr).toContain('certificates are not checked, so https://cosmig.invalid/ may be another server');
  expect(stderr).toContain('NODE_EXTRA_CA_CERTS');
});

test('an emulator on this machine -> used, and each line of stderr is JSON', async () => {
  await using emulator = await startTestEmulator({ https: true });
  const places = { connectionString: emulator.connectionString, ledgerPath: '/nowhere/ledger.db' };
  const argv = [...withSpec(['copy']), '--json'];
  const { code, stderr } = await startCosmig(argv, { ...envOf(places), ...UNCHECKED }).ended;
  // It was asked for a container that it does not have.
  expect(code).toBe(3);
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly message?: string });
  const aboutTls = lines.filter(({ message }) => message?.includes('NODE_TLS_REJECT_UNAUTHORIZED'));
  expect(aboutTls).toEqual([expect.objectContaining({ level: 'warn' })]);
});
