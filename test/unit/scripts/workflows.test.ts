/** What the workflows rely on exists, and what package.json promises is what CI tries. No runner is needed to see it. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FOLDER = join(ROOT, '.github/workflows');

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly steps?: readonly Step[];
        readonly uses?: string;
        readonly 'timeout-minutes'?: number;
        readonly strategy?: { readonly matrix: { readonly include: readonly Record<string, string>[] } };
      }
    >
  >;
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
};
const workflows = readdirSync(FOLDER).map(
  (name) => [name, parse(readFileSync(join(FOLDER, name), 'utf8')) as Workflow] as const,
);

describe.each(workflows)('workflow %s', (_name, { permissions, jobs }) => {
  const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);
  const rows = Object.values(jobs).flatMap((job) => job.strategy?.matrix.include ?? []);
  const commands = [...steps.map(({ run = '' }) => run), ...rows.map((row) => row['test'] ?? '')];

  test('permissions by default -> contents may be read, nothing else', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  test('each job that runs steps -> has a time limit', () => {
    const endless = Object.entries(jobs).filter(([, job]) => job.steps && !job['timeout-minutes']);
    expect(endless.map(([name]) => name)).toEqual([]);
  });

  test('each action -> is pinned to a major version', () => {
    const used = steps.map(({ uses = 'none@v0' }) => uses);
    expect(used.filter((uses) => !/^[\w-]+(?:\/[\w-]+)*@v\d+$/.test(uses))).toEqual([]);
  });

  test('each file of scripts/ -> exists', () => {
    const files = [...commands.join('\n').matchAll(/\bscripts\/[\w-]+\.ts/g)].map(([file]) => file);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

test('workflows and CONTRIBUTING: each npm script they name -> exists', () => {
  const texts = [
    readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8'),
    ...workflows.map(([name]) => readFileSync(join(FOLDER, name), 'utf8')),
  ];
  const named = [...texts.join('\n').matchAll(/\bnpm run ([a-z:]+)/g)].map(([, name = '']) => name);
  expect(named).toContain('test:nightly');
  expect(named.filter((name) => !Object.hasOwn(manifest.scripts, name))).toEqual([]);
});

test('workflow ci.yml: the oldest Node -> is the floor of package.json, and runs every test', () => {
  const ci = workflows.find(([name]) => name === 'ci.yml')?.[1];
  const [oldest] = ci?.jobs['test']?.strategy?.matrix.include ?? [];
  expect(`>=${oldest?.['node']}`).toBe(manifest.engines.node);
  expect(oldest?.['test']).toBe('npm test');
});
