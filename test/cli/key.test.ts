import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/main.ts';
import { key } from '../../src/commands/key.ts';
import { FILTERS } from '../../src/keys/strategies/parse.ts';
import { CosmigRun, runCosmig } from '../helpers/run-cosmig.ts';
import { VirtualClock } from '../helpers/clock.ts';
import { FILTER_HINT } from '../helpers/key-plan.ts';

const ORDERS = [
  { id: 'o-1', tenantId: 'amber', createdAt: '2026-03-01T09:30:00Z' },
  { id: 'o 2', tenantId: 'birch', createdAt: '2026-02-28T23:00:00-05:00' },
  { id: 'o-3', createdAt: '2026-03-02' },
  { id: 'o-4', tenantId: 'amber', createdAt: 'soon' },
  { tenantId: 'amber', createdAt: 1_772_323_200 },
];
const LINES = ORDERS.map((order) => `${JSON.stringify(order)}\n`);
const MONTHLY = ['--derive', '/pk={tenantId}-{createdAt|month}'];

describe('cosmig key', () => {
  test('--help -> names every filter', () => {
    expect(key.description).toContain(`--derive: ${FILTERS.map(({ example }) => example).join(', ')}.`);
  });

  test('documents -> one line each with key, tab and id; the summary on stderr', async () => {
    await expect(runCosmig(['key', ...MONTHLY], { stdin: LINES })).resolves.toEqual({
      code: 0,
      stdout:
        '"amber-2026-03"\to-1\n' +
        '"birch-2026-03"\t"o 2"\n' +
        '(missing)\to-3\n' +
        '(invalid-key: /createdAt cannot serve for /pk: the text is not an ISO 8601 date)\to-4\n' +
        '"amber-2026-03"\tmissing\n',
      stderr: [
        'partition key        /pk',
        'documents            5',
        'distinct keys        3',
        'without a value      1 (the undefined key)',
        'refused              1 invalid-key',
        'in 10 even ranges    0 2 1 0 1 0 0 0 0 0',
        'biggest keys          40.0 %  2  "amber-2026-03"',
        '                      20.0 %  1  "birch-2026-03"',
        '                      20.0 %  1  (missing)',
        '',
      ].join('\n'),
    });
  });

  test('array, chunked input or file -> the same keys', async () => {
    const { stdout } = await runCosmig(['key', ...MONTHLY, '--quiet'], { stdin: LINES });
    const array = JSON.stringify(ORDERS, null, 2);
    const pieces = array.match(/[\s\S]{1,7}/g) ?? [];
    const expected = { code: 0, stdout, stderr: '' };
    await expect(runCosmig(['key', '-', ...MONTHLY, '--quiet'], { stdin: pieces })).resolves.toEqual(
      expected,
    );
    await expect(runCosmig(['key', file('orders.json', array), ...MONTHLY, '--quiet'])).resolves.toEqual(
      expected,
    );
  });

  test('a hierarchical key -> a JSON array with types', async () => {
    const argv = ['key', '--quiet', '--partition-key', '/tenantId', '--partition-key', '/address/"zip code"'];
    const stdin = [
      '{"id":"1","tenantId":"a","address":{"zip code":80331}}{"id":"2","tenantId":null,"address":{"zip code":"80331"}}' +
        '{"id":"3","tenantId":"a"}{"id":"4","tenantId":["a"]}',
    ];
    expect((await runCosmig(argv, { stdin })).stdout).toBe(
      '["a",80331]\t1\n[null,"80331"]\t2\n["a",(missing)]\t3\n[(missing),(missing)]\t4\n',
    );
  });

  test('--explain -> the steps and the range of each key', async () => {
    const argv = ['key', '--explain', '--quiet', '--ranges', '4', ...MONTHLY];
    expect((await runCosmig(argv, { stdin: LINES.slice(0, 1) })).stdout).toMatch(
      /^"amber-2026-03"\to-1\n {2}\/tenantId is "amber"\n {2}\/createdAt is "2026-03-01T09:30:00Z"; month gives "2026-03"\n {2}\{tenantId\}-\{createdAt\|month\} gives "amber-2026-03"\n {2}\/pk is written as "amber-2026-03"\n {2}the key at \/pk is "amber-2026-03"\n {2}it hashes to [0-3][0-9A-F]{31}, in range [1-4] of 4\n$/,
    );
    expect((await runCosmig(argv, { stdin: LINES.slice(3, 4) })).stdout).toMatch(
      /\n {2}invalid-key: \/createdAt cannot serve for \/pk: the text is not an ISO 8601 date\n$/,
    );
  });

  test('--explain, derived property holds another value -> the conflict is named', async () => {
    const stdin = ['{"a":"x","pk":"y"}{"a":"x","pk":"x"}{"pk":[]}{"a":"x"}'];
    const { stdout } = await runCosmig(['key', '--explain', '--quiet', '--derive', '/pk={a}'], { stdin });
    const held = stdout.split('\n').filter((line) => line.includes('holds'));
    const rest = "a copy would refuse the document (key-conflict), unless that is the source's key";
    expect(held).toEqual([`  /pk holds "y": ${rest}`, `  /pk holds an object or array: ${rest}`]);
  });

  test('--json -> one object, {} for a missing level', async () => {
    const { code, stdout, stderr } = await runCosmig(['key', '--json', ...MONTHLY], { stdin: LINES });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      command: 'key',
      complete: true,
      partitionKey: ['/pk'],
      documents: 5,
      keys: { distinct: 3, exact: true },
      missing: 1,
      refused: { 'missing-key': 0, 'invalid-key': 1, 'key-too-long': 0 },
      ranges: [0, 2, 1, 0, 1, 0, 0, 0, 0, 0],
      biggest: [
        { key: ['amber-2026-03'], documents: 2 },
        { key: ['birch-2026-03'], documents: 1 },
        { key: [{}], documents: 1 },
      ],
      results: [
        { id: 'o-1', key: ['amber-2026-03'] },
        { id: 'o 2', key: ['birch-2026-03'] },
        { id: 'o-3', key: [{}] },
        {
          id: 'o-4',
          reason: 'invalid-key',
          why: '/createdAt cannot serve for /pk: the text is not an ISO 8601 date',
        },
        { id: null, key: ['amber-2026-03'] },
      ],
      resultsLeftOut: 0,
    });
  });

  test('--json, more than 1000 documents -> the first 1000 and the number left out', async () => {
    const stdin = Array.from({ length: 1005 }, (_, id) => `{"id":"${id}"}\n`);
    const { stdout } = await runCosmig(['key', '--json', '--partition-key', '/id'], { stdin });
    const { results, ...rest } = JSON.parse(stdout) as { results: unknown[] };
    expect(results).toHaveLength(1000);
    expect(rest).toMatchObject({ documents: 1005, keys: { distinct: 1005 }, resultsLeftOut: 5 });
  });

  test('more keys than are counted exactly -> "at least"', async () => {
    const stdin = [Array.from({ length: 100_001 }, (_, id) => `{"id":${id}}`).join('\n')];
    const { stderr } = await runCosmig(['key', '--partition-key', '/id'], { stdin });
    expect(stderr).toContain('documents            100001\ndistinct keys        at least 100000\n');
  });

  test('no documents -> an empty summary', async () => {
    await expect(runCosmig(['key', '--partition-key', '/id', '--ranges', '2'])).resolves.toEqual({
      code: 0,
      stdout: '',
      stderr:
        'partition key        /id\ndocuments            0\ndistinct keys        0\nwithout a value      0\n' +
        'refused              0\nin 2 even ranges     0 0\n',
    });
  });
});

