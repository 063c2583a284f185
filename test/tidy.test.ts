/**
 * The house rules that no linter knows: which way imports point, where time and chance may be taken
 * from, that nothing lies around unused, and that what we promise in text exists.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { OptionTable } from '../src/cli/command.ts';
import { commands } from '../src/commands/all.ts';
import { COMMON_OPTIONS } from '../src/commands/common-options.ts';
import { BACK_MUTATIONS } from './model/back/mutations.ts';
import { FOUND_MUTATIONS } from './model/mutations.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** From the terminal down: an import points to a later line. Neighbours on a line do not know each other. */
const LAYERS = [
  ['cli'],
  ['commands'],
  ['demo'],
  ['report'],
  ['notify'],
  ['workflows'],
  ['engine', 'verify', 'emulator', 'doctor', 'plan', 'watch'],
  ['preflight'],
  ['cosmos', 'state'],
  ['spec'],
  // Below the spec, which lets it judge what an operator asks of a key; it knows nothing of specs.
  ['keys'],
  ['documents'],
  ['epk'],
  ['lib'],
];

/** The only places that may import these packages. */
const PACKAGES: Readonly<Record<string, string>> = {
  'yargs-parser': 'src/cli/command-line.ts',
  ora: 'src/cli/',
  '@azure/cosmos': 'src/cosmos/',
  '@azure/core-rest-pipeline': 'src/cosmos/',
  '@azure/identity': 'src/cosmos/account/sign-in.ts',
  yaml: 'src/spec/input/',
  'better-sqlite3': 'src/lib/sqlite/sqlite-driver.ts',
  'better-sqlite3-13': 'src/lib/sqlite/sqlite-driver.ts',
};

/** Time, chance and the environment are passed in; they come from here. */
// The script of the live page runs in a browser.
const EDGES = ['src/lib/', 'src/cli/', 'src/spec/load.ts', 'src/report/watch/client.ts'];
const AMBIENT =
  /\b(?:Date\.now|Math\.random|performance\.now|set(?:Timeout|Interval)|process\.env)\b|\bnew Date\(\)/g;

/** A difference to the time of day. */
const DIFFERENCE = /clock\.now\(\) [-<>]|[-<>]=? (?:[\w.#]+\.)?clock\.now\(\)/g;
/** Places that compare with an instant which a person gave or an earlier process stored. */
const DIFFERENCES_OF_INSTANTS = [
  'src/cosmos/account/service-time.ts',
  'src/engine/cutover/after-commit.ts',
  'src/engine/run.ts',
  'src/report/runs/run-verify.ts',
  'src/spec/time-left.ts',
];

// execa, which we admire, has 243 lines in its largest file; beyond 400 a reader loses the point.
const LINES_MAX = 400;
const COMMENT_COLUMNS = 127;

/** More files than fit on half a screen are not a room but a heap. */
const FILES_MAX = 15;
/** The model is as small as the promises allow: its parts are the steps of a mover and the things they touch. */
const FILES_MAX_OF: Readonly<Record<string, number>> = { 'test/model': 16, 'test/model/mover': 16 };

const EXPORTED_TYPE = /^export (?:abstract )?(?:interface|type|class|enum) ([\w$]+)/gm;
/** A method or an accessor in the body of a class, which oxfmt indents by two; a call there would be deeper. */
const PUBLIC_METHOD =
  /^ {2}(?:(?:static|async|get|set|override) |\*)*(?!constructor\b|if\b|for\b|while\b|switch\b|catch\b|return\b|function\b)([a-z][\w$]*)(?:<[^>]*>)?\([^;]*?\)[^;{]*\{$/gm;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
  /** Loaded when its line runs. */
  readonly onDemand: boolean;
}

const sources = filesUnder('src').filter((file) => file.endsWith('.ts'));
const imports = sources.flatMap(importsOf);
const scripts = filesUnder('scripts');
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)));

