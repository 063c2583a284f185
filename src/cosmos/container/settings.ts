/**
 * How a target's settings should be, and where two containers differ. Pure. What always holds: settings that mean the
 * same are no difference, in whatever order they are told, and with or without what the service adds by itself.
 */
import { parsePath } from '../../keys/path.ts';
import { memberOf } from '../../lib/json.ts';
import { ttlText } from '../../spec/refusals.ts';
import type { ContainerFacts, ContainerSettings } from './inspect.ts';
import { isSameScript, type Script } from './scripts.ts';
import { throughputText } from './throughput.ts';

/** A container with what lives in it besides documents; null: nobody may see the scripts. */
export interface Described {
  readonly facts: ContainerFacts;
  readonly scripts: readonly Script[] | null;
}

export type SettingName =
  | 'TTL'
  | 'unique keys'
  | 'indexing'
  | 'computed properties'
  | 'conflict resolution'
  | 'geospatial'
  | 'vector embeddings'
  | 'full text'
  | 'encryption'
  | 'data masking'
  | 'analytical store'
  | 'scripts'
  | 'throughput';

export interface Difference {
  readonly setting: SettingName;
  /** In words, for people. */
  readonly source: string;
  readonly target: string;
}

const POLICIES: ReadonlyArray<readonly [SettingName, keyof ContainerSettings]> = [
  ['unique keys', 'uniqueKeyPolicy'],
  ['indexing', 'indexingPolicy'],
  ['computed properties', 'computedProperties'],
  ['conflict resolution', 'conflictResolutionPolicy'],
  ['geospatial', 'geospatialConfig'],
  ['vector embeddings', 'vectorEmbeddingPolicy'],
  ['full text', 'fullTextPolicy'],
  ['encryption', 'clientEncryptionPolicy'],
];

/** Where the target is not as the source is, apart from its key. */
export function differencesOf(source: Described, target: Described): readonly Difference[] {
  const [from, to] = [source.facts, target.facts];
  const found: Difference[] = [];
  const compare = (setting: SettingName, one: string, other: string): void => {
    if (one !== other) found.push({ setting, source: one, target: other });
  };
  compare('TTL', ttlText(from.defaultTtl), ttlText(to.defaultTtl));
  for (const [setting, name] of POLICIES) {
    if (policyLike(name, from, to).isSame) continue;
    compare(setting, normalText(from.settings[name]), normalText(to.settings[name]));
  }
  compare('data masking', normalText(from.dataMaskingPolicy), normalText(to.dataMaskingPolicy));
  compare('analytical store', analyticalText(from.analyticalTtl), analyticalText(to.analyticalTtl));
  found.push(...scriptDifferences(source.scripts, target.scripts));
  const known = from.throughput.kind !== 'unknown' && to.throughput.kind !== 'unknown';
  if (known && from.throughput.kind !== to.throughput.kind)
    compare('throughput', throughputText(from.throughput), throughputText(to.throughput));
  return found;
}

/** What whoever is signed in may not see of one of them, and so nobody can compare. */
export function unseenOf(...both: readonly Described[]): readonly SettingName[] {
  const unseen: SettingName[] = [];
  if (both.some(({ scripts }) => scripts === null)) unseen.push('scripts');
  if (both.some(({ facts }) => facts.throughput.kind === 'unknown')) unseen.push('throughput');
  return unseen;
}

/** What the target's policy should be, and whether it is. */
export function policyLike(
  name: keyof ContainerSettings,
  from: ContainerFacts,
  to: ContainerFacts,
): { readonly wanted: unknown; readonly isSame: boolean } {
  const wanted = expected(name, from, to);
  return { wanted, isSame: normalText(wanted) === normalText(to.settings[name]) };
}

/** What a clone with another key has in the place of the source's policy. */
function expected(name: keyof ContainerSettings, from: ContainerFacts, to: ContainerFacts): unknown {
  const value = from.settings[name];
  if (name === 'indexingPolicy') return withKeyIndexed(value, to.keyPaths);
  if (name === 'conflictResolutionPolicy') return withOwnProcedure(value, from.name, to.name);
  return value;
}

/** What a definition has from the service, or what belongs to one container only (fact SDK-26). */
const NOT_CLONED = new Set(['id', 'partitionKey', 'statistics', 'changeFeedPolicy', 'materializedViews']);

