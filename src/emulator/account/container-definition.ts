/**
 * Reads what the body of a container says about keys, lifetime, uniqueness and indexing. The body is checked and
 * compiled once, because every request uses the result.
 *
 * Invariant: the body is stored as the client sent it, plus the service's defaults for what it left out.
 */
import { keyKindOf, type KeyComponent, type KeyKind } from '../../epk/effective-key.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { isObject, own, parseJson, valueAtPath, type JsonObject } from '../json/json-value.ts';
import { compileIndexing, type IndexedPaths } from '../documents/index-terms.ts';
import { listOf, refuseContradictions } from './special-indexes.ts';

export interface ContainerDefinition {
  readonly kind: KeyKind;
  /** Each key path as a list of property names: '/a/"b c"' is ['a', 'b c']. */
  readonly keyPaths: readonly (readonly string[])[];
  /** Whether the service made up the key, because the container was created without one. */
  readonly hasSystemKey: boolean;
  /**
   * Each key path without its leading slash. A delete in an all-versions feed names the levels of its key like this.
   */
  readonly keyNames: readonly string[];
  /** The default lifetime in seconds. null: TTL is off; -1: TTL is on, but documents do not expire by default. */
  readonly defaultTtl: number | null;
  readonly uniqueKeys: readonly (readonly (readonly string[])[])[];
  readonly indexing: IndexedPaths;
}

const KEY_LEVELS_MAX = 3;
const TTL_MAX = 2_147_483_647;
const NAME_BYTES_MAX = 255;