/** A path, or the name of a file, in running text. */
const CITED_PATH = /(?<![\w./*<{}$~-])((?:[\w@.-]+\/)*[\w][\w.-]*\.(?:md|ts|sql))\b(?![\w*]|-)/g;
/** A name that stands for one of the reader's own. */
const PLACEHOLDER = /NAME|NNNN/;

function filesUnder(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .toSorted();
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The text without comments, so that talking about a thing is not using it. */
function codeOf(file: string): string {
  return read(file)
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '');
}

function importsOf(file: string): Import[] {
  const statements = codeOf(file).matchAll(
    /(?:^\s*(?:import|export)\s+(?<only>type\s)?(?:[^;'"]*?\sfrom\s+)?|\bimport\()'(?<name>[^']+)'/gm,
  );
  return [...statements].map(({ 0: statement, groups }) => {
    const name = groups?.['name'] ?? '';
    const to = name.startsWith('.') ? normalize(join(dirname(file), name)) : name;
    return {
      from: file,
      to,
      typeOnly: groups?.['only'] !== undefined,
      onDemand: statement.startsWith('import('),
    };
  });
}

/** Files in which a path is a citation. */
function isCiting(file: string): boolean {
  return /\.(?:ts|js|sql|md|yml)$/.test(file) && file !== 'CHANGELOG.md';
}

/** The comments of code, and all of a document. */
function citingPartOf(file: string): string {
  const text = read(file);
  if (!/\.(?:ts|js|sql)$/.test(file)) return text;
  const comments = text.matchAll(file.endsWith('.sql') ? /--.*$/gm : /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm);
  return [...comments].map(([comment]) => comment).join('\n');
}

/** The folder below src that a file belongs to; nothing for src/index.ts and for packages. */
function layerOf(file: string): string | undefined {
  return /^src\/([^/]+)\//.exec(file)?.[1];
}

function rankOf(folder: string): number {
  return LAYERS.findIndex((layer) => layer.includes(folder));
}

const arrowOf = ({ from, to }: Import): string => `${from} -> ${to}`;

describe('imports', () => {
  test('are all seen by this test', () => {
    expect(imports.length).toBeGreaterThan(sources.length);
    expect(imports.filter(({ to }) => to.startsWith('src/') && !sources.includes(to)).map(arrowOf)).toEqual(
      [],
    );
  });

  test('every folder has its place in the layers', () => {
    const folders = new Set(sources.map(layerOf).filter((folder) => folder !== undefined));
    expect([...folders].filter((folder) => rankOf(folder) < 0)).toEqual([]);
  });

  test('point one way; only types may point back', () => {
    const wrong = imports.filter(({ from, to, typeOnly }) => {
      const [user, used] = [layerOf(from), layerOf(to)];
      if (user === undefined || used === undefined || user === used || typeOnly) return false;
      return rankOf(used) <= rankOf(user);
    });
    expect(wrong.map(arrowOf)).toEqual([]);
  });

  test('the emulator knows epk and lib only, so that a bug cannot hide on both sides', () => {
    const wrong = imports.filter(({ from, to }) => {
      const used = layerOf(to);
      return layerOf(from) === 'emulator' && used !== undefined && !['emulator', 'epk', 'lib'].includes(used);
    });
    expect(wrong.map(arrowOf)).toEqual([]);
  });

  test('the verifier never knows the engine', () => {
    const wrong = imports.filter(({ from, to }) => layerOf(from) === 'verify' && layerOf(to) === 'engine');
    expect(wrong.map(arrowOf)).toEqual([]);
  });

  test.each(Object.entries(PACKAGES))('%s is imported by %s only', (name, place) => {
    const wrong = imports.filter(
      ({ from, to }) => (to === name || to.startsWith(`${name}/`)) && !from.startsWith(place),
    );
    expect(wrong.map(arrowOf)).toEqual([]);
  });

  test('what every command line loads at its start is small: its options and their parser', () => {
    const loaded = new Set(['src/cli/main.ts']);
    const atOnce = imports.filter(({ typeOnly, onDemand }) => !typeOnly && !onDemand);
    for (const file of loaded) for (const { from, to } of atOnce) if (from === file) loaded.add(to);
    expect([...loaded].filter((name) => !/^(?:src\/|node:)/.test(name))).toEqual(['yargs-parser']);
    const files = [...loaded].filter((name) => name.startsWith('src/'));
    expect(files.length).toBeGreaterThan(30);
    // Each file takes about half a millisecond of the time in which --help answers.
    expect(files.length).toBeLessThanOrEqual(55);
    const folders = new Set(files.map(layerOf));
    expect(folders).toEqual(new Set(['cli', 'commands', 'lib', 'report', 'spec']));
  });

  test('cosmig status loads what reads a ledger, and neither the SDK nor what moves, plans or serves', () => {
    const atOnce = imports.filter(({ typeOnly, onDemand }) => !typeOnly && !onDemand);
    // Only --report needs these two.
    const ofReport = new Set(['src/report/runs/report-file.ts', 'src/report/status/report-file.ts']);
    const loaded = new Set(
      imports.flatMap(({ from, to, onDemand }) =>
        from === 'src/commands/status.ts' && onDemand && !ofReport.has(to) ? [to] : [],
      ),
    );
    for (const file of loaded) for (const { from, to } of atOnce) if (from === file) loaded.add(to);
    expect(loaded).toContain('src/state/ledger.ts');
    const packages = [...loaded].filter((name) => !/^(?:src\/|node:)/.test(name));
    expect(new Set(packages)).toEqual(new Set(['yaml']));
    const folders = new Set([...loaded].map(layerOf));
    for (const other of ['cosmos', 'engine', 'plan', 'watch', 'emulator', 'notify', 'workflows'])
      expect(folders).not.toContain(other);
    expect(loaded.size).toBeLessThanOrEqual(140);
  });

  test('only the driver module loads a package by another way than an import', () => {
    const wrong = sources.filter((file) => /\bcreateRequire\b|\brequire\(/.test(codeOf(file)));
    expect(wrong).toEqual(['src/lib/sqlite/sqlite-driver.ts']);
  });

  test('the lock file gives the hash of every package, and no address', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { integrity?: string; resolved?: string }>;
    };
    const installed = Object.entries(packages).filter(([path]) => path !== '');
    expect(installed.filter(([, entry]) => entry.integrity === undefined).map(([path]) => path)).toEqual([]);
    expect(installed.filter(([, entry]) => entry.resolved !== undefined).map(([path]) => path)).toEqual([]);
  });

  test('every package is a dependency, and every module of Node says so', () => {
    const manifest = JSON.parse(read('package.json')) as {
      dependencies: Record<string, string>;
      optionalDependencies: Record<string, string>;
    };
    const known = { ...manifest.dependencies, ...manifest.optionalDependencies };
    const wrong = imports.filter(({ to }) => {
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to;
      return !to.startsWith('src/') && !to.startsWith('node:') && !(name in known);
    });
    expect(wrong.map(arrowOf)).toEqual([]);
  });
});

describe('sources', () => {
  test('no file lies around unused', () => {
    const reached = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const { from, to } of imports) if (from === file) visit(to);
    };
    visit('src/index.ts');
    for (const [, file] of read('bin/cosmig.js').matchAll(/import\('\.\.\/dist\/([^']+)\.js'\)/g))
      visit(`src/${file}.ts`);
    expect(reached).toContain('src/cli/main.ts');
    expect(sources.filter((file) => !reached.has(file))).toEqual([]);
  });

  test('take time, chance and the environment from the edges only', () => {
    const wrong = sources
      .filter((file) => !EDGES.some((edge) => file.startsWith(edge)))
      .flatMap((file) => [...codeOf(file).matchAll(AMBIENT)].map(([use]) => `${file}: ${use}`));
    expect(wrong).toEqual([]);
  });

  test('measure durations by the monotonic clock, since the time of day may be set at any moment', () => {
    const wrong = sources
      .filter((file) => !DIFFERENCES_OF_INSTANTS.includes(file))
      .flatMap((file) => [...codeOf(file).matchAll(DIFFERENCE)].map(([use]) => `${file}: ${use}`));
    expect(wrong).toEqual([]);
  });

  test(`have at most ${LINES_MAX} lines, kebab-case names, and a comment that opens them`, () => {
    const wrong = [...sources, ...scripts].filter((file) => {
      const text = read(file);
      const named = /^(?:src|scripts)\/(?:[a-z0-9-]+\/)*[a-z0-9-]+\.ts$/.test(file);
      return !named || text.split('\n').length > LINES_MAX + 1 || !/^\/(?:\*\*|\/)/.test(text);
    });
    expect(wrong).toEqual([]);
  });

  test(`no line of a comment is longer than ${COMMENT_COLUMNS} columns`, () => {
    const isLong = (line: string): boolean =>
      line.length > COMMENT_COLUMNS && /^\s*(?:\/\/|\/\*\*|\*) /.test(line);
    const long = [...sources, ...scripts].filter((file) => read(file).split('\n').some(isLong));
    expect(long).toEqual([]);
  });

  test(`no folder of src or test has more than ${FILES_MAX} files`, () => {
    const sizes = new Map<string, number>();
    for (const file of [...sources, ...filesUnder('test').filter((name) => name.endsWith('.ts'))])
      sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
    const wrong = [...sizes].filter(([folder, size]) => size > (FILES_MAX_OF[folder] ?? FILES_MAX));
    expect(wrong).toEqual([]);
  });

  test('no two types of src are exported under one name', () => {
    const files = new Map<string, string[]>();
    for (const file of sources)
      for (const [, name = ''] of codeOf(file).matchAll(EXPORTED_TYPE))
        files.set(name, [...(files.get(name) ?? []), file]);
    expect(files.size).toBeGreaterThan(200);
    expect([...files].filter(([, all]) => all.length > 1)).toEqual([]);
  });

  test('every public method of a class is used in src', () => {
    const words = new Map<string, number>();
    const defined = new Map<string, string[]>();
    for (const file of sources) {
      const code = codeOf(file);
      for (const [word] of code.matchAll(/(?<!#)\b[\w$]+/g)) words.set(word, (words.get(word) ?? 0) + 1);
      for (const [, name = ''] of code.matchAll(PUBLIC_METHOD))
        defined.set(name, [...(defined.get(name) ?? []), file]);
    }
    expect(defined.size).toBeGreaterThan(200);
    const wrong = [...defined].filter(([name, files]) => (words.get(name) ?? 0) <= files.length);
    expect(wrong).toEqual([]);
  });

  test('migrations are NNNN_what.sql without a gap', () => {
    const wrong = filesUnder('migrations').filter((file, _index, all) => {
      const folder = all.filter((other) => dirname(other) === dirname(file));
      const number = String(folder.indexOf(file) + 1).padStart(4, '0');
      return !new RegExp(`^migrations/[a-z]+/${number}_[a-z0-9-]+\\.sql$`).test(file);
    });
    expect(wrong).toEqual([]);
  });
});

describe('texts', () => {
  test('no file names the machine on which it was written', () => {
    const machine = new RegExp(`(?<![\\w.])/(?:${['work', 'root', 'home'].join('|')})/[\\w.]`);
    expect(tracked.filter((file) => machine.test(read(file)))).toEqual([]);
  });

  test('architecture.md names every folder of src', () => {
    const named = new Set(
      [...read('docs/internals/architecture.md').matchAll(/`(src\/[\w/-]+)`/g)].map(([, path]) => path),
    );
    const folders = new Set(sources.map(dirname));
    expect([...folders].filter((folder) => folder !== 'src' && !named.has(folder))).toEqual([]);
  });

  test.each(['docs/internals/apply-rule.md', 'test/model/README.md'])(
    '%s names every rule of the model',
    (file) => {
      const text = read(file);
      expect(FOUND_MUTATIONS.filter((name) => !text.includes(name))).toEqual([]);
    },
  );

  test('the README of the model names every rule of the way back', () => {
    const text = read('test/model/README.md');
    expect(BACK_MUTATIONS.filter((name) => !text.includes(name))).toEqual([]);
  });

  test.each(['ledger', 'verify'])('ledger.md names every table of migrations/%s', (name) => {
    const made = filesUnder(`migrations/${name}`)
      .flatMap((file) => [...read(file).matchAll(/(CREATE|DROP) TABLE (\w+)/g)])
      .reduce((tables, [, verb, table = '']) => {
        if (verb === 'CREATE') tables.add(table);
        else tables.delete(table);
        return tables;
      }, new Set<string>());
    const rows = [...read('docs/internals/ledger.md').matchAll(/^\| `(\w+)` +\|/gm)].map(([, row]) => row);
    expect([...made].filter((table) => !rows.includes(table))).toEqual([]);
  });

  test('comments and documents cite files that are in the repository', () => {
    const cited = tracked
      .filter(isCiting)
      .flatMap((file) =>
        [...citingPartOf(file).matchAll(CITED_PATH)].map(([, path = '']) => ({ file, path })),
      );
    expect(cited.length).toBeGreaterThan(100);
    const isThere = (file: string, path: string): boolean =>
      existsSync(join(ROOT, path)) ||
      existsSync(join(ROOT, dirname(file), path)) ||
      tracked.some((other) => other.endsWith(`/${path}`));
    const wrong = cited.filter(({ file, path }) => !PLACEHOLDER.test(path) && !isThere(file, path));
    expect(wrong.map(({ file, path }) => `${file}: ${path}`)).toEqual([]);
  });

  test('facts are cited by an id that docs/internals defines, once', () => {
    const defined = ['service', 'sdk'].flatMap((name) =>
      [...read(`docs/internals/${name}-facts.md`).matchAll(/^\| (S(?:VC|DK)-\d+) +\|/gm)].map(([, id]) => id),
    );
    expect(new Set(defined).size).toBe(defined.length);
    const wrong = tracked
      .filter(isCiting)
      .flatMap((file) =>
        [...read(file).matchAll(/\bS(?:VC|DK)-\d+\b/g)]
          .filter(([id]) => !defined.includes(id))
          .map(([id]) => `${file}: ${id}`),
      );
    expect(wrong).toEqual([]);
  });

  test('no text cites the documents from which the first version was written', () => {
    const old =
      /\bfacts\/\w+\.md|(?<![/(])\b(?:cli|style)\.md\b|\b[Dd]esign \d|\(facts? \d|(?<!internals\/|[\w\](])design\.md(?! *\]|\))/;
    const wrong = tracked.filter((file) => isCiting(file) && old.test(citingPartOf(file)));
    expect(wrong).toEqual([]);
  });

  test('README and help name the same commands', () => {
    const mentioned = [...read('README.md').matchAll(/\bcosmig ([a-z][a-z-]*)\b(?= --|`| *$)/gm)];
    const real = commands.map(({ name, group }) => group?.name ?? name);
    expect(new Set(mentioned.map(([, name]) => name))).toEqual(new Set(real));
  });

  test('docs/emulator.md knows every flag of the emulator and no other', () => {
    const emulator = commands.find(({ name }) => name === 'emulator');
    const tables: OptionTable = { ...COMMON_OPTIONS, ...emulator?.options };
    const flags = Object.keys(tables).map((name) =>
      name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    );
    const rows = [...read('docs/emulator.md').matchAll(/^\| `--([a-z-]+)/gm)].map(([, flag]) => flag);
    expect(new Set(rows)).toEqual(new Set(flags));
  });
});
