/**
 * What README and docs/ name exists: commands, flags, variables, messages, exit codes, files and headings. What they
 * tell to run is run by test/integration/docs/readme.test.ts.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { COMMON_OPTIONS, type OptionTable } from '../src/cli/command.ts';
import { commands } from '../src/commands/all.ts';
import { CanceledError } from '../src/lib/errors.ts';
import { flagOf } from '../src/lib/flags.ts';
import { REASONS } from '../src/state/dead-letters.ts';
import { commandsIn, readAllDocs, readDocs, type Block } from './helpers/doc-blocks.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const docs = readDocs();
const blocks = docs.flatMap((doc) => doc.blocks);

/** Of npm, and of our own `npm run bench`. */
const FLAGS_OF_OTHERS = ['--allow-scripts', '--documents'];
/** Given to hooks. */
const HOOK_VARIABLES = ['COSMIG_MIGRATION', 'COSMIG_SOURCE', 'COSMIG_TARGET', 'COSMIG_REASON'];

const tables = new Map(
  commands.map(({ name, options }): [string, OptionTable] => [name, { ...COMMON_OPTIONS, ...options }]),
);

function flagsOf(table: OptionTable): string[] {
  return [...Object.keys(table).map((name) => `--${flagOf(name)}`), '--help', '--version'];
}

/** The command that words after `cosmig` name; nothing for a group. */
function tableOf([first = '', second = '']: readonly string[]): OptionTable | undefined {
  return tables.get(`${first} ${second}`) ?? tables.get(first);
}

/** Every flag of a line that belongs to cosmig, with its command. */
function* flagsIn(
  line: string,
): Generator<readonly [flag: string, known: readonly string[], command: string]> {
  for (const [, told = ''] of line.matchAll(/\bcosmig ([a-z][^`|&>]*)/g)) {
    const words = told.split(/\s+/);
    const table = tableOf(words);
    for (const flag of told.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])
      yield [flag, table === undefined ? [] : flagsOf(table), words.slice(0, 2).join(' ')];
  }
}

describe('commands and flags', () => {
  test('of blocks and of code in the text are those of the command they stand with', () => {
    const lines = [
      ...blocks.filter(({ language }) => language !== 'azurecli').flatMap(({ text }) => commandsIn(text)),
      ...docs.flatMap(({ prose }) => [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)),
    ];
    const named = lines.flatMap((line) => [...flagsIn(line)]);
    expect(named.length).toBeGreaterThan(40);
    expect(
      named.filter(([flag, known]) => !known.includes(flag)).map(([flag, , at]) => `${at}: ${flag}`),
    ).toEqual([]);
  });

  test('of the text exist somewhere', () => {
    const known = new Set([...[...tables.values()].flatMap(flagsOf), ...FLAGS_OF_OTHERS]);
    const named = docs.flatMap(({ prose }) => prose.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []);
    expect(named.filter((flag) => !known.has(flag))).toEqual([]);
  });

  test('variables are read by somebody', () => {
    const known = new Set([
      ...[...tables.values()].flatMap((table) => Object.values(table).map(({ env }) => env)),
      ...HOOK_VARIABLES,
    ]);
    const named = docs.flatMap(({ text }) => text.match(/\bCOSMIG_[A-Z_]+\b/g) ?? []);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('scripts and benches can be run', () => {
    const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: object };
    const texts = docs.map(({ text }) => text).join('\n');
    const named = [...texts.matchAll(/\bnpm run ([a-z]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
    const rows = [...texts.matchAll(/\| `-- ([a-z]+)/g)].map(([, name = '']) => name);
    expect(rows.length).toBeGreaterThan(10);
    const bench = readFileSync(`${ROOT}bench/run.ts`, 'utf8');
    expect(rows.filter((name) => !bench.includes(`\n  ${name}: bench`))).toEqual([]);
  });
});

/** The flags of each line that we show; that they exist is read from the Azure CLI's own source (cosmosdb/_params.py). */
const AZURE = [
  'az cosmosdb update --resource-group --name --enable-pbe',
  'az cosmosdb update --resource-group --name --backup-policy-type',
  'az rest --method --url --body',
  'az cosmosdb sql role assignment create --resource-group --account-name --principal-id --role-definition-id --scope',
  'az cosmosdb sql container throughput update --resource-group --account-name --database-name --name --throughput',
];

test('commands of the Azure CLI have the flags that they need and no others', () => {
  const lines = blocks
    .filter(({ language }) => language === 'azurecli')
    .flatMap(({ text }) => commandsIn(text));
  expect(lines).not.toEqual([]);
  const shapes = lines.map((line) => {
    const words = line.replaceAll(/'[^']*'/g, '').split(/\s+/);
    const command = words.slice(
      0,
      words.findIndex((word) => word.startsWith('--')),
    );
    return [...command, ...words.filter((word) => word.startsWith('--'))].join(' ');
  });
  expect(shapes.filter((shape) => !AZURE.includes(shape))).toEqual([]);
  for (const [body = ''] of lines.join('\n').matchAll(/'\{.*?\}'/g)) {
    if (body.includes('subscriptionId')) continue;
    expect(() => JSON.parse(body.slice(1, -1)) as unknown).not.toThrow();
  }
});

