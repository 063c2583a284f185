/**
 * Checks that everything README and docs/ name exists: commands, flags, variables, messages, exit codes, files and
 * headings. test/integration/docs/readme.test.ts runs the commands that they show.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { OptionTable } from '../src/cli/command.ts';
import { EXIT_CODES } from '../src/cli/exit-codes.ts';
import { commands } from '../src/commands/all.ts';
import { COMMON_OPTIONS } from '../src/commands/common-options.ts';
import { FILTERS } from '../src/keys/strategies/parse.ts';
import { flagOf } from '../src/lib/flags.ts';
import { PRICES } from '../src/spec/money/prices.ts';
import { estimate } from '../src/preflight/estimate.ts';
import { REASONS } from '../src/state/dead-letters.ts';
import { commandsIn, readAllDocs, readDocs, type Block } from './helpers/docs/doc-blocks.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const docs = readDocs();
const blocks = docs.flatMap((doc) => doc.blocks);

/** Of npm, and of our own `npm run bench`. */
const FLAGS_OF_OTHERS = [
  '--allow-scripts',
  '--default-consistency-level',
  '--documents',
  '--foreground-scripts',
  '--http',
];
/** Given to hooks. */
const HOOK_VARIABLES = [
  'COSMIG_MIGRATION',
  'COSMIG_SOURCE',
  'COSMIG_TARGET',
  'COSMIG_REASON',
  'COSMIG_NOTIFICATION',
  'COSMIG_NOTIFICATION_EVENT',
];

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
  for (const [, command = ''] of line.matchAll(/\bcosmig ([a-z][^`|&>]*)/g)) {
    const words = command.split(/\s+/);
    const table = tableOf(words);
    for (const flag of command.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])
      yield [flag, table === undefined ? [] : flagsOf(table), words.slice(0, 2).join(' ')];
  }
}

describe('commands and flags', () => {
  test('docs: flags next to a command -> are flags of that command', () => {
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

  test('docs: flags in the text -> exist in some command', () => {
    const known = new Set([...[...tables.values()].flatMap(flagsOf), ...FLAGS_OF_OTHERS]);
    const named = docs.flatMap(({ prose }) => prose.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []);
    expect(named.filter((flag) => !known.has(flag))).toEqual([]);
  });

  test('docs: variables -> are read by cosmig or passed to hooks', () => {
    const known = new Set([
      ...[...tables.values()].flatMap((table) => Object.values(table).map(({ env }) => env)),
      ...HOOK_VARIABLES,
    ]);
    const named = docs.flatMap(({ text }) => text.match(/\bCOSMIG_[A-Z_]+\b/g) ?? []);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('docs: npm scripts and benchmarks -> exist', () => {
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

test('docs: commands of the Azure CLI -> have exactly the flags that they need', () => {
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

test('docs: code blocks -> are in a language that is run or checked', () => {
  const known = ['sh', 'js', 'text', 'json', 'yaml', 'crontab', 'ini', 'azurecli'];
  const wrong = ({ language, file }: Block): boolean =>
    !known.includes(language) || (['yaml', 'ini'].includes(language) && file === undefined);
  expect(blocks.filter(wrong).map(({ at, language }) => `${at} ${language}`)).toEqual([]);
});

test('docs: tables -> each row has as many cells as its head', () => {
  const cellsOf = (row: string): number => row.replaceAll(/`[^`]*`|\\\|/g, '').split('|').length;
  const wrong = readAllDocs().flatMap(({ name, prose }) =>
    (prose.match(/(?:^\|.*\n)+/gm) ?? []).flatMap((table) => {
      const rows = table.trimEnd().split('\n');
      return rows
        .filter((row) => cellsOf(row) !== cellsOf(rows[0] ?? ''))
        .map((row) => `${name}: ${row.slice(0, 80)}`);
    }),
  );
  expect(wrong).toEqual([]);
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

  test('docs: links of every document -> lead to existing files and headings', () => {
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

  test('docs: a table of contents -> lists all headings in their order', () => {
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

  test('troubleshooting.md: quoted messages -> are in the source, word for word', () => {
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

  test('troubleshooting.md: reasons of dead letters -> each has one row', () => {
    const rows = [...text.matchAll(/^\| `([a-z-]+)` /gm)].map(([, reason]) => reason);
    expect(new Set(rows)).toEqual(new Set(REASONS));
    expect(rows).toHaveLength(REASONS.length);
  });
});

test('docs/keys.md: the table of filters -> has every filter, with its example, in the order of the help', () => {
  const prose = docs.find(({ name }) => name === 'docs/keys.md')?.prose ?? '';
  const table = /^\| filter .*\n\|[-| ]+\n(?<rows>(?:\|.*\n)+)/m.exec(prose)?.groups?.['rows'] ?? '';
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '');
  const listed = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, example]) => example));
  expect(listed).toEqual(FILTERS.map(({ example }) => example));
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

test('pictures of the live page: each is a small PNG that a page shows, with words for those who do not see it', () => {
  const files = readdirSync(`${ROOT}docs/images`).filter((file) => file.endsWith('.png'));
  expect(files).toEqual(['watch-cutover.png', 'watch-tail.png']);
  const shown = docs.flatMap(({ prose }) => [
    ...prose.matchAll(/!\[([^\]]+)\]\((?:docs\/|\.\.\/)?images\/([^)]+)\)/g),
  ]);
  expect(new Set(shown.map(([, , file]) => file))).toEqual(new Set(files));
  for (const file of files) {
    const bytes = readFileSync(`${ROOT}docs/images/${file}`);
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(bytes.length).toBeLessThan(150_000);
    // The width, in the first chunk of the file.
    expect(bytes.readUInt32BE(16)).toBe(1120);
  }
});

test('docs/operations/sizing.md: RU, time, price and ledger of the examples -> are those of the estimate', () => {
  const prose = docs.find(({ name }) => name === 'docs/operations/sizing.md')?.prose ?? '';
  const number = (cell = ''): number => Number(/[\d.,]+/.exec(cell)?.[0].replaceAll(',', ''));
  const scale = { million: 1e6, MB: 1e6, GB: 1e9, h: 1, min: 1 / 60, USD: 1 } as const;
  const scaled = (cell = ''): number =>
    number(cell) * (Object.entries(scale).find(([unit]) => cell.trim().endsWith(unit))?.[1] ?? 1);
  const rows = [...prose.matchAll(/^\| [\d,]+ million .*$/gm)].map(([row]) => row.split('|').slice(1, -1));
  expect(rows).toHaveLength(4);
  for (const [documents, sourceRu, targetRu, rate, time, price, ledger] of rows) {
    const sample = { averageBytes: 1024, averageKeyBytes: 14, averageTerms: 15, readRu: 1 };
    const made = estimate({
      sample,
      documents: scaled(documents),
      sourceRuPerSecond: undefined,
      targetRuPerSecond: number(rate),
      indexed: 'all',
    });
    const usd = ((made.hours ?? 0) * number(rate) * PRICES.manual) / 100;
    const real = [made.sourceRu, made.targetRu, made.hours, usd, made.ledgerBytes].map((value) => value ?? 0);
    const shown = [sourceRu, targetRu, time, price, ledger].map(scaled);
    for (const [at, value] of shown.entries()) expect((real[at] ?? 0) / value).toBeCloseTo(1, 1);
  }
  expect(prose).toContain(`at ${PRICES.manual} USD for 100 RU/s and hour (${PRICES.date}`);
});

test('docs/operations/runbook.md: each exit code -> has one row', () => {
  const prose = docs.find(({ name }) => name === 'docs/operations/runbook.md')?.prose ?? '';
  const rows = [...prose.matchAll(/^\| (\d+)(?:, (\d+))? +\|/gm)];
  const listed = rows.flatMap(([, one, other]) => [one, other]).filter((code) => code !== undefined);
  expect(listed.map(Number)).toEqual(EXIT_CODES.map(({ exitCode }) => exitCode));
});
