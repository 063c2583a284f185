import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../../src/lib/errors.ts';
import { parseConfig, readConfigFile } from '../../../../src/spec/input/config-file.ts';
import { inFolder } from '../loading.ts';

function textsOf(text: string): Record<string, readonly string[]> {
  const { givens, problems } = parseConfig(text, 'f.yaml');
  expect(problems).toEqual([]);
  return Object.fromEntries(givens.map(({ field, texts }) => [field, texts]));
}

function refusedBy(work: () => unknown): UsageError {
  try {
    work();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('config file', () => {
  test.each([
    ['nothing', '', {}],
    ['comments only', '# later\n', {}],
    ['a text', 'source: shop/orders', { source: ['shop/orders'] }],
    ['a text in quotes', 'derive: "/pk={a}: {b}"', { derive: ['/pk={a}: {b}'] }],
    ['a template as it is', 'derive: /pk={a}-{b|hash:4}', { derive: ['/pk={a}-{b|hash:4}'] }],
    ['a list', 'partitionKey:\n  - /a\n  - /b', { partitionKey: ['/a', '/b'] }],
    ['a short list', 'partitionKey: [/a, /b]', { partitionKey: ['/a', '/b'] }],
    ['a number as it was written', 'maxDeadLetters: 1e3', { maxDeadLetters: ['1e3'] }],
    ['a number', 'targetThroughput: 4000', { targetThroughput: ['4000'] }],
    ['a time, which is text', 'until: 05:30', { until: ['05:30'] }],
    ['a percentage', 'sourceRu: 25%', { sourceRu: ['25%'] }],
    ['a switch', 'yes: true', { yes: ['true'] }],
    ['words that once were switches', 'source: yes/no', { source: ['yes/no'] }],
    ['nothing after the colon', 'source:', { source: [''] }],
    [
      'JSON',
      '{\n\t"source": "shop/orders",\n\t"partitionKey": ["/a"]\n}',
      { source: ['shop/orders'], partitionKey: ['/a'] },
    ],
    [
      'a byte order mark and CRLF',
      '\uFEFFsource: a/b\r\ntarget: a/c\r\n',
      { source: ['a/b'], target: ['a/c'] },
    ],
  ])('%s -> read', (_case, text, expected) => {
    expect(textsOf(text)).toEqual(expected);
  });

  test('each value -> its line', () => {
    const { givens } = parseConfig('# one\nsource: a/b\n\nderive:\n  - /x={a}\n', 'f.yaml');
    expect(givens.map(({ field, origin }) => ({ field, origin }))).toEqual([
      { field: 'source', origin: { kind: 'file', file: 'f.yaml', line: 2 } },
      { field: 'derive', origin: { kind: 'file', file: 'f.yaml', line: 4 } },
    ]);
  });
});

describe('config file: invalid values', () => {
  test.each([
    [
      'an unknown name',
      'colour: red',
      'unknown setting: colour (f.yaml line 1)',
      'see cosmig copy --help for the settings; names are in camelCase',
    ],
    [
      'a misspelt name',
      'source: a/b\npartitonKey: /a',
      'unknown setting: partitonKey (f.yaml line 2)',
      'did you mean partitionKey?',
    ],
    [
      'a name in kebab case',
      'partition-key: /a',
      'unknown setting: partition-key (f.yaml line 1)',
      'did you mean partitionKey?',
    ],
    [
      '__proto__',
      '__proto__: {source: a/b}',
      'unknown setting: __proto__ (f.yaml line 1)',
      'see cosmig copy --help for the settings; names are in camelCase',
    ],
    [
      'constructor',
      'constructor: x',
      'unknown setting: constructor (f.yaml line 1)',
      'see cosmig copy --help for the settings; names are in camelCase',
    ],
    [
      'a name that is not a word',
      '"a b\\nc": x',
      'unknown setting: this name (f.yaml line 1)',
      'see cosmig copy --help for the settings; names are in camelCase',
    ],
    [
      'an account key',
      'sourceKey: abc',
      'sourceKey is not accepted in a file (f.yaml line 1)',
      'set COSMIG_SOURCE_KEY instead, and remove it from the file',
    ],
    [
      'a connection string',
      'targetConnectionString: abc',
      'targetConnectionString is not accepted in a file (f.yaml line 1)',
      'set COSMIG_TARGET_CONNECTION_STRING instead, and remove it from the file',
    ],
    [
      'a secret by another name',
      'accountKey: abc',
      'unknown setting: accountKey (f.yaml line 1)',
      'remove it if it is a secret: account keys and connection strings are given by variables only',
    ],
    [
      'a list for one value',
      'source: [a/b]',
      'source is not valid like this (f.yaml line 1)',
      'for example source: shop/orders',
    ],
    [
      'a mapping',
      'derive: {/pk: "{a}"}',
      'derive is not valid like this (f.yaml line 1)',
      'for example derive: /pk={tenantId}-{createdAt|month}',
    ],
    [
      'lists in lists',
      'partitionKey: [[/a]]',
      'partitionKey is not valid like this (f.yaml line 1)',
      'for example partitionKey: /customerId',
    ],
    [
      'an alias to nothing',
      'source: *missing',
      'source is not valid like this (f.yaml line 1)',
      'for example source: shop/orders',
    ],
    [
      'an alias',
      'source: &x a/b\ntarget: *x',
      'target is not valid like this (f.yaml line 2)',
      'for example target: shop/orders-by-customer',
    ],
  ])('%s -> refused with what is right', (_case, text, message, hint) => {
    expect(parseConfig(text, 'f.yaml').problems).toMatchObject([{ message, hint }]);
  });
});

describe('config file: unusable files', () => {
  test.each([
    [
      'the same name twice',
      'source: a/b\nsource: c/d',
      'f.yaml line 2 cannot be read',
      'this name occurs a second time',
    ],
    [
      'the same name twice in JSON',
      '{"source": "a/b",\n"source": "c/d"}',
      'f.yaml line 2 cannot be read',
      'this name occurs a second time',
    ],
    [
      'two documents',
      'source: a/b\n---\ntarget: a/c',
      'f.yaml line 2 cannot be read',
      'a second document begins there',
    ],
    [
      'a tag',
      'source: !!js/function x',
      'f.yaml line 1 cannot be read',
      'it has a tag, and tags are not accepted',
    ],
    [
      'an open quote',
      'source: "a/b',
      'f.yaml line 1 cannot be read',
      'a quote, a bracket or a colon is missing',
    ],
    ['a list at the top', '- source', 'f.yaml has no settings', 'it is not a list of names with values'],
    ['a word', 'hello', 'f.yaml has no settings', 'it is not a list of names with values'],
  ])('%s -> refused with why', (_case, text, message, why) => {
    expect(refusedBy(() => parseConfig(text, 'f.yaml')).problems).toMatchObject([{ message, why }]);
  });

  test('aliases that multiply -> refused without expanding', () => {
    const lines = ['a0: &a0 [x, x]'];
    for (let depth = 1; depth < 40; depth += 1)
      lines.push(`a${depth}: &a${depth} [*a${depth - 1}, *a${depth - 1}]`);
    const { givens, problems } = parseConfig(lines.join('\n'), 'f.yaml');
    expect(givens).toEqual([]);
    expect(problems).toHaveLength(40);
  });

  test.each([
    ['brackets', `source: ${'['.repeat(8000)}`],
    ['braces', '{a: '.repeat(4000)],
    ['dashes', '- '.repeat(8000)],
    ['question marks', '? '.repeat(8000)],
    ['dashes under a name', `derive:\n ${'- '.repeat(8000)}`],
  ])('endless %s -> refused before parsing', (_case, text) => {
    expect(refusedBy(() => parseConfig(text, 'f.yaml')).why).toBe(
      'it has more than 256 brackets, braces and dashes',
    );
  });

  test('the deepest allowed nesting -> parsed', () => {
    const lines = Array.from({ length: 170 }, (_, depth) => `${' '.repeat(depth)}a:`);
    const deepest = [...lines, `${' '.repeat(170)}- ${'- '.repeat(254)}a`].join('\n');
    expect(parseConfig(deepest, 'f.yaml').problems).toHaveLength(1);
    const flow = [...lines, `${' '.repeat(170)}a: ${'['.repeat(256)}${']'.repeat(256)}`].join('\n');
    expect(parseConfig(flow, 'f.yaml').problems).toHaveLength(1);
  });

  test('too large, not text, or missing -> reported as such', () => {
    inFolder(undefined, (folder) => {
      const file = join(folder, 'x.yaml');
      const why = (): string | undefined => refusedBy(() => readConfigFile(file, 'x.yaml')).why;
      expect(readConfigFile(file, 'x.yaml')).toBeUndefined();
      writeFileSync(file, `# ${'x'.repeat(17_000)}`);
      expect(why()).toBe('it has more than 16 KB');
      writeFileSync(file, Buffer.from([0x73, 0xff, 0xfe]));
      expect(why()).toBe('it is not text in UTF-8');
      mkdirSync(join(folder, 'd'));
      expect(refusedBy(() => readConfigFile(join(folder, 'd'), 'd')).why).toBe('it is a folder');
    });
  });
});
