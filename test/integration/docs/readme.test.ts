/**
 * Runs what README and docs/ show. Each document is followed from top to bottom in a folder of its own. A block in an
 * unknown language fails the test, so every command that is shown has been run. A block of text must show what the
 * command above it has printed, except for numbers.
 */
import { CosmosClient } from '@azure/cosmos';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/emulator/account/settings.ts';
import { must } from '../../../src/lib/assert.ts';
import { FINDING_CODES } from '../../../src/report/json/plan-result.ts';
import { readDoc, type Block } from '../../helpers/docs/doc-blocks.ts';
import { outline, Story, type Step } from '../../helpers/docs/doc-story.ts';
import { bulkLoad } from '../../helpers/emulator/bulk-load.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';

/** Also when a file is not there. */
const RECURSIVELY = { recursive: true, force: true } as const;
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Checked by test/docs.test.ts, and by tests below. */
const ELSEWHERE = ['docs/migration.md azurecli', 'docs/emulator.md json'];

/** Does what a document says; returns where the document is wrong. */
async function follow(story: Story, name: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const block of readDoc(name).blocks) {
    const { at, language, file, text } = block;
    if (file !== undefined || language === 'sh') await story.follow(block);
    else if (language === 'js') {
      story.save('block.mjs', text);
      await story.run('node-with-sources block.mjs', at);
    } else if (language === 'text')
      wrong.push(...falselyShown(text, must(story.last, `${at} follows a command`)));
    else if (!ELSEWHERE.includes(`${name} ${language}`)) wrong.push(`${at}: no test runs ${language}`);
  }
  for (const { at, line, code, expected, stderr } of story.steps)
    if (code !== expected) wrong.push(`${at}: ${line} ended with ${code}, not ${expected}: ${stderr}`);
  return wrong;
}

/** The parts of a block, between lines of `...`, that the command did not print in this form. */
function falselyShown(shown: string, { at, line, stdout, stderr }: Step): string[] {
  // Which orders collide, and how many move, depends on chance: only the first words of a line of the demo are compared.
  const labels = (text: string): string[] =>
    outline(text).map((one) => (one.includes('█') ? '' : (/^\S+(?: [a-zN]+)?/.exec(one) ?? [''])[0]));
  const isDemo = line.endsWith('run demo');
  const lines = isDemo ? labels : outline;
  const printed = lines(isDemo ? stdout : `${stdout.trimEnd()}\n${stderr}`).join('\n');
  return shown
    .split(/^\.\.\.$/m)
    .map((part) => lines(part.trim()).join('\n'))
    .filter((part) => !printed.includes(part))
    .map((part) => `${at}: ${line} did not print\n${part}\nbut\n${printed}`);
}

/** Creates the container that the documents use. */
async function shop(server: TestEmulator, orders: readonly object[]): Promise<void> {
  const client = new CosmosClient({ endpoint: server.endpoint, key: server.key });
  const { database } = await client.databases.create({ id: 'shop' });
  const { container } = await database.containers.create({
    id: 'orders',
    partitionKey: '/tenantId',
    throughput: 4000,
  });
  await bulkLoad(container, orders);
  client.dispose();
}

const ORDERS = Array.from({ length: 600 }, (_none, n) => ({
  id: `o${n}`,
  tenantId: `t${n % 70}`,
  customerId: `c${n % 200}`,
}));

const SPEC = [
  'source: shop/orders',
  'target: shop/orders-by-customer',
  'partitionKey: /customerId',
  'createTarget: true',
];

test('README.md: each block -> runs, and prints what is shown', async () => {
  await using server = await startTestEmulator();
  await shop(server, ORDERS);
  await using story = new Story(server);
  for (const script of ['writers-off.sh', 'writers-on.sh', 'use-target.sh'])
    story.save(script, `#!/bin/sh\necho ${script} was called\n`);
  await expect(follow(story, 'README.md')).resolves.toEqual([]);
  const cutover = must(
    story.steps.find(({ line }) => line.startsWith('cosmig cutover')),
    'the quick start ends with the cutover',
  );
  expect(cutover.stderr).toContain('use-target.sh was called');
});

test('getting-started.md: each block -> runs, and prints what is shown', async () => {
  await using story = new Story();
  await expect(follow(story, 'docs/getting-started.md')).resolves.toEqual([]);
  expect(story.steps.map(({ line }) => line)).toContain(
    "cosmig cutover --on-fence 'touch stop' --watch-writes 5s --keep-source-for 1d",
  );
  const rollback = must(
    story.steps.find(({ line }) => line.startsWith('cosmig rollback')),
    'the page has a rollback',
  );
  expect(rollback.stderr).toContain('committed: the source is in use from now on');
});

