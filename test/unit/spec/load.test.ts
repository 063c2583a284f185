import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { complaints, ENDPOINT, inFolder, KEY, load, OTHER_KEY, problems, refusal, WHOLE } from './loading.ts';
import { loadLedgerPath, loadSpec } from '../../../src/spec/load.ts';
import { migrationName } from '../../../src/spec/migration-name.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { UsageError } from '../../../src/lib/errors.ts';
import { writeFileSync } from 'node:fs';

describe('load: flag over variable over file over default', () => {
  const file = 'ledger: file.db\nmissingKey: fail\n';
  const env = { COSMIG_LEDGER: 'variable.db' };

  test.each([
    ['flag', { flags: { ...WHOLE, ledger: 'flag.db' }, env, file }, 'flag.db'],
    ['variable', { flags: WHOLE, env, file }, 'variable.db'],
    ['file', { flags: WHOLE, file }, 'file.db'],
    ['default', { flags: WHOLE }, join('.cosmig', 'shop.orders--shop.by-tenant.db')],
    ['file, when the variable is empty', { flags: WHOLE, env: { COSMIG_LEDGER: '' }, file }, 'file.db'],
  ])('%s -> the ledger that it names', (_case, giving, expected) => {
    const { ledger } = load(giving).spec;
    expect(ledger.endsWith(`/${expected}`)).toBe(true);
  });

  test('each value -> from its own source', () => {
    const { spec } = load({
      flags: { target: 'shop/new', derive: ['/pk={a}', '/bucket={id|hash:4}'] },
      env: {
        COSMIG_SOURCE: 'shop/orders',
        COSMIG_PARTITION_KEY: '/pk, /bucket',
        COSMIG_SOURCE_ENDPOINT: ENDPOINT,
      },
      file: 'source: never/read\npartitionKey: /never\nttl: remaining\nderive: /never={x}\nyes: true\nmaxDeadLetters: 5\n',
    });
    expect(spec).toMatchObject({
      source: { database: 'shop', container: 'orders', endpoint: ENDPOINT },
      target: { database: 'shop', container: 'new', endpoint: ENDPOINT },
      partitionKey: ['/pk', '/bucket'],
      derive: ['/pk={a}', '/bucket={id|hash:4}'],
      ttl: 'remaining',
      acceptsWarnings: true,
      deadLettersMax: 5,
    });
  });

  test('a switch on in the file, =false as a flag -> off', () => {
    const file = 'yes: true\nskipIfRunning: true';
    expect(load({ flags: WHOLE, file }).spec).toMatchObject({ acceptsWarnings: true, skipsIfRunning: true });
    const flags = { ...WHOLE, yes: 'false' };
    expect(load({ flags, file }).spec).toMatchObject({ acceptsWarnings: false, skipsIfRunning: true });
  });

  test('a problem -> the source of the value that counts', () => {
    const file = 'ttl: never\nonCollision: never';
    const flags = { ...WHOLE, ttl: 'later' };
    expect(complaints({ flags, file, env: { COSMIG_SOURCE: 'orders' } })).toEqual([
      '--ttl: --ttl later is not valid',
      'onCollision (cosmig.config.yaml line 2): onCollision: never (cosmig.config.yaml line 2) is not valid',
    ]);
    const { source: _source, ...rest } = WHOLE;
    expect(complaints({ flags: rest, env: { COSMIG_SOURCE: 'orders' } })).toEqual([
      'COSMIG_SOURCE: COSMIG_SOURCE orders is not valid',
    ]);
  });
});

