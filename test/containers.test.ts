/**
 * Checks the files for containers in docs/operations without an engine or a cluster: what they run exists, and it runs
 * without rights. docs/operations/containers.md says what else was tried by hand.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseAllDocuments, parse } from 'yaml';
import { commands } from '../src/commands/all.ts';
import { COMMON_OPTIONS } from '../src/commands/common-options.ts';
import { EXIT_CODES } from '../src/cli/exit-codes.ts';
import { flagOf } from '../src/lib/flags.ts';
import { FIELD_NAMES } from '../src/spec/fields.ts';

const FOLDER = fileURLToPath(new URL('../docs/operations/', import.meta.url));
const read = (name: string): string => readFileSync(`${FOLDER}${name}`, 'utf8');

interface Pod {
  readonly securityContext: object;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: ReadonlyArray<{
    readonly name: string;
    readonly args: readonly string[];
    readonly securityContext: object;
    readonly volumeMounts: ReadonlyArray<{ readonly name: string; readonly mountPath: string }>;
  }>;
  readonly volumes: ReadonlyArray<{ readonly name: string }>;
}

interface JobSpec {
  readonly podFailurePolicy?: {
    readonly rules: ReadonlyArray<{
      readonly onExitCodes?: { readonly containerName: string; readonly values: readonly number[] };
    }>;
  };
  readonly template: { readonly spec: Pod };
}

const job = (parse(read('kubernetes-job.yaml')) as { readonly spec: JobSpec }).spec;
const cron = (
  parse(read('kubernetes-cronjob.yaml')) as {
    readonly spec: { readonly jobTemplate: { readonly spec: JobSpec } };
  }
).spec.jobTemplate.spec;

test.each([
  ['job', job],
  ['cron job', cron],
])(
  'Kubernetes: the %s -> runs a command that exists, without rights, with a minute to end',
  (_name, spec) => {
    const pod = spec.template.spec;
    const [container] = pod.containers;
    const [name = '', ...given] = container?.args ?? [];
    const options = commands.find((command) => command.name === name)?.options;
    expect(options).toBeDefined();
    const known = Object.keys({ ...COMMON_OPTIONS, ...options }).map((option) => `--${flagOf(option)}`);
    const flags = given.filter((word) => word.startsWith('--'));
    expect(flags).not.toEqual([]);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 });
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.terminationGracePeriodSeconds).toBe(60);
    expect(container?.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/ledger', '/config', '/tmp']);
    expect(pod.volumes.map((volume) => volume.name)).toEqual(
      container?.volumeMounts.map((mount) => mount.name),
    );
  },
);

test('Kubernetes: the exit codes after which a job ends -> are those that a later run cannot change', () => {
  const ended = job.podFailurePolicy?.rules.flatMap(({ onExitCodes }) => onExitCodes?.values ?? []);
  const codes = EXIT_CODES.map(({ exitCode }) => exitCode);
  // The service was unavailable, the time budget ended, or cosmig was stopped.
  const repeated = [6, 8, 129, 130, 143];
  expect(ended).toEqual(codes.filter((code) => code !== 0 && !repeated.includes(code)));
});

test('Kubernetes: the settings of the base -> are settings of cosmig, with the ledger on the volume', () => {
  const documents = parseAllDocuments(read('kubernetes-base.yaml')).map((one) => one.toJS() as object);
  const config = documents.find((one) => 'data' in one)?.data as Readonly<Record<string, string>>;
  const settings = parse(config['cosmig.config.yaml'] ?? '') as Readonly<Record<string, unknown>>;
  expect(Object.keys(settings).filter((name) => !FIELD_NAMES.some((field) => field === name))).toEqual([]);
  expect(settings['ledger']).toMatch(/^\/ledger\//);
});

test('Dockerfile -> ends as a user without rights, reads the mounted settings, and runs cosmig itself', () => {
  const lines = read('Dockerfile').split('\n');
  const last = (word: string): string | undefined =>
    lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
  expect([last('USER'), last('WORKDIR'), last('VOLUME'), last('ENTRYPOINT'), last('ENV')]).toEqual([
    '1000:1000',
    '/ledger',
    '/ledger',
    '["cosmig"]',
    'COSMIG_CONFIG=/config/cosmig.config.yaml',
  ]);
  // The form of a list, so that cosmig is the first process and gets SIGTERM.
  expect(lines.filter((line) => /^(?:ENTRYPOINT|CMD) (?!\[)/.test(line))).toEqual([]);
});