/** Returns the id in the body of a database, container or script. Throws a Refusal if the id is missing or invalid. */
export function requireName(body: unknown, what: string): string {
  const id = own(body, 'id');
  if (typeof id !== 'string' || id === '')
    throw badRequest(
      `The id of a ${what} must be a non-empty string. ` +
        `Ensure to provide a unique non-empty string less than '${NAME_BYTES_MAX}' characters.`,
    );
  // A lone surrogate has no UTF-8 encoding, so the data file could not return it unchanged.
  const isText = !/\p{Surrogate}/u.test(id);
  if (!isText || /[/\\?#]/.test(id) || id.endsWith(' ') || Buffer.byteLength(id) > NAME_BYTES_MAX) {
    throw badRequest(
      `The id of a ${what} must not contain / \\ ? #, must not end in a space, and must have at most ${NAME_BYTES_MAX} bytes.`,
    );
  }
  return id;
}

/** Splits a path into property names: '/a/"b c"/d' gives ['a', 'b c', 'd']. */
export function parsePropertyPath(path: unknown): string[] {
  if (typeof path !== 'string' || !path.startsWith('/') || path.length < 2) {
    throw badRequest(
      `The path ${JSON.stringify(path)} is invalid: a path begins with / and names a property.`,
    );
  }
  const steps: string[] = [];
  const pattern = /\/(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^/"']+))/y;
  while (pattern.lastIndex < path.length) {
    const match = pattern.exec(path);
    if (match === null) throw badRequest(`The path ${path} is invalid.`);
    steps.push(match[3] ?? (match[1] ?? match[2] ?? '').replace(/\\(.)/g, '$1'));
  }
  return steps;
}

/** A name in quotes within a path. */
const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

type KeyDefinition = Pick<ContainerDefinition, 'kind' | 'keyPaths' | 'keyNames' | 'hasSystemKey'>;

function parsePartitionKey(body: JsonObject): KeyDefinition {
  const definition = own(body, 'partitionKey');
  const paths = own(definition, 'paths');
  const kind = own(definition, 'kind') ?? 'Hash';
  const version = own(definition, 'version');
  if (!Array.isArray(paths) || paths.length === 0) {
    throw badRequest('The container has no partition key: partitionKey.paths must name at least one path.');
  }
  if (kind !== 'Hash' && kind !== 'MultiHash') {
    throw badRequest(
      `The partition key kind ${JSON.stringify(kind)} is not supported: use Hash or MultiHash.`,
    );
  }
  if (version !== undefined && version !== 1 && version !== 2) {
    throw badRequest('The partition key version must be 1 or 2.');
  }
  if (kind === 'Hash' && paths.length > 1)
    throw badRequest('A partition key of kind Hash has exactly one path.');
  if (kind === 'MultiHash' && (version !== 2 || paths.length > KEY_LEVELS_MAX)) {
    throw badRequest(`A partition key of kind MultiHash has version 2 and at most ${KEY_LEVELS_MAX} paths.`);
  }
  const blank = paths.find((path) => typeof path === 'string' && /\s/.test(path.replace(QUOTED, '')));
  if (blank !== undefined) {
    throw badRequest(
      `The partition key component definition path '${blank}' could not be accepted: put a name with a blank in quotes.`,
    );
  }
  const keyPaths = paths.map(parsePropertyPath);
  if (new Set(keyPaths.map((path) => JSON.stringify(path))).size < keyPaths.length) {
    throw badRequest('The partition key names a path twice.');
  }
  const shape = { kind, paths: paths as string[], ...(version === undefined ? {} : { version }) };
  return {
    kind: keyKindOf(shape),
    keyPaths,
    keyNames: shape.paths.map((path) => path.slice(1)),
    hasSystemKey: own(definition, 'systemKey') === true,
  };
}

function parseTtl(value: unknown, what: string): number | null {
  if (value === undefined || value === null) return null;
  const isInteger = typeof value === 'number' && Number.isInteger(value);
  if (isInteger && (value === -1 || (value > 0 && value <= TTL_MAX))) return value;
  throw badRequest(`The ${what} ${JSON.stringify(value)} is invalid: use -1 or 1..${TTL_MAX} seconds.`);
}

/** Returns the `ttl` of a document, if it has one. null is invalid here, but valid as a container's default. */
export function itemTtl(document: JsonObject): number | undefined {
  const value = own(document, 'ttl');
  if (value === undefined) return undefined;
  return parseTtl(value === null ? 'null' : value, 'ttl') ?? undefined;
}

function parseUniqueKeys(body: JsonObject): string[][][] {
  const keys = own(own(body, 'uniqueKeyPolicy'), 'uniqueKeys');
  if (keys === undefined || keys === null) return [];
  if (!Array.isArray(keys) || keys.length > 10) throw badRequest('A container has at most 10 unique keys.');
  const parsed = keys.map((key) => {
    const paths = own(key, 'paths');
    if (!Array.isArray(paths) || paths.length === 0)
      throw badRequest('A unique key must name at least one path.');
    return paths.map(parsePropertyPath);
  });
  if (parsed.flat().length > 16)
    throw badRequest('The unique keys of a container name at most 16 paths in all.');
  return parsed;
}

export function parseDefinition(body: JsonObject): ContainerDefinition {
  for (const name of ['indexingPolicy', 'conflictResolutionPolicy', 'geospatialConfig', 'changeFeedPolicy']) {
    const value = own(body, name);
    if (value !== undefined && value !== null && !isObject(value))
      throw badRequest(`${name} must be an object.`);
  }
  return {
    ...parsePartitionKey(body),
    defaultTtl: parseTtl(own(body, 'defaultTtl'), 'defaultTtl'),
    uniqueKeys: parseUniqueKeys(body),
    indexing: compileIndexing(own(body, 'indexingPolicy') ?? DEFAULT_INDEXING),
  };
}

/**
 * The features that the emulator does not have. A definition asks for a feature by a field, or by a member of that
 * field. Messages contain the name of the feature.
 */
const UNSUPPORTED: readonly (readonly [feature: string, field: string, member?: string])[] = [
  ['Computed properties', 'computedProperties'],
  ['Client encryption', 'clientEncryptionPolicy', 'includedPaths'],
  ['Data masking', 'dataMaskingPolicy', 'includedPaths'],
  ['A materialized view', 'materializedViewDefinition', 'definition'],
];

/** Refuses a new definition with a feature that the emulator does not have, or with parts that contradict each other. */
export function refuseUnsupported(body: JsonObject): void {
  for (const [feature, field, member] of UNSUPPORTED) {
    const value = member === undefined ? own(body, field) : own(own(body, field), member);
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue;
    throw new Refusal(501, `The emulator does not support this feature: ${feature} (${field}).`);
  }
  refuseContradictions(body);
}

const DEFAULT_INDEXING = {
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: [{ path: '/*' }],
  excludedPaths: [{ path: '/"_etag"/?' }],
};

const ETAG_PATH = '/"_etag"/?';

/** Returns an indexing policy as the service returns it: complete, and without an index of `_etag`. */
function completeIndexing(policy: unknown): JsonObject {
  if (!isObject(policy)) return DEFAULT_INDEXING;
  const given = own(policy, 'indexingMode') ?? 'consistent';
  const indexingMode = typeof given === 'string' ? given.toLowerCase() : given;
  if (indexingMode === 'none') {
    return { automatic: false, ...policy, indexingMode, includedPaths: [], excludedPaths: [] };
  }
  const included = listOf(own(policy, 'includedPaths'));
  const excluded = listOf(own(policy, 'excludedPaths'));
  const has = (paths: readonly unknown[], path: string): boolean =>
    paths.some((entry) => own(entry, 'path') === path);
  const hasEtag = has(included, ETAG_PATH) || has(excluded, ETAG_PATH);
  return {
    automatic: true,
    ...policy,
    indexingMode,
    includedPaths: included.length === 0 && !has(excluded, '/*') ? [{ path: '/*' }] : included,
    excludedPaths: hasEtag ? excluded : [...excluded, { path: ETAG_PATH }],
  };
}

/**
 * Completes a policy with the service's defaults, because some clients leave out empty values when they send back a
 * policy that they have read.
 */
function completeConflictResolution(given: unknown): JsonObject {
  const policy = isObject(given) ? given : {};
  const mode = own(policy, 'mode') ?? 'LastWriterWins';
  const conflictResolutionPath = mode === 'LastWriterWins' ? '/_ts' : '';
  return { mode, conflictResolutionPath, conflictResolutionProcedure: '', ...policy };
}

/** Returns the body as it is stored: what the client sent, plus the service's defaults for what it left out. */
export function withDefaults(body: JsonObject): JsonObject {
  const key = own(body, 'partitionKey');
  return {
    ...body,
    ...(isObject(key) && { partitionKey: { ...key, kind: own(key, 'kind') ?? 'Hash' } }),
    indexingPolicy: completeIndexing(own(body, 'indexingPolicy')),
    conflictResolutionPolicy: completeConflictResolution(own(body, 'conflictResolutionPolicy')),
    geospatialConfig: own(body, 'geospatialConfig') ?? { type: 'Geography' },
  };
}

/**
 * Returns a value at a key path of a document as a key value. For the service, an object or an array is a missing key
 * value.
 */
function componentIn(document: unknown, path: readonly string[]): KeyComponent {
  const value = valueAtPath(document, path);
  return typeof value === 'object' && value !== null ? undefined : asComponent(value);
}

function asComponent(value: unknown): KeyComponent {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'string')
    return value;
  // -0 becomes 0, as in the service: two texts for one number would make two keys.
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
  throw badRequest(
    'A partition key value must be a string, a number within range, a boolean, null or missing.',
  );
}

/** Returns the key values of a document. */
export function extractKey(definition: ContainerDefinition, document: unknown): KeyComponent[] {
  return definition.keyPaths.map((path) => componentIn(document, path));
}

/** Parses the key values of a header or of a batch operation: a JSON array in which {} stands for a missing value. */
export function parseKey(definition: ContainerDefinition, json: string): KeyComponent[] {
  const parsed = parseJson(json);
  if (!Array.isArray(parsed)) throw badRequest('The partition key supplied is not a JSON array.');
  // The SDK sends [] for a missing value if the container was created without a key.
  if (parsed.length === 0 && definition.hasSystemKey) return [undefined];
  if (parsed.length > definition.keyPaths.length) {
    throw badRequest('The partition key supplied has more values than the container has key paths.');
  }
  return parsed.map((value) =>
    asComponent(isObject(value) && Object.keys(value).length === 0 ? undefined : value),
  );
}

/** Returns key values as canonical text, which is the `key` of a stored document. */
export function keyText(key: readonly KeyComponent[]): string {
  return JSON.stringify(key.map((value) => (value === undefined ? {} : value)));
}