describe('cosmig key: documents without a key', () => {
  test('--missing-key dead-letter -> refused one by one', async () => {
    const argv = ['key', ...MONTHLY, '--missing-key', 'dead-letter', '--quiet'];
    expect((await runCosmig(argv, { stdin: LINES.slice(2, 3) })).stdout).toBe(
      '(missing-key: /tenantId is missing, which /pk is made of)\to-3\n',
    );
  });

  test('--missing-key fail -> the run ends', async () => {
    const argv = ['key', ...MONTHLY, '--missing-key', 'fail', '--quiet'];
    await expect(runCosmig(argv, { stdin: LINES })).resolves.toEqual({
      code: 5,
      stdout: '"amber-2026-03"\to-1\n"birch-2026-03"\t"o 2"\n',
      stderr:
        'cosmig: the document at line 3 of the input has no key\n' +
        '  why  /tenantId is missing, which /pk is made of\n' +
        '  now  use --missing-key keep or dead-letter to see the others, or choose another key\n',
    });
  });
});

describe('cosmig key: unreadable input', () => {
  test.each([
    [
      '{"id":"1"}\n{"id":}\n',
      'the input is not JSON at line 2',
      "Unexpected token '}' in the value that begins there",
      'give one JSON object per line, or one array of objects',
    ],
    [
      '{"id":"1"}\n[7]',
      'line 2 of the input is not a document',
      'a document is a JSON object',
      'give one JSON object per line, or one array of objects',
    ],
    [
      '{"id":"1"}\n{"id":"2"',
      'the input is not JSON at line 2',
      'the input ends before the value that begins there does',
      'give one JSON object per line, or one array of objects',
    ],
  ])('row %# -> refused, with the reason and what to do', async (text, what, why, now) => {
    await expect(runCosmig(['key', '--partition-key', '/id'], { stdin: [text] })).resolves.toEqual({
      code: 2,
      stdout: '"1"\t1\n',
      stderr: `cosmig: ${what}\n  why  ${why}\n  now  ${now}\n`,
    });
  });

  test('--json -> the error is one JSON object', async () => {
    const { code, stdout } = await runCosmig(['key', '--partition-key', '/id', '--json'], { stdin: ['{'] });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      command: 'key',
      complete: false,
      error: {
        code: 'usage',
        message: 'the input is not JSON at line 1',
        hint: 'give one JSON object per line, or one array of objects',
      },
    });
  });

  test('a missing file -> refused', async () => {
    const name = join(folder, 'nope.json');
    await expect(runCosmig(['key', name, '--partition-key', '/id'])).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr:
        `cosmig: ${name} cannot be read\n  why  there is no such file or folder\n` +
        '  now  give a file of JSON documents, or pipe them in\n',
    });
  });
});

