/**
 * Finds where the settings of two containers differ. Pure. Invariant: settings that mean the same do not differ, in
 * whatever order they are listed, and with or without the values that the service adds by itself.
 */
import { isDeepStrictEqual } from 'node:util';
import { ttlText } from '../../spec/refusals.ts';
import { withKeyIndexed, withOwnProcedure } from './clone.ts';
import type { ContainerFacts, ContainerSettings } from './inspect.ts';
import type { Script } from './scripts.ts';
import { throughputText } from './throughput.ts';

/** A container and its scripts; null if the caller may not see the scripts. */
export interface Described {
  readonly facts: ContainerFacts;
  readonly scripts: readonly Script[] | null;
}

const POLICIES = [
  ['unique keys', 'uniqueKeyPolicy'],
  ['indexing', 'indexingPolicy'],
  ['computed properties', 'computedProperties'],
  ['conflict resolution', 'conflictResolutionPolicy'],
  ['geospatial', 'geospatialConfig'],
  ['vector embeddings', 'vectorEmbeddingPolicy'],
  ['full text', 'fullTextPolicy'],
  ['encryption', 'clientEncryptionPolicy'],
] as const satisfies ReadonlyArray<readonly [string, keyof ContainerSettings]>;

export type SettingName =
  | (typeof POLICIES)[number][0]
  | 'TTL'
  | 'data masking'
  | 'analytical store'
  | 'scripts'
  | 'throughput';

export interface SettingDifference {
  readonly setting: SettingName;
  /** The setting as it is in the source, in words for the operator. */
  readonly source: string;
  readonly target: string;
}

/** Returns where the target differs from the source, apart from the key. */
export function differencesOf(source: Described, target: Described): readonly SettingDifference[] {
  const [from, to] = [source.facts, target.facts];
  const found: SettingDifference[] = [];
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

/** Returns the settings that cannot be compared, because the caller may not see them in one of the containers. */
export function unseenOf(...both: readonly Described[]): readonly SettingName[] {
  const unseen: SettingName[] = [];
  if (both.some(({ scripts }) => scripts === null)) unseen.push('scripts');
  if (both.some(({ facts }) => facts.throughput.kind === 'unknown')) unseen.push('throughput');
  return unseen;
}

/** Returns the policy that the target should have, and whether it has that policy. */
export function policyLike(
  name: keyof ContainerSettings,
  from: ContainerFacts,
  to: ContainerFacts,
): { readonly wanted: unknown; readonly isSame: boolean } {
  const wanted = expected(name, from, to);
  return { wanted, isSame: normalText(wanted) === normalText(to.settings[name]) };
}

/** Returns the policy that a clone with another key has in place of the source's policy. */
function expected(name: keyof ContainerSettings, from: ContainerFacts, to: ContainerFacts): unknown {
  const value = from.settings[name];
  if (name === 'indexingPolicy') return withKeyIndexed(value, to.keyPaths);
  if (name === 'conflictResolutionPolicy') return withOwnProcedure(value, from.name, to.name);
  return value;
}

function scriptDifferences(
  source: readonly Script[] | null,
  target: readonly Script[] | null,
): readonly SettingDifference[] {
  if (source === null || target === null) return [];
  const missing = source.filter((script) => !target.some((other) => isDeepStrictEqual(script, other)));
  const added = target.filter((script) => !source.some((other) => isDeepStrictEqual(script, other)));
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

/** Returns a policy as text that is equal for policies that mean the same; 'none' without a policy. */
function normalText(policy: unknown): string {
  const normal = normalOf(policy);
  return normal === undefined ? 'none' : JSON.stringify(normal);
}

/** The lists whose order counts. All other lists are compared without their order; empty values count as absent. */
const LISTS_IN_ORDER = new Set(['compositeIndexes']);

function normalOf(value: unknown, above = ''): unknown {
  if (value === null || value === '') return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => normalOf(item, Array.isArray(item) ? above : ''));
    if (items.length === 0) return undefined;
    // The properties of one composite index have an order; the list of composite indexes has none.
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