/** The definition of a container like `source` with another name and key; its throughput is not part of it. */
export function cloneOf(
  source: ContainerFacts,
  target: {
    readonly name: ContainerFacts['name'];
    readonly keyPaths: readonly string[];
    /** The analytical store is a feature of the account. */
    readonly isSameAccount: boolean;
  },
): Readonly<Record<string, unknown>> {
  const { name, keyPaths, isSameAccount } = target;
  const kept = Object.entries(source.definition).filter(
    ([field, value]) =>
      !field.startsWith('_') &&
      !NOT_CLONED.has(field) &&
      value !== null &&
      (isSameAccount || field !== 'analyticalStorageTtl'),
  );
  const { indexingPolicy, conflictResolutionPolicy } = source.settings;
  const changed = {
    indexingPolicy: withKeyIndexed(indexingPolicy, keyPaths),
    conflictResolutionPolicy: withOwnProcedure(conflictResolutionPolicy, source.name, name),
  };
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== null)),
    id: name.container,
    // Without a version the service takes the first, whose keys end at 101 bytes.
    partitionKey: { paths: [...keyPaths], kind: keyPaths.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
  };
}

/** A custom conflict procedure is named with its container. */
function withOwnProcedure(
  policy: unknown,
  from: ContainerFacts['name'],
  to: ContainerFacts['name'],
): unknown {
  const procedure = memberOf(policy, 'conflictResolutionProcedure');
  if (typeof procedure !== 'string') return policy;
  const [old, own] = [from, to].map(({ database, container }) => `dbs/${database}/colls/${container}/`);
  return { ...Object(policy), conflictResolutionProcedure: procedure.replace(old ?? '', own ?? '') };
}

/** Queries by key need the key in the index, and nothing puts it there by itself (fact SVC-14). */
function withKeyIndexed(policy: unknown, keyPaths: readonly string[]): unknown {
  const [included, excluded] = [pathsIn(policy, 'includedPaths'), pathsIn(policy, 'excludedPaths')];
  const lacking = keyPaths.filter((keyPath) => {
    const isNamed = (path: string): boolean => path === `${keyPath}/?` || path === `${keyPath}/*`;
    const matches = (path: string): boolean =>
      isNamed(path) || (path.endsWith('/*') && keyPath.startsWith(path.slice(0, -1)));
    // Of the paths that match, the most precise one decides; what somebody excluded by name stays out.
    const [decides] = [...included, ...excluded].filter(matches).toSorted((a, b) => b.length - a.length);
    const isId = parsePath(keyPath).join('/') === 'id';
    return !isId && (decides === undefined || (excluded.includes(decides) && !isNamed(decides)));
  });
  if (lacking.length === 0 || memberOf(policy, 'indexingMode') === 'none' || policy === null) return policy;
  const added = lacking.map((path) => ({ path: `${path}/?` }));
  return { ...Object(policy), includedPaths: [...asArray(memberOf(policy, 'includedPaths')), ...added] };
}

function pathsIn(policy: unknown, name: string): readonly string[] {
  return asArray(memberOf(policy, name)).flatMap((one) => {
    const path = memberOf(one, 'path');
    return typeof path === 'string' ? [path] : [];
  });
}

function scriptDifferences(
  source: readonly Script[] | null,
  target: readonly Script[] | null,
): readonly Difference[] {
  if (source === null || target === null) return [];
  const missing = source.filter((script) => !target.some((other) => isSameScript(script, other)));
  const added = target.filter((script) => !source.some((other) => isSameScript(script, other)));
  if (missing.length === 0 && added.length === 0) return [];
  return [{ setting: 'scripts', source: scriptsText(missing), target: scriptsText(added) }];
}

function scriptsText(scripts: readonly Script[]): string {
  if (scripts.length === 0) return 'none of these';
  return scripts.map(({ kind, id }) => `${kind} ${id}`).join(', ');
}

function analyticalText(ttl: number | null): string {
  return ttl === null || ttl === 0 ? 'off' : 'on';
}

/** A policy as one text, equal for policies that mean the same; 'none' for none. */
function normalText(policy: unknown): string {
  const normal = normalOf(policy);
  return normal === undefined ? 'none' : JSON.stringify(normal);
}

/** The order of names and of these lists means nothing, and what is empty is not there. */
const LISTS_IN_ORDER = new Set(['compositeIndexes']);

function normalOf(value: unknown, above = ''): unknown {
  if (value === null || value === '') return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => normalOf(item, Array.isArray(item) ? above : ''));
    if (items.length === 0) return undefined;
    // The properties of one composite index have an order; the indexes themselves have none.
    const isOne = LISTS_IN_ORDER.has(above) && !items.some((item) => Array.isArray(item));
    return isOne ? items : items.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
  }
  if (typeof value !== 'object') return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, normalOf(member, name)] as const)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
