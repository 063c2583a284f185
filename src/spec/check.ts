/**
 * From what was given to a spec: the rules of each value and between values. All problems are found before the
 * first is told.
 */
import { resolve } from 'node:path';
import { must } from '../lib/assert.ts';
import { SYSTEM_PROPERTIES } from '../documents/system-properties.ts';
import { parsePath } from '../keys/path.ts';
import { UsageError } from '../lib/errors.ts';
import { connectionsFrom } from './accounts.ts';
import type { Connections } from './connection.ts';
import { FIELDS, fieldOf, flagOfField, type FieldName } from './fields.ts';
import type { Findings } from './problems.ts';
import { drop, quote, sourceOf, waysToGive, Wrong } from './input.ts';
import { checkMeanings, readKeyTexts } from './key-rules.ts';
import { defaultLedger } from './ledger-path.ts';
import type { Creation, Deadline, Deletes, MigrationSpec, Place } from './migration-spec.ts';
import * as values from './values.ts';

/** What is not given by anybody: where we are, and when. */
export interface Surroundings {
  /** The folder that relative paths start from. */
  readonly folder: string;
  readonly nowMs: number;
}

/** A checked spec, and how to reach its accounts. */
export interface Checked {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
}

/** Throws a UsageError with everything that is wrong. */
export function check(findings: Findings, { folder, nowMs }: Surroundings): Checked {
  const source = readPlace('source', findings);
  const target = readPlace('target', findings);
  const connections = connectionsFrom(findings);
  const key = readKeyTexts(findings);
  const deletes = orDefault('deletes', findings, readDeletes);
  const ttl = orDefault('ttl', findings, values.readChoice(FIELDS.ttl.choices));
  if (deletes !== undefined && ttl !== undefined) checkMeanings(key, { deletes, ttl }, findings);
  const rest = {
    missingKey: orDefault('missingKey', findings, values.readChoice(FIELDS.missingKey.choices)),
    onCollision: orDefault('onCollision', findings, values.readChoice(FIELDS.onCollision.choices)),
    sourceBudget: findings.one('sourceRu', values.readBudget) ?? ({ kind: 'automatic' } as const),
    targetBudget: findings.one('targetRu', values.readBudget) ?? ({ kind: 'automatic' } as const),
    creation: readCreation(findings),
    acceptsWarnings: findings.one('yes', values.readSwitch) ?? false,
    deadline: readDeadline(findings, nowMs),
    deadLettersMax: orDefault('maxDeadLetters', findings, values.readDeadLettersMax),
    skipsIfRunning: findings.one('skipIfRunning', values.readSwitch) ?? false,
  };
  const ledger = findings.one('ledger', readFile);
  if (source !== undefined && target !== undefined && connections !== undefined) {
    refuseSame(
      { ...source, endpoint: connections.source.endpoint },
      { ...target, endpoint: connections.target.endpoint },
      findings,
    );
  }
  findings.throwIfAny();
  const because = 'a value that could not be read was complained about';
  const reached = must(connections, because);
  const [from, to] = [must(source, because), must(target, because)];
  const spec: MigrationSpec = {
    source: { endpoint: reached.source.endpoint, ...from },
    target: { endpoint: reached.target.endpoint, ...to },
    ...key,
    deletes: must(deletes, because),
    ttl: must(ttl, because),
    missingKey: must(rest.missingKey, because),
    onCollision: must(rest.onCollision, because),
    sourceBudget: rest.sourceBudget,
    targetBudget: rest.targetBudget,
    creation: rest.creation,
    acceptsWarnings: rest.acceptsWarnings,
    ledger: resolve(folder, ledger ?? defaultLedger(from, to)),
    deadline: rest.deadline,
    deadLettersMax: must(rest.deadLettersMax, because),
    skipsIfRunning: rest.skipsIfRunning,
  };
  return { spec: deepFreeze(spec), connections: Object.freeze(reached) };
}

/** The absolute path of the ledger: as it was given, or named after both containers. */
export function checkLedger(findings: Findings, { folder }: Surroundings): string {
  const path =
    findings.given('ledger') === undefined ? namedLedger(findings) : findings.one('ledger', readFile);
  findings.throwIfAny();
  return resolve(folder, must(path, 'what is missing was complained about'));
}