test('migration.md: each block -> runs, and prints what is shown', async () => {
  await using server = await startTestEmulator();
  await shop(server, ORDERS);
  await using story = new Story(server);
  await story.run(`export COSMIG_SOURCE_KEY=${server.key}`, 'here');
  await expect(follow(story, 'docs/migration.md')).resolves.toEqual([]);
  const cutover = must(story.last, 'it ends with the cutover');
  expect(cutover.stderr).toContain('scale deployment/orders-api --replicas=0');
  expect(cutover.stderr).toContain('ORDERS_CONTAINER=orders-by-customer');
  expect(existsSync(join(story.folder, 'proof.json'))).toBe(true);
});

test('going-back.md: each block -> runs, and prints what is shown', async () => {
  await using server = await startTestEmulator({ settings: { avad: true } });
  await shop(server, ORDERS);
  await using story = new Story(server);
  story.save('cosmig.config.yaml', SPEC.join('\n'));
  for (const script of ['writers-off.sh', 'writers-on.sh', 'use-target.sh'])
    story.save(script, `#!/bin/sh\necho ${script} was called\n`);
  await story.run('export COSMIG_SOURCE_CONNECTION_STRING="<the connection string>"', 'here');
  await story.run('cosmig copy --yes', 'here');
  await story.run('cosmig verify', 'here');
  await expect(follow(story, 'docs/going-back.md')).resolves.toEqual([]);
  const rollback = must(
    story.steps.find(({ line }) => line.startsWith('cosmig rollback')),
    'the page has a rollback',
  );
  expect(rollback.stderr).toContain('committed: the source is in use from now on');
  expect(rollback.stderr).toContain('ORDERS_CONTAINER=orders');
});

test('runbook.md: each block -> runs, and the target is adopted when the ledger is lost', async () => {
  await using server = await startTestEmulator();
  await shop(server, ORDERS);
  await using story = new Story(server);
  story.save('cosmig.config.yaml', SPEC.join('\n'));
  await story.run('export COSMIG_SOURCE_CONNECTION_STRING="<the connection string>"', 'here');
  await story.run('cosmig copy --yes', 'here');
  for (const block of readDoc('docs/operations/runbook.md').blocks) {
    if (block.text.includes('--adopt-target')) rmSync(join(story.folder, '.cosmig'), RECURSIVELY);
    await story.follow(block);
  }
  expect(story.steps.map(({ line, code }) => [line.split(' ')[1], code])).toEqual([
    ['copy', 0],
    ['status', 0],
    ['status', 0],
    ['copy', 3],
    ['copy', 0],
  ]);
  expect(existsSync(join(story.folder, 'orders-ledger.db'))).toBe(true);
});

test('troubleshooting.md: each block -> runs, and prints what is shown', async () => {
  await using server = await startTestEmulator();
  const twins = ['amber', 'birch'].map((tenantId) => ({ id: '7', tenantId, customerId: 'c-7' }));
  await shop(server, [...ORDERS, ...twins]);
  await using story = new Story(server);
  story.save('cosmig.config.yaml', SPEC.join('\n'));
  await story.run('export COSMIG_SOURCE_CONNECTION_STRING="<the connection string>"', 'here');
  await story.run('cosmig copy --yes # exit code 5', 'here');
  await expect(follow(story, 'docs/troubleshooting.md')).resolves.toEqual([]);
});

test('choosing-a-key.md: each block -> runs, and prints what is shown', async () => {
  await using story = new Story();
  await expect(follow(story, 'docs/choosing-a-key.md')).resolves.toEqual([]);
  const page = readFileSync(join(story.folder, 'plan.html'), 'utf8');
  expect(page).toContain('<title>Plan for shop/orders</title>');
});

test('choosing-a-key.md: findings -> are those of the plan', () => {
  const { text } = readDoc('docs/choosing-a-key.md');
  const listed = [...text.matchAll(/^\| `([a-z0-9-]+)` +\| .* \| .* \|$/gm)].map(([, code]) => code);
  expect(listed.filter((code) => !FINDING_CODES.some((one) => one === code))).toEqual([]);
  expect(FINDING_CODES.filter((code) => !listed.includes(code))).toEqual([]);
});

test('keys.md: each block -> runs, and prints what is shown', async () => {
  await using story = new Story();
  await expect(follow(story, 'docs/keys.md')).resolves.toEqual([]);
});

