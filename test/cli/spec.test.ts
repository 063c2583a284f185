/** What an operator sees of a spec, right or wrong: the streams whole, and the exit code. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { FIELD_NAMES, FIELDS, fieldOf, flagOfField, SPEC_OPTIONS } from '../../src/spec/fields.ts';
import { loadSpec } from '../../src/spec/load.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';
import { FILTER_HINT } from '../helpers/key-plan.ts';
import { KEY } from '../unit/spec/loading.ts';

const OPTIONS = {
  ...SPEC_OPTIONS,
  dryRun: { type: 'boolean', help: 'write nothing' },
} as const;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-spec-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A command that loads the spec and prints it. */
const move: Command<typeof OPTIONS> = {
  name: 'move',
  summary: 'move',
  description: 'Moves.',
  examples: [
    { line: 'cosmig move', purpose: 'one' },
    { line: 'cosmig move --dry-run', purpose: 'two' },
  ],
  options: OPTIONS,
  endsWith: {},
  async run({ options, env, clock }) {
    const { spec, connections } = loadSpec({ options, env, clock, folder });
    const { source, target, partitionKey, derive } = spec;
    return {
      json: { source, target, partitionKey, derive, dryRun: options.dryRun, connections },
      text: `${source.container} -> ${target.container} by ${partitionKey.join(', ')}`,
    };
  },
};

function run(argv: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return runCosmig(['move', ...argv], { env, commands: [move] });
}

const WHOLE = [
  '--source',
  'shop/orders',
  '--target=shop/new',
  '--source-endpoint',
  'https://acme.documents.azure.com',
];

describe('valid settings', () => {
  test('flags -> the spec, repeated ones in their order', async () => {
    await expect(run([...WHOLE, '--partition-key', '/a', '--partition-key=/b'])).resolves.toEqual({
      code: 0,
      stdout: 'orders -> new by /a, /b\n',
      stderr: '',
    });
  });

  test('flags, variables and the file of -c -> the spec; no account key in the result', async () => {
    writeFileSync(
      join(folder, 'mine.json'),
      '{"source": "shop/orders", "derive": ["/pk={a}={b}", "/x={c}"]}',
    );
    const argv = ['-c', 'mine.json', '--target', 'shop/new', '--partition-key', '/pk', '--dry-run', '--json'];
    const { code, stdout, stderr } = await run(argv, {
      COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=http://localhost:8081/;AccountKey=${KEY};`,
    });
    const endpoint = 'http://localhost:8081/';
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      source: { endpoint, database: 'shop', container: 'orders' },
      target: { endpoint, database: 'shop', container: 'new' },
      partitionKey: ['/pk'],
      derive: ['/pk={a}={b}', '/x={c}'],
      dryRun: true,
      connections: { source: { endpoint, signsInWith: 'key' }, target: { endpoint, signsInWith: 'key' } },
    });
  });
});

