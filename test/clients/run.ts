/**
 * Runs clients in other languages than JavaScript against the emulator: `npm run clients`, or the step `clients` of the
 * nightly run. It installs nothing: a client that this machine does not have is named and skipped. COSMIG_CLIENTS names a
 * folder into which `fetch.sh` has unpacked the clients of newer releases of Debian.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startTestEmulator } from '../helpers/emulator/emulator.ts';

interface Client {
  readonly name: string;
  readonly install: string;
  /** A command that ends with exit code 0 if the client is installed. */
  readonly probe: readonly [command: string, ...argv: string[]];
  /** The program; it gets the endpoint and the key as its last arguments. */
  readonly program: readonly [command: string, ...argv: string[]];
  readonly env: Readonly<Record<string, string>>;
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const fetched = process.env['COSMIG_CLIENTS'] ?? '/nothing';
const AZCOSMOS = 'github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos';

const CLIENTS: readonly Client[] = [
  {
    name: 'azure-cosmos 3.1.1 for Python, of Debian',
    install: 'apt-get install python3-azure-cosmos',
    // Newer versions have another interface and no such module.
    probe: ['/usr/bin/python3', '-c', 'import azure.cosmos.cosmos_client as c; c.CosmosClient.CreateItem'],
    program: ['/usr/bin/python3', here('python-cosmos-3.py')],
    env: {},
  },
  {
    name: 'azure-cosmos 4 for Python',
    install: 'apt-get install python3-azure of Debian 13, or test/clients/fetch.sh',
    probe: ['python3', '-c', 'import azure.cosmos as c; c.CosmosClient.get_database_client'],
    program: ['python3', '-W', 'ignore', here('python-cosmos-4.py')],
    env: { PYTHONPATH: `${fetched}/usr/lib/python3/dist-packages` },
  },
  {
    name: 'azcosmos for Go',
    install:
      'apt-get install golang-go golang-github-azure-azure-sdk-for-go-dev of Debian 14, or test/clients/fetch.sh',
    probe: ['go', 'list', AZCOSMOS],
    program: ['go', 'run', here('go-azcosmos.go')],
    env: { GO111MODULE: 'off', GOPATH: `${fetched}/usr/share/gocode:/usr/share/gocode` },
  },
];

async function exitCode(
  [command, ...argv]: Client['program'],
  stdio: 'ignore' | 'inherit',
  env: Client['env'],
): Promise<number | null> {
  const child = spawn(command, argv, { stdio, env: { ...process.env, ...env } });
  // A command that does not exist emits an error instead of an exit.
  const [code] = (await Promise.race([once(child, 'exit'), once(child, 'error')])) as [unknown];
  return typeof code === 'number' ? code : null;
}

for (const { name, install, probe, program, env } of CLIENTS) {
  if ((await exitCode(probe, 'ignore', env)) !== 0) {
    process.stdout.write(`skipped: ${name} is not installed (${install})\n`);
    continue;
  }
  process.stdout.write(`${name}\n`);
  await using emulator = await startTestEmulator();
  const [command, ...argv] = program;
  const code = await exitCode([command, ...argv, emulator.endpoint, emulator.key], 'inherit', env);
  if (code !== 0) process.exitCode = 1;
}