test('a language of blocks is one that is run, or looked at', () => {
  const known = ['sh', 'js', 'text', 'json', 'yaml', 'crontab', 'ini', 'azurecli'];
  const wrong = ({ language, file }: Block): boolean =>
    !known.includes(language) || (['yaml', 'ini'].includes(language) && file === undefined);
  expect(blocks.filter(wrong).map(({ at, language }) => `${at} ${language}`)).toEqual([]);
});

describe('links', () => {
  /** As GitHub makes them. */
  const anchors = (text: string): string[] =>
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  test('of every document lead to files and headings that are there', () => {
    const all = readAllDocs();
    expect(all.map(({ name }) => name)).toContain('docs/internals/design.md');
    const wrong = all.flatMap(({ name, prose }) =>
      [...prose.replaceAll('\n', ' ').matchAll(/\]\((?!https:)([^)]+)\)/g)].flatMap(([, to = '']) => {
        const [file = '', anchor] = to.split('#');
        const path = file === '' ? name : normalize(join(dirname(name), file));
        if (!existsSync(`${ROOT}${path}`)) return [`${name}: ${to}`];
        if (anchor === undefined) return [];
        return anchors(readFileSync(`${ROOT}${path}`, 'utf8')).includes(anchor) ? [] : [`${name}: ${to}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('of a table of contents are all the headings below it, in their order', () => {
    for (const { name, prose } of docs) {
      const listed = [...prose.matchAll(/^- \[.*?\]\(#([^)]+)\)/gm)].map(([, anchor]) => anchor);
      if (listed.length === 0) continue;
      const headings = anchors(prose.replaceAll(/^#(?!#) .*$/gm, '').replaceAll(/^###+ .*$/gm, ''));
      expect({ name, listed }).toEqual({ name, listed: headings });
    }
  });
});

describe('docs/troubleshooting.md', () => {
  const text = docs.find(({ name }) => name === 'docs/troubleshooting.md')?.prose ?? '';

  test('quotes what cosmig says, word for word', () => {
    const sources = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(`${ROOT}src/${name}`, 'utf8'));
    const paragraphs = text.split('\n\n').filter((one) => one.startsWith('**`'));
    const quotes = paragraphs.flatMap((one) =>
      [...one.matchAll(/\*\*`([^`]+)`\*\*/g)].map(([, quote = '']) => quote),
    );
    expect(quotes.length).toBeGreaterThan(40);
    const said = (quote: string): boolean => {
      const parts = quote
        .replaceAll('\n', ' ')
        .split('…')
        .filter((part) => part.trim().length > 2);
      return (
        parts.length > 0 && sources.some((source) => parts.every((part) => source.includes(part.trim())))
      );
    };
    expect(quotes.filter((quote) => !said(quote))).toEqual([]);
  });

  test('has every reason of a dead letter', () => {
    const rows = [...text.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason);
    expect(new Set(rows)).toEqual(new Set(REASONS));
    expect(rows).toHaveLength(REASONS.length);
  });
});

test('pictures: light and dark differ in their colors only, and load nothing', () => {
  const [light = '', dark = ''] = ['light', 'dark'].map((theme) =>
    readFileSync(`${ROOT}docs/images/flow-${theme}.svg`, 'utf8'),
  );
  const colorless = (svg: string): string => svg.replaceAll(/#[0-9a-f]{6}\b/g, '#');
  expect(colorless(dark)).toBe(colorless(light));
  expect(dark).not.toBe(light);
  expect(light.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(/https?:|<script|<image/);
  const shown = [...(docs[0]?.prose ?? '').matchAll(/ src(?:set)?="([^"]+)"/g)].map(([, file]) => file);
  expect(shown).toEqual(['docs/images/flow-dark.svg', 'docs/images/flow-light.svg']);
});

test('docs/operations.md: each exit code -> has a row', () => {
  const prose = docs.find(({ name }) => name === 'docs/operations.md')?.prose ?? '';
  const rows = [...prose.matchAll(/^\| (\d+)(?:, (\d+))? +\|/gm)];
  const listed = rows.flatMap(([, one, other]) => [one, other]).filter((code) => code !== undefined);
  const source = readFileSync(`${ROOT}src/lib/errors.ts`, 'utf8');
  const thrown = [...source.matchAll(/exitCode = (\d+);/g)].map(([, code]) => code);
  const { exitCode: interrupted } = new CanceledError('SIGINT');
  const { exitCode: terminated } = new CanceledError('SIGTERM');
  const { exitCode: hungUp } = new CanceledError('SIGHUP');
  expect(listed.map(Number).toSorted((a, b) => a - b)).toEqual(
    [0, ...thrown.map(Number), interrupted, terminated, hungUp].toSorted((a, b) => a - b),
  );
});