function namedLedger(findings: Findings): string | undefined {
  const source = findings.one('source', values.readContainer);
  const target = findings.one('target', values.readContainer);
  if (source !== undefined && target !== undefined) return defaultLedger(source, target);
  if (findings.given('source') === undefined || findings.given('target') === undefined) {
    findings.report(
      flagOfField('ledger'),
      'no ledger was given',
      'it is found by its path, or by the names of both containers',
      `${waysToGive('ledger')}; or give ${flagOfField('source')} and ${flagOfField('target')}`,
    );
  }
  return undefined;
}

/** The value, or that of the default in the table; nothing after a complaint. */
function orDefault<T>(field: FieldName, findings: Findings, read: values.Read<T>): T | undefined {
  if (findings.given(field) !== undefined) return findings.one(field, read);
  const value = read(must(fieldOf(field).default, 'this field has a default'));
  return value instanceof Wrong ? undefined : value;
}

function readPlace(side: 'source' | 'target', findings: Findings): values.ContainerName | undefined {
  if (findings.given(side) === undefined) {
    findings.report(
      flagOfField(side),
      `no ${side} was given`,
      side === 'source' ? 'cosmig must know what to read' : 'cosmig must know where to write',
      waysToGive(side),
    );
    return undefined;
  }
  return findings.one(side, values.readContainer);
}

function refuseSame(source: Place, target: Place, findings: Findings): void {
  const same = (['endpoint', 'database', 'container'] as const).every(
    (part) => source[part] === target[part],
  );
  const given = findings.given('target');
  if (!same || given === undefined) return;
  findings.report(
    sourceOf(given),
    `source and target are both ${source.database}/${source.container}`,
    'a container keeps its partition key, so the documents need another one',
    'name another target, and --create-target if there is none yet',
  );
}

function readDeletes(text: string): Deletes | Wrong {
  if (text === 'auto' || text === 'avad' || text === 'reconcile') return { kind: text };
  if (!text.startsWith('marker')) return new Wrong('it is auto, avad, marker:/path or reconcile', 'auto');
  const path = text.slice('marker:'.length);
  try {
    const [name = ''] = parsePath(path);
    if (name === 'id' || SYSTEM_PROPERTIES.includes(name))
      return new Wrong(`every document has ${name}, so all of them would pass for deleted`);
    if (text.startsWith('marker:')) return { kind: 'marker', path };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    if (path !== '') return new Wrong(`the path of the marker is wrong: ${error.why}`);
  }
  return new Wrong('a marker needs the path of the property that marks a deleted document');
}

function readCreation(findings: Findings): Creation {
  const creates = findings.one('createTarget', values.readSwitch) ?? false;
  const ru = findings.one('targetThroughput', values.readManualThroughput);
  const ruMax = findings.one('targetAutoscale', values.readAutoscaleThroughput);
  findings.exclusive('targetThroughput', 'targetAutoscale', 'a container has fixed throughput or autoscale');
  for (const field of ['targetThroughput', 'targetAutoscale'] as const) {
    const given = findings.given(field);
    if (creates || given === undefined) continue;
    findings.report(
      sourceOf(given),
      `${sourceOf(given)} needs ${flagOfField('createTarget')}`,
      'the throughput of a container that exists is left alone',
      `add ${flagOfField('createTarget')}, or ${drop(given)}`,
    );
  }
  if (!creates) return { kind: 'none' };
  if (ru !== undefined) return { kind: 'manual', ru };
  return ruMax === undefined ? { kind: 'as-source' } : { kind: 'autoscale', ruMax };
}

function readDeadline(findings: Findings, nowMs: number): Deadline {
  const durationMs = findings.one('for', values.readDuration);
  const minutes = findings.one('until', values.readTimeOfDay);
  findings.exclusive('for', 'until', 'a run has one time budget');
  if (durationMs !== undefined)
    return { kind: 'within', atMs: nowMs + durationMs, asked: askedBy('for', findings) };
  if (minutes === undefined) return { kind: 'none' };
  const atMs = values.nextTimeOfDay(minutes, nowMs);
  return { kind: 'at', atMs, asked: `${askedBy('until', findings)} ${values.localZone()}` };
}

/** As it was given, for whoever reads later why a run has ended. */
function askedBy(field: FieldName, findings: Findings): string {
  const given = findings.given(field);
  return given === undefined ? '' : quote(given, given.texts[0] ?? '');
}

function readFile(text: string): string | Wrong {
  if (text.includes('\0')) return new Wrong('no file has such a name');
  if (text.startsWith(':')) return new Wrong('what is not kept in a file cannot be resumed');
  return /[/\\]$/.test(text) ? new Wrong('it is a file, and this names a folder', `${text}orders.db`) : text;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
