/**
 * Runs clients in other languages than JavaScript against the emulator: `npm run clients`, or the step `clients` of the
 * nightly run. It installs nothing: a client that this machine does not have is named and skipped.
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
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const CLIENTS: readonly Client[] = [
  {
    name: 'azure-cosmos 3.1.1 for Python, of Debian',
    install: 'apt-get install python3-azure-cosmos',
    // Newer versions have another interface and no such module.
    probe: ['python3', '-c', 'import azure.cosmos.cosmos_client as c; c.CosmosClient.CreateItem'],
    program: ['python3', here('python-cosmos-3.py')],
  },
];

async function exitCode(
  [command, ...argv]: Client['program'],
  stdio: 'ignore' | 'inherit',
): Promise<number | null> {
  const child = spawn(command, argv, { stdio });
  // A command that does not exist emits an error instead of an exit.
  const [code] = (await Promise.race([once(child, 'exit'), once(child, 'error')])) as [unknown];
  return typeof code === 'number' ? code : null;
}

for (const { name, install, probe, program } of CLIENTS) {
  if ((await exitCode(probe, 'ignore')) !== 0) {
    process.stdout.write(`skipped: ${name} is not installed (${install})\n`);
    continue;
  }
  process.stdout.write(`${name}\n`);
  await using emulator = await startTestEmulator();
  const [command, ...argv] = program;
  const code = await exitCode([command, ...argv, emulator.endpoint, emulator.key], 'inherit');
  if (code !== 0) process.exitCode = 1;
}
