/**
 * Checks the given settings and makes a spec: rules for each value, and rules between values. Invariant: all problems
 * are found before any of them is reported.
 */
import { resolve } from 'node:path';
import { assert, must } from '../lib/assert.ts';
import { SYSTEM_PROPERTIES } from '../documents/system-properties.ts';
import { parsePath } from '../keys/path.ts';
import { orUsageError, UsageError } from '../lib/errors.ts';
import { connectionsFrom } from './accounts.ts';
import type { Connections } from './connection.ts';
import { FIELDS, fieldOf, flagOfField, type FieldName } from './fields.ts';
import type { ProblemList } from './input/problems.ts';
import { howToRemove, quote, sourceOf, waysToGive, Invalid } from './input/given.ts';
import { checkMeanings, readKeyTexts } from './key-rules.ts';
import { defaultLedger } from './ledger-path.ts';
import type {
  Creation,
  StopTime,
  Deletes,
  MigrationSpec,
  ContainerAddress,
  PlanSpec,
} from './migration-spec.ts';
import * as values from './input/values.ts';

/** What `check` needs besides the settings of the operator. */
export interface Surroundings {
  /** Whether the command can create the target. Other commands ignore the settings for creating it. */
  readonly canCreate: boolean;
  /** The folder from which relative paths start. */
  readonly folder: string;
  readonly nowMs: number;
  /** Whether Node checks the certificates of servers. */
  readonly checksCertificate: boolean;
}

/** A checked spec, and the connections to its accounts. */
export interface Checked {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
}

/** Returns the spec and its connections. Throws one UsageError with every problem. */
export function check(problems: ProblemList, surroundings: Surroundings): Checked {
  const { folder, nowMs, canCreate } = surroundings;
  const source = readContainerName('source', problems);
  const target = readContainerName('target', problems);
  const connections = connectionsFrom(problems, surroundings);
  const key = readKeyTexts(problems);
  const deletes = orDefault('deletes', problems, readDeletes);
  const ttl = orDefault('ttl', problems, values.readChoice(FIELDS.ttl.choices));
  if (deletes !== undefined && ttl !== undefined) checkMeanings(key, { deletes, ttl }, problems);
  const settings = {
    ...key,
    deletes,
    ttl,
    missingKey: readMissingKey(problems),
    onCollision: orDefault('onCollision', problems, values.readChoice(FIELDS.onCollision.choices)),
    sourceBudget: problems.one('sourceRu', values.readBudget) ?? ({ kind: 'automatic' } as const),
    targetBudget: problems.one('targetRu', values.readBudget) ?? ({ kind: 'automatic' } as const),
    creation: readCreation(problems, canCreate),
    acceptsWarnings: problems.one('yes', values.readSwitch) ?? false,
    deadline: readDeadline(problems, nowMs),
    deadLettersMax: orDefault('maxDeadLetters', problems, values.readDeadLettersMax),
    skipsIfRunning: problems.one('skipIfRunning', values.readSwitch) ?? false,
  };
  const ledger = problems.one('ledger', readFile);
  const metricsFile = problems.one('metricsFile', readMetricsFile);
  const keepSourceForMs = problems.one('keepSourceFor', values.readKeepTime);
  if (source !== undefined && target !== undefined && connections !== undefined) {
    refuseSame(
      { ...source, endpoint: connections.source.endpoint },
      { ...target, endpoint: connections.target.endpoint },
      problems,
    );
  }
  problems.throwIfAny();
  const { connections: reached, ...known } = complete({ ...settings, source, target, connections });
  const spec: MigrationSpec = {
    ...known,
    source: { endpoint: reached.source.endpoint, ...known.source },
    target: { endpoint: reached.target.endpoint, ...known.target },
    ledger: resolve(folder, ledger ?? defaultLedger(known.source, known.target)),
    keepSourceForMs: keepSourceForMs ?? null,
    metricsFile: metricsFile === undefined ? null : resolve(folder, metricsFile),
  };
  return { spec: deepFreeze(spec), connections: Object.freeze(reached) };
}

/**
 * Asserts that every setting has a value. A setting that could not be read is a problem, and `throwIfAny` throws if
 * there are problems.
 */
function complete<T extends object>(settings: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } {
  assert(!Object.values(settings).includes(undefined), 'settings without a value are problems');
  // The cast is safe: the line above has found no undefined value.
  return settings as { readonly [K in keyof T]: Exclude<T[K], undefined> };
}

export function readMissingKey(problems: ProblemList): MigrationSpec['missingKey'] | undefined {
  return orDefault('missingKey', problems, values.readChoice(FIELDS.missingKey.choices));
}

/** Returns what `cosmig plan` needs: only the source. */
export function checkPlan(problems: ProblemList, surroundings: Surroundings): PlanSpec {
  const source = readContainerName('source', problems);
  const connections = connectionsFrom(problems, surroundings);
  const sourceBudget = problems.one('sourceRu', values.readBudget) ?? ({ kind: 'automatic' } as const);
  const deadline = readDeadline(problems, surroundings.nowMs);
  const ledger = problems.one('ledger', readFile);
  problems.throwIfAny();
  const { source: named, connections: reached } = complete({ source, connections });
  return {
    source: named,
    connection: reached.source,
    sourceBudget,
    deadline,
    file: resolve(surroundings.folder, ledger ?? defaultLedger(named)),
  };
}