describe('load: the config file', () => {
  test('--config, else COSMIG_CONFIG, else the default name -> read', () => {
    inFolder('ttl: remaining', (folder) => {
      writeFileSync(join(folder, 'flag.json'), '{"maxDeadLetters": 1}');
      writeFileSync(join(folder, 'variable.yaml'), 'maxDeadLetters: 2');
      const options = Object.fromEntries(Object.entries(WHOLE).map(([name, text]) => [name, [text]]));
      const read = (flag: string[], env: Record<string, string>): unknown => {
        const { spec } = loadSpec({ options: { ...options, config: flag }, env, clock: systemClock, folder });
        return [spec.ttl, spec.deadLettersMax];
      };
      const env = { COSMIG_CONFIG: 'variable.yaml' };
      expect(read(['flag.json'], env)).toEqual(['restart', 1]);
      expect(read([], env)).toEqual(['restart', 2]);
      expect(read([], {})).toEqual(['remaining', 10_000]);
      expect(read([join(folder, 'flag.json')], {})).toEqual(['restart', 1]);
    });
  });

  test.each([
    [{ config: 'gone.yaml' }, {}, '--config gone.yaml does not exist'],
    [{ config: ['a', 'b'] }, {}, '--config was given more than once'],
    [{ config: '' }, {}, '--config has no value'],
    [{}, { COSMIG_CONFIG: 'gone.yaml' }, 'COSMIG_CONFIG gone.yaml does not exist'],
  ])('unreadable -> the only problem: %j %j', (flags, env, message) => {
    expect(problems({ flags, env }).map((problem) => problem.message)).toEqual([message]);
  });

  test('broken -> the only problem', () => {
    expect(complaints({ file: 'source: [a/b' })).toEqual([
      'cosmig.config.yaml: cosmig.config.yaml line 1 cannot be read',
    ]);
  });
});

test('load: relative paths -> resolved against the folder', () => {
  inFolder(undefined, (folder) => {
    const options = Object.fromEntries(Object.entries(WHOLE).map(([name, text]) => [name, [text].flat()]));
    const ledger = (given: string[]): string =>
      loadSpec({ options: { ...options, ledger: given }, env: {}, clock: systemClock, folder }).spec.ledger;
    expect(ledger([])).toBe(join(folder, '.cosmig', 'shop.orders--shop.by-tenant.db'));
    expect(ledger(['x/my.db'])).toBe(join(folder, 'x', 'my.db'));
    expect(ledger(['/elsewhere/my.db'])).toBe('/elsewhere/my.db');
  });
});

describe('load: the ledger alone', () => {
  const found = (giving: Parameters<typeof load>[0]): string =>
    inFolder(giving.file, (folder) => {
      const { source = [], target = [], ledger = [] } = giving.flags ?? {};
      const options = {
        config: [],
        source: [source].flat(),
        target: [target].flat(),
        ledger: [ledger].flat(),
      };
      const input = { options, env: giving.env ?? {}, clock: systemClock, folder };
      return relative(folder, loadLedgerPath(input));
    });

  test.each([
    ['by its path, without anything else', { flags: { ledger: 'flag.db' } }, 'flag.db'],
    ['by a variable', { env: { COSMIG_LEDGER: 'variable.db' }, file: 'ledger: file.db' }, 'variable.db'],
    ['by a file that says more than is asked', { file: 'ledger: file.db\nttl: remaining' }, 'file.db'],
    [
      'where the whole spec has it',
      { flags: { source: 'shop/orders' }, file: 'target: shop/by-tenant' },
      join('.cosmig', 'shop.orders--shop.by-tenant.db'),
    ],
  ])('%s -> found', (_how, giving, expected) => {
    expect(found(giving)).toBe(expected);
  });

  test.each([
    ['nothing', {}, ['no ledger was given']],
    ['one container', { flags: { source: 'shop/orders' } }, ['no ledger was given']],
    ['a wrong one', { flags: { source: 'orders', target: 'a/b' } }, ['--source orders is not valid']],
    ['no file', { flags: { ledger: ':memory:' } }, ['--ledger :memory: is not valid']],
    ['a secret', { flags: { ledger: KEY }, env: { COSMIG_SOURCE_KEY: KEY } }, ['--ledger contains a secret']],
  ])('%s -> not found', (_what, giving, messages) => {
    const refused = complaint(() => found(giving));
    expect(refused.problems.map(({ message }) => message)).toEqual(messages);
    expect(JSON.stringify(refused.problems)).not.toContain(KEY);
  });
});

test('migration name: from a spec or from pinned fields -> the same', () => {
  const { spec } = load({ flags: WHOLE });
  expect(migrationName(spec)).toBe('shop/orders -> shop/by-tenant');
  expect(migrationName({ source: 'shop/orders', target: 'shop/by-tenant' })).toBe(migrationName(spec));
});

