/**
 * Installs the package as a user would, on several versions of Node.js, and tries it there: the command, the library with
 * its types, a demo, and a migration from an emulator in a process of its own.
 *
 *   npm run check:package -- [MAJOR ...]
 *
 * Each Node.js comes from the npm package `node`. Invariants: the folder of an installation is empty before and removed
 * afterwards, and nothing in it comes from this repository but the package.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** The oldest that cosmig runs on, and every later one that is maintained or new. */
const MAJORS = ['20', '22', '24', '26'];
/** A step that takes longer hangs: npm may have to compile the database driver. */
const STEP_MS = 8 * 60_000;
const DOCUMENTS = 300;

/** What an application does with the package. */
const PROGRAM = `import { computeKey } from 'cosmig';
const { values } = computeKey({ derive: '/pk={tenantId}-{createdAt|month}' }, { id: '1', tenantId: 'amber', createdAt: '2026-03-01T09:30:00Z' });
if (values[0] !== 'amber-2026-03') throw new Error(JSON.stringify(values));
`;

/** Fills a container, with the driver that came with the package. */
const FILL = `import { CosmosClient } from '@azure/cosmos';
const client = new CosmosClient(process.env.COSMIG_SOURCE_CONNECTION_STRING);
const { database } = await client.databases.createIfNotExists({ id: 'shop' });
const { container } = await database.containers.createIfNotExists({ id: 'orders', partitionKey: '/tenantId', throughput: 10000 });
for (let n = 0; n < ${DOCUMENTS}; n += 1)
  await container.items.create({ id: 'o' + n, tenantId: 't' + (n % 7), customerId: 'c' + (n % 50) });
`;

const CONFIG = `source: shop/orders
target: shop/orders-by-customer
partitionKey: /customerId
createTarget: true
`;

interface Place {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

function run({ folder, env }: Place, command: string, ...argv: readonly string[]): string {
  // On Windows npm is a .cmd file, which only a shell can run.
  const shell = process.platform === 'win32';
  return execFileSync(command, argv, {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: STEP_MS,
    shell,
    stdio: 'pipe',
  });
}

function pack(folder: string): string {
  run(
    { folder: ROOT, env: process.env },
    'npm',
    'pack',
    '--ignore-scripts',
    '--silent',
    '--pack-destination',
    folder,
  );
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  if (file === undefined) throw new Error('npm pack has made no package');
  return join(folder, file);
}

/** Installs a Node.js; returns the environment in which it is the first one on the PATH. */
function installNode(folder: string, major: string): NodeJS.ProcessEnv {
  mkdirSync(folder);
  const place = { folder, env: process.env };
  run(place, 'npm', 'init', '--yes');
  run(place, 'npm', 'install', '--silent', '--no-audit', `node@${major}`);
  const own = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(
    (path) => /[/\\]bin[/\\]node(?:\.exe)?$/.test(path) && !path.includes('.bin'),
  );
  if (own === undefined) throw new Error(`the package node@${major} has no binary`);
  return { ...process.env, PATH: `${join(folder, own, '..')}${delimiter}${process.env['PATH'] ?? ''}` };
}

/** Checks what a command printed with --json. */
function expectJson(printed: string, wanted: Readonly<Record<string, unknown>>): void {
  const result = JSON.parse(printed) as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(wanted))
    if (result[name] !== value) throw new Error(`${name} is ${JSON.stringify(result[name])} in ${printed}`);
}

async function migrate(place: Place): Promise<void> {
  const cosmig = (...argv: readonly string[]): string =>
    run(place, process.platform === 'win32' ? 'cosmig.cmd' : 'cosmig', ...argv, '--json', '--quiet');
  writeFileSync(join(place.folder, 'fill.mjs'), FILL);
  writeFileSync(join(place.folder, 'cosmig.config.yaml'), CONFIG);
  run(place, 'node', 'fill.mjs');
  expectJson(cosmig('doctor'), { complete: true });
  expectJson(cosmig('copy'), { complete: true, phase: 'tailing' });
  expectJson(cosmig('verify'), { complete: true, equal: true });
  const now = ['--quiet-for', '1s', '--watch-writes', '1s'];
  expectJson(cosmig('cutover', '--writers-stopped', ...now), { complete: true, phase: 'committed' });
}

/** Runs `body` with an emulator, as the user would: in a process of its own. */
async function withEmulator(place: Place, body: (place: Place) => Promise<void>): Promise<void> {
  const argv = [join('node_modules', 'cosmig', 'bin', 'cosmig.js'), 'emulator', '--port', '0'];
  const emulator = spawn('node', argv, {
    cwd: place.folder,
    env: place.env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    for await (const line of createInterface({ input: emulator.stdout }))
      return await body({ ...place, env: { ...place.env, COSMIG_SOURCE_CONNECTION_STRING: line } });
    throw new Error('the emulator has ended');
  } finally {
    emulator.kill();
  }
}

async function tryOn(
  major: string,
  { folder, tarball }: { readonly folder: string; readonly tarball: string },
) {
  const home = join(folder, `try-${major}`);
  const before = installNode(join(folder, `node-${major}`), major);
  const beganMs = performance.now();
  mkdirSync(home);
  const bin = join(home, 'node_modules', '.bin');
  const place = {
    folder: home,
    env: { ...before, PATH: `${bin}${delimiter}${before['PATH'] ?? ''}`, TMPDIR: home },
  };
  run(place, 'npm', 'init', '--yes');
  // From Node.js 22.14 on nothing has to be compiled, so no script of a dependency may be needed.
  const scripts = Number(major) < 22 ? [] : ['--ignore-scripts'];
  run(place, 'npm', 'install', '--silent', '--no-audit', ...scripts, tarball);
  const version = run(place, 'node', '--version').trim();
  run(place, 'cosmig', '--version');
  writeFileSync(join(home, 'program.mjs'), PROGRAM);
  run(place, 'node', 'program.mjs');
  writeFileSync(join(home, 'program.mts'), PROGRAM);
  const types = [
    '--noEmit',
    '--ignoreConfig',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    'program.mts',
  ];
  run(place, 'node', join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), ...types);
  const installedMs = performance.now();
  expectJson(run(place, 'cosmig', 'demo', '--fast', '--and-back', '--json', '--quiet'), { complete: true });
  const shownMs = performance.now();
  await withEmulator(place, migrate);
  const seconds = (from: number, to: number): string => `${((to - from) / 1000).toFixed(0).padStart(3)} s`;
  process.stdout.write(
    `Node.js ${version.padEnd(9)} installed ${seconds(beganMs, installedMs)}, demo ${seconds(installedMs, shownMs)}, ` +
      `migration ${seconds(shownMs, performance.now())}: all as expected\n`,
  );
  rmSync(home, { recursive: true });
}

const folder = mkdtempSync(join(tmpdir(), 'cosmig-package-'));
try {
  const tarball = pack(folder);
  const asked = process.argv.slice(2);
  for (const major of asked.length === 0 ? MAJORS : asked) {
    try {
      await tryOn(major, { folder, tarball });
    } catch (error) {
      process.exitCode = 1;
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
      process.stdout.write(`Node.js ${major} FAILED: ${String(error)}\n${stdout}${stderr}\n`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