describe('invalid settings', () => {
  test('one problem -> an error of three lines', async () => {
    await expect(run([...WHOLE, '--partition-key', '/a', '--ttl', 'remainig'])).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr:
        'cosmig: --ttl remainig is not valid\n' +
        '  why  it is one of restart, remaining\n' +
        '  now  for example --ttl remaining\n',
    });
  });

  test('several problems -> a list, each with its source', async () => {
    writeFileSync(
      join(folder, 'cosmig.config.yaml'),
      'target: shop/new\nuntil: 25:00\npartitonKey: /a\nsourceKey: abc\n',
    );
    const env = { COSMIG_SOURCE: 'orders', COSMIG_SOURCE_KEY: 'not base64' };
    await expect(
      run(['--derive', '/pk={a|mnth}', '--for', '2h', '--create-target=false'], env),
    ).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr: `cosmig: the migration settings have 8 problems
- unknown setting: partitonKey (cosmig.config.yaml line 3)
  why  cosmig has no setting of this name
  now  did you mean partitionKey?
- sourceKey is not accepted in a file (cosmig.config.yaml line 4)
  why  files are copied and committed, together with the secrets in them
  now  set COSMIG_SOURCE_KEY instead, and remove it from the file
- COSMIG_SOURCE orders is not valid
  why  a container is named as DB/CONTAINER, with one slash
  now  for example COSMIG_SOURCE=shop/orders
- COSMIG_SOURCE_KEY is not valid
  why  an account key is base64, and this is not
  now  copy it again from the portal, or from what az cosmosdb keys list prints
- no account was given
  why  the source is in an account, which is found by its URL
  now  give --source-endpoint https://myaccount.documents.azure.com, COSMIG_SOURCE_ENDPOINT or sourceEndpoint in the config file; or set COSMIG_SOURCE_CONNECTION_STRING
- --derive /pk={a|mnth} is not valid
  why  there is no filter mnth, character 8
  now  ${FILTER_HINT}
- until: 25:00 (cosmig.config.yaml line 2) is not valid
  why  it is a time of day from 00:00 to 23:59
  now  for example until: 05:30
- --for and until (cosmig.config.yaml line 2) were both given
  why  a run has one time budget
  now  leave until (cosmig.config.yaml line 2) out, or leave --for out
`,
    });
  });

  test('--json -> one object with every problem', async () => {
    const { code, stdout, stderr } = await run([...WHOLE, '--target-ru', '0', '--json']);
    const problems = [
      {
        from: '--partition-key, --derive',
        message: 'no partition key was given',
        why: 'every document gets a new key: a property, or a derived value',
        hint:
          'give --partition-key /customerId, COSMIG_PARTITION_KEY or partitionKey in the config file; ' +
          "or give --derive '/pk={tenantId}-{createdAt|month}' or derive in the config file",
      },
      {
        from: '--target-ru',
        message: '--target-ru 0 is not valid',
        why: 'it is RU/s as a whole number from 1 to 10000000, or 1% to 100% of what there is',
        hint: 'for example --target-ru 80%',
      },
    ];
    const message = 'the migration settings have 2 problems';
    const hint = 'fix them and run the command again';
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      command: 'move',
      complete: false,
      error: { code: 'usage', message, hint, problems },
    });
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(stderr)).toEqual({
      time: '2026-01-01T00:00:00.000Z',
      level: 'error',
      message,
      code: 'usage',
      why: 'nothing was started; all problems are listed',
      hint,
      problems,
    });
  });

  test.each([
    [['--source-key', 'S3cr3t'], '--source-key', 'COSMIG_SOURCE_KEY'],
    [
      ['--target-connection-string=AccountKey=S3cr3t'],
      '--target-connection-string',
      'COSMIG_TARGET_CONNECTION_STRING',
    ],
    [['S3cr3t', '--source-key', 'S3cr3t'], '--source-key', 'COSMIG_SOURCE_KEY'],
    [['--source-key', 'S3cr3t', '--verbose', '--ttl', 'x'], '--source-key', 'COSMIG_SOURCE_KEY'],
  ])('a secret on the command line -> refused and not repeated: %j', async (argv, flag, variable) => {
    const { code, stdout, stderr } = await run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toContain('S3cr3t');
    expect(stderr.split('\n').slice(0, 3)).toEqual([
      `cosmig: ${flag} is not accepted on the command line`,
      '  why  every user of this machine can read a command line, and the shell writes it to its history',
      `  now  set ${variable} instead, and renew the secret if others may have seen it`,
    ]);
  });

  test('an unknown option -> refused before the settings are read', async () => {
    await expect(run(['--sorce', 'a/b'])).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr:
        'cosmig: unknown option: --sorce\n  why  cosmig move has no such option\n  now  did you mean --source?\n',
    });
  });
});

describe('help of the settings', () => {
  test('--help -> every flag with variable, choices and default; secrets as variables only', async () => {
    const { stdout } = await run(['--help']);
    const flowing = stdout.replaceAll(/\s+/g, ' ');
    for (const name of FIELD_NAMES) {
      const field = fieldOf(name);
      expect(flowing.includes(`${flagOfField(name)} `)).toBe(field.type !== 'secret');
      expect(flowing).toContain(field.env ?? '');
      for (const choice of field.choices ?? []) expect(flowing).toContain(choice);
      expect(flowing).toContain(field.default === undefined ? '' : `[default: ${field.default}]`);
      expect(flowing).toContain(field.help.split(' ').slice(0, 3).join(' '));
    }
    expect(flowing).toContain('-c, --config');
    expect(Object.keys(FIELDS)).toHaveLength(28);
  });
});