describe('cosmig key: wrong options', () => {
  test.each([
    [
      [],
      'no partition key was given',
      'every document gets a new key: a property, or a derived value',
      "give --partition-key /customerId, COSMIG_PARTITION_KEY or partitionKey in the config file; or give --derive '/pk={tenantId}-{createdAt|month}' or derive in the config file",
    ],
    [
      ['--derive', '/pk={a|mnth}'],
      '--derive /pk={a|mnth} is not valid',
      'there is no filter mnth, character 8',
      FILTER_HINT,
    ],
    [
      ['--partition-key', '/id', '--missing-key', 'drop'],
      '--missing-key drop is not valid',
      'it is one of keep, dead-letter, fail',
      'for example --missing-key keep',
    ],
  ])('%j -> refused, and no key is printed', async (argv, what, why, now) => {
    await expect(runCosmig(['key', ...argv], { stdin: LINES })).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr: `cosmig: ${what}\n  why  ${why}\n  now  ${now}\n`,
    });
  });

  test('several problems -> all of them are listed', async () => {
    const { code, stderr } = await runCosmig(['key', '--partition-key', '/_ts', '--derive', '/id={a}']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'cosmig: the migration settings have 2 problems\n' +
        '- /_ts cannot be a key path (--partition-key, --derive)\n' +
        '  why  the service writes it, and every copy gets another value\n' +
        '  now  choose a property that the application writes\n' +
        '- /id cannot be derived (--partition-key, --derive)\n' +
        '  why  the name id has a meaning of its own\n' +
        '  now  derive into a property of another name, /pk for instance\n',
    });
  });
});

describe('cosmig key: interrupted', () => {
  test('the reader of stdout is gone -> ends quietly', async () => {
    let written = '';
    let read = 0;
    const stdin = (async function* () {
      for (; read < 1000; read += 1) yield Buffer.from(`{"id":"${read}"}\n`);
    })();
    const stdout = {
      write: (text: string) => (written += text),
      drained: async () => !written.includes('"2"'),
    };
    const stderr = { write: (text: string) => (written += text) };
    const signals = { on: () => {}, off: () => {} };
    const argv = ['key', '--partition-key', '/id'];
    const clock = new VirtualClock();
    const leave = (): void => {};
    const code = await runCommandLine({ argv, env: {}, stdin, stdout, stderr, signals, clock, leave });
    expect({ code, written }).toEqual({ code: 0, written: '"0"\t0\n"1"\t1\n"2"\t2\n' });
    expect(read).toBeLessThan(5);
  });

  test('a signal while waiting for input -> ends', async () => {
    let asked = (): void => {};
    const waiting = new Promise<void>((resolve) => (asked = resolve));
    const stdin = (async function* (): AsyncGenerator<Uint8Array> {
      asked();
      await new Promise(() => {});
      yield Buffer.from('');
    })();
    const run = new CosmigRun(['key', '--partition-key', '/id'], { stdin });
    await waiting;
    run.press('SIGINT');
    expect((await run.ended).code).toBe(130);
  });
});

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-key-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