describe('load: variables', () => {
  test.each(['COSMIG_SOURCE_KYE', 'COSMIG_SORUCE', 'COSMIG_TARGET_ENDPONT', 'COSMIG_PARTITION_KEYS'])(
    '%s misspelt -> reported',
    (name) => {
      const [problem] = problems({ flags: WHOLE, env: { [name]: 'some text' } });
      expect(problem).toMatchObject({ from: name, message: `unknown variable: ${name}` });
      expect(problem?.hint).toMatch(/^did you mean COSMIG_[A-Z_]+\?$/);
    },
  );

  test('variables of other uses -> ignored', () => {
    const names = ['SEED', 'LIVE', 'LIVE_ENDPOINT', 'LIVE_KEY', 'JSON', 'QUIET', 'VERBOSE', 'NO_COLOR'];
    names.push('EMULATOR_PORT', 'EMULATOR_KEY', 'EMULATOR_DATA', 'EMULATOR_HOST');
    const env = Object.fromEntries(names.map((name) => [`COSMIG_${name}`, 'x']));
    expect(load({ flags: WHOLE, env: { ...env, COSMIG_SOURCE_KYE: '' } }).spec.ttl).toBe('restart');
  });

  test('a trailing line end -> removed', () => {
    const env = { COSMIG_SOURCE: 'shop/orders\n', COSMIG_SOURCE_KEY: `${KEY}\n` };
    const { spec, connections } = load({ flags: { ...WHOLE, source: [] }, env });
    expect(spec.source.container).toBe('orders');
    expect(connections.source.revealKey()).toBe(KEY);
  });

  test.each([
    ['/a', ['/a']],
    ['/a,/b', ['/a', '/b']],
    ['/a , /b/c', ['/a', '/b/c']],
    ['/"x, y",/b', ['/"x, y"', '/b']],
  ])('COSMIG_PARTITION_KEY=%s -> %j', (text, paths) => {
    const { partitionKey: _none, ...flags } = WHOLE;
    expect(load({ flags, env: { COSMIG_PARTITION_KEY: text } }).spec.partitionKey).toEqual(paths);
  });
});

describe('load: several problems', () => {
  test('from every source -> listed in the order of the table', () => {
    const error = refusal({
      flags: { source: 'orders', targetRu: '0', until: '25:00', derive: '/pk={a|nope}' },
      env: { COSMIG_TARGET: 'x', COSMIG_SOURCE_KEY: 'not base64!', COSMIG_SOURCE_ENDPOINT: 'acme' },
      file: 'ttl: never\ntargetThroughput: 450\ncolour: red\n',
    });
    expect(error.exitCode).toBe(2);
    expect(error.message).toBe('the migration settings have 11 problems');
    expect(error.problems.map(({ message }) => message)).toEqual([
      'unknown setting: colour (cosmig.config.yaml line 3)',
      '--source orders is not valid',
      'COSMIG_TARGET x is not valid',
      'COSMIG_SOURCE_ENDPOINT acme is not valid',
      'COSMIG_SOURCE_KEY is not valid',
      '--derive /pk={a|nope} is not valid',
      'ttl: never (cosmig.config.yaml line 1) is not valid',
      '--target-ru 0 is not valid',
      'targetThroughput: 450 (cosmig.config.yaml line 2) is not valid',
      'targetThroughput (cosmig.config.yaml line 2) needs --create-target',
      '--until 25:00 is not valid',
    ]);
  });

  test('each problem -> what, why and what to do', () => {
    const all = problems({ env: { COSMIG_TARGET_KEY: OTHER_KEY }, file: 'for: 3\nuntil: 4' });
    expect(all.length).toBeGreaterThan(3);
    for (const problem of all) {
      for (const part of [problem.from, problem.message, problem.why, problem.hint])
        expect(part).not.toBe('');
      expect(problem.hint).not.toMatch(/undefined|\n/);
    }
  });

  test('one problem -> the error itself', () => {
    const error = refusal({ flags: { ...WHOLE, ttl: 'later' } });
    expect({ message: error.message, why: error.why, hint: error.hint }).toEqual({
      message: '--ttl later is not valid',
      why: 'it is one of restart, remaining',
      hint: 'for example --ttl restart',
    });
    expect(error.problems).toHaveLength(1);
  });
});

function complaint(act: () => unknown): UsageError {
  try {
    act();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
