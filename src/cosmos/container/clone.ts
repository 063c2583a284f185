/**
 * Returns the definition of a container like an existing one, with another key. Invariant: every setting that a
 * container can have is taken over, except what comes from the service or belongs to one container only.
 */
import { parsePath } from '../../keys/path.ts';
import { memberOf } from '../../lib/json/json.ts';
import type { ContainerFacts } from './inspect.ts';

/** Fields of a definition that come from the service, or belong to one container only (fact SDK-26). */
const NOT_CLONED = new Set(['id', 'partitionKey', 'statistics', 'changeFeedPolicy', 'materializedViews']);

/** Returns a definition like that of `source`, with the name and key of `target`. The throughput is not part of it. */
export function cloneOf(
  source: ContainerFacts,
  target: {
    readonly name: ContainerFacts['name'];
    readonly keyPaths: readonly string[];
    /** Whether both containers are in one account. The analytical store is a feature of the account. */
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
    // Without a version the service takes version 1, whose keys have at most 101 bytes.
    partitionKey: { paths: [...keyPaths], kind: keyPaths.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
  };
}

/**
 * Replaces the container's name in a custom conflict policy, whose procedure is named by a path through its container.
 */
export function withOwnProcedure(
  policy: unknown,
  from: ContainerFacts['name'],
  to: ContainerFacts['name'],
): unknown {
  const procedure = memberOf(policy, 'conflictResolutionProcedure');
  if (typeof procedure !== 'string') return policy;
  const [old, own] = [from, to].map(({ database, container }) => `dbs/${database}/colls/${container}/`);
  return { ...Object(policy), conflictResolutionProcedure: procedure.replace(old ?? '', own ?? '') };
}

/** Adds a missing key to an indexing policy: queries by key need it, and the service does not add it (fact SVC-14). */
export function withKeyIndexed(policy: unknown, keyPaths: readonly string[]): unknown {
  const [included, excluded] = [pathsIn(policy, 'includedPaths'), pathsIn(policy, 'excludedPaths')];
  const lacking = keyPaths.filter((keyPath) => {
    const isNamed = (path: string): boolean => path === `${keyPath}/?` || path === `${keyPath}/*`;
    const matches = (path: string): boolean =>
      isNamed(path) || (path.endsWith('/*') && keyPath.startsWith(path.slice(0, -1)));
    // Among the paths that match, the most precise one decides. A path that was excluded by name stays excluded.
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

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