test('emulator.md: each block -> runs, and prints what is shown', async () => {
  await using story = new Story();
  await expect(follow(story, 'docs/emulator.md')).resolves.toEqual([]);
});

test('schedules.md: the line for cron and the service for systemd -> replicate what is new', async () => {
  const { blocks } = readDoc('docs/operations/schedules.md');
  const named = (name: string): Block =>
    must(
      blocks.find(({ file, language }) => name === file || name === language),
      `the page has ${name}`,
    );
  await using server = await startTestEmulator();
  await shop(server, ORDERS);
  await using story = new Story(server);
  story.save('cosmig.config.yaml', SPEC.join('\n'));
  await story.follow(named('cosmig.env'));
  await story.run('export COSMIG_SOURCE_CONNECTION_STRING="<the connection string>"', 'here');
  await story.run('cosmig copy', 'here');
  await story.run('export COSMIG_SOURCE_CONNECTION_STRING=', 'here');

  const [, path, minutes, others, line = ''] = must(
    /^PATH=(.*)\n(\S+) ((?:\S+ ){4})(.*)\n$/.exec(named('crontab').text),
    'a PATH, five fields and a command',
  );
  // The folder of global npm installations, and the default folders of cron.
  expect(path).toBe('/usr/local/bin:/usr/bin:/bin');
  expect([minutes, others]).toEqual(['*/5', '* * * * ']);
  // A percent sign would end it.
  expect(line).not.toContain('%');
  const there = line.replace('/srv/orders-migration', story.folder);
  // cron does not pass on variables that a shell has set.
  await story.run(`env -i HOME=/ PATH="$PATH" sh -c '${there}'`, named('crontab').at);
  const log = readFileSync(join(story.folder, 'tail.log'), 'utf8');
  expect(JSON.parse(log)).toMatchObject({ command: 'tail', complete: true });

  const { text, at } = named('cosmig-tail.service');
  const unit = Object.fromEntries(text.split('\n').map((one) => one.split(/=(.*)/, 2)));
  expect(unit).toMatchObject({
    EnvironmentFile: expect.stringContaining('cosmig.env') as unknown,
    Type: 'oneshot',
    // Open dead letters, an ended time budget, and `systemctl stop` are not failures.
    SuccessExitStatus: '5 8 143',
  });
  await story.run(`set -a; . ./cosmig.env; ${unit['ExecStart']}`, at);
  expect(JSON.parse(must(story.last, 'it was run').stdout)).toMatchObject({
    command: 'tail',
    complete: true,
  });
  expect(story.steps.map(({ code }) => code)).toEqual([0, 0, 0]);
});

test('README.md: its two commands for a fresh clone -> are scripts of the package, and CI runs the tests', () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
    scripts: Record<string, string>;
  };
  const shown = readDoc('README.md').blocks.map(({ language, text }) => `${language} ${text.trim()}`);
  expect(shown).toEqual(expect.arrayContaining(['sh npm ci && npm run demo', 'sh npm ci && npm test']));
  expect(scripts).toMatchObject({ demo: 'node bin/cosmig.js demo', test: 'vitest run' });
  expect(readFileSync(`${ROOT}.ci/run`, 'utf8')).toMatch(/^npm ci\n(?:.*\n)*npm test$/m);
});

test('emulator.md: settings -> are the defaults of the emulator, and the example of faults is accepted', async () => {
  const texts = readDoc('docs/emulator.md').blocks.filter(({ language }) => language === 'json');
  const [settings, faults] = texts.map(({ text }) => JSON.parse(text) as unknown);
  expect(settings).toEqual(DEFAULT_SETTINGS);
  await using server = await startTestEmulator();
  const put = async (path: string, body: unknown): Promise<number> => {
    const request = { method: 'PUT', body: JSON.stringify(body) };
    return (await fetch(new URL(`_emulator/${path}`, server.endpoint), request)).status;
  };
  await expect(put('account', settings)).resolves.toBe(200);
  await expect(put('faults', faults)).resolves.toBe(200);
});

test('emulator.md: routes -> are the routes of the emulator', () => {
  const routes = readFileSync(`${ROOT}src/emulator/http/routes.ts`, 'utf8');
  const real = [...routes.matchAll(/'([A-Z]+ \/_emulator\/[^']+)'/g)].map(([, route]) => route);
  const listed = [...readDoc('docs/emulator.md').text.matchAll(/^\| `([A-Z]+ \/_emulator\/[^`]+)`/gm)];
  expect(listed.map(([, route]) => route?.replace('DB/COLL', '*/*'))).toEqual(real);
});