/** Returns the absolute path of the ledger: the path that the operator gave, or a name made of both containers. */
export function checkLedger(problems: ProblemList, { folder }: Surroundings): string {
  const path =
    problems.given('ledger') === undefined ? namedLedger(problems) : problems.one('ledger', readFile);
  problems.throwIfAny();
  return resolve(folder, must(path, 'a missing ledger is a problem, and problems were thrown'));
}

function namedLedger(problems: ProblemList): string | undefined {
  const source = problems.one('source', values.parseContainerName);
  const target = problems.one('target', values.parseContainerName);
  if (source !== undefined && target !== undefined) return defaultLedger(source, target);
  if (problems.given('source') === undefined || problems.given('target') === undefined) {
    problems.report(
      flagOfField('ledger'),
      'no ledger was given',
      'it is the file that remembers a migration, and is found by its path, or by the names of both containers',
      `run it in the folder of cosmig.config.yaml; or ${waysToGive('ledger')}; or give ${flagOfField('source')} and ${flagOfField('target')}`,
    );
  }
  return undefined;
}

/** Returns the value of a field, or its default from the table of fields; undefined after a problem. */
function orDefault<T>(field: FieldName, problems: ProblemList, read: values.Read<T>): T | undefined {
  if (problems.given(field) !== undefined) return problems.one(field, read);
  const value = read(must(fieldOf(field).default, 'this field has a default'));
  return value instanceof Invalid ? undefined : value;
}

function readContainerName(
  side: 'source' | 'target',
  problems: ProblemList,
): values.ContainerName | undefined {
  if (problems.given(side) === undefined) {
    problems.report(
      flagOfField(side),
      `no ${side} was given`,
      side === 'source' ? 'documents are read from it' : 'documents are written to it',
      waysToGive(side),
    );
    return undefined;
  }
  return problems.one(side, values.parseContainerName);
}

function refuseSame(source: ContainerAddress, target: ContainerAddress, problems: ProblemList): void {
  const same = (['endpoint', 'database', 'container'] as const).every(
    (part) => source[part] === target[part],
  );
  const given = problems.given('target');
  if (!same || given === undefined) return;
  problems.report(
    sourceOf(given),
    `source and target are both ${source.database}/${source.container}`,
    'a container keeps its partition key, so the documents need another container',
    'name another target; cosmig copy --create-target creates it',
  );
}

function readDeletes(text: string): Deletes | Invalid {
  if (text === 'auto' || text === 'avad' || text === 'reconcile') return { kind: text };
  if (!text.startsWith('marker')) return new Invalid('it is auto, avad, marker:/path or reconcile', 'auto');
  const path = text.slice('marker:'.length);
  if (!text.startsWith('marker:') || path === '')
    return new Invalid('a marker needs the path of the property that marks a deleted document');
  const steps = orUsageError(() => parsePath(path));
  if (steps instanceof UsageError) return new Invalid(`the path of the marker is not valid: ${steps.why}`);
  const [name = ''] = steps;
  if (name === 'id' || SYSTEM_PROPERTIES.includes(name))
    return new Invalid(`every document has ${name}, so all of them would count as deleted`);
  return { kind: 'marker', path };
}

function readCreation(problems: ProblemList, canCreate: boolean): Creation {
  const creates = problems.one('createTarget', values.readSwitch) ?? false;
  const ru = problems.one('targetThroughput', values.readManualThroughput);
  const ruMax = problems.one('targetAutoscale', values.readAutoscaleThroughput);
  problems.exclusive('targetThroughput', 'targetAutoscale', 'a container has fixed throughput or autoscale');
  for (const field of ['targetThroughput', 'targetAutoscale'] as const) {
    const given = problems.given(field);
    if (creates || !canCreate || given === undefined) continue;
    problems.report(
      sourceOf(given),
      `${sourceOf(given)} needs ${flagOfField('createTarget')}`,
      'cosmig does not change the throughput of an existing container',
      `add ${flagOfField('createTarget')}, or ${howToRemove(given)}`,
    );
  }
  if (!creates) return { kind: 'none' };
  if (ru !== undefined) return { kind: 'manual', ru };
  return ruMax === undefined ? { kind: 'as-source' } : { kind: 'autoscale', ruMax };
}

function readDeadline(problems: ProblemList, nowMs: number): StopTime {
  const durationMs = problems.one('for', values.readDuration);
  const minutes = problems.one('until', values.readTimeOfDay);
  problems.exclusive('for', 'until', 'a run has one time budget');
  if (durationMs !== undefined)
    return { kind: 'within', atMs: nowMs + durationMs, asked: givenText('for', problems) };
  if (minutes === undefined) return { kind: 'none' };
  const atMs = values.nextTimeOfDay(minutes, nowMs);
  return { kind: 'at', atMs, asked: `${givenText('until', problems)} ${values.localZone()}` };
}

/** Returns the text that the operator gave, for the message at the end of the run. */
function givenText(field: FieldName, problems: ProblemList): string {
  const given = problems.given(field);
  return given === undefined ? '' : quote(given, given.texts[0] ?? '');
}

function readFile(text: string): string | Invalid {
  if (text.includes('\0')) return new Invalid('a file name has no NUL character');
  if (text.startsWith(':')) return new Invalid('a migration that is not kept in a file cannot be resumed');
  return /[/\\]$/.test(text)
    ? new Invalid('it names a file, and this is a folder', `${text}orders.db`)
    : text;
}

function readMetricsFile(text: string): string | Invalid {
  if (text.includes('\0')) return new Invalid('a file name has no NUL character');
  return text.endsWith('.prom')
    ? text
    : new Invalid('the node exporter reads only files whose names end in .prom', `${text}.prom`);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
