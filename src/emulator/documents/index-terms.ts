/**
 * How many index terms a document has, which is what makes writes of the same size differ in price
 * (fact SVC-33).
 *
 * Every scalar on an indexed path is a term, each element of an array by itself. `id` and `_ts` are always
 * indexed, the other system properties never, so it makes no difference whether the document at hand carries
 * them. An included path that names a property adds a term even where the property is missing. Composite,
 * spatial and vector indexes are not counted.
 *
 * The policy becomes a tree of paths once; a document is then walked once, beside that tree, and where the
 * tree ends (at the top, with the default policy) only leaves are counted: nothing is allocated for them.
 */
import { Refusal } from '../http/refusal.ts';

/** A property's name, or `null` for the elements of an array (`[]`). */
type Segment = string | null;

interface PathNode {
  children: Map<string, PathNode> | undefined;
  elements: PathNode | undefined;
  /** What a path ending in `/?` here says; it decides over scalars in this very place. */
  scalar: boolean | undefined;
  /** What a path ending in `/*` here says; it decides for everything below that no longer path speaks of. */
  subtree: boolean | undefined;
}

export interface IndexedPaths {
  /** False in mode none. */
  readonly indexed: boolean;
  readonly root: Readonly<PathNode>;
  /** Included paths below the root: a document without them has a term that says so. */
  readonly named: readonly (readonly Segment[])[];
}

/** `_ts` is a term of every document, written down in the stored text or not. */
const TIMESTAMP_TERMS = 1;
const SYSTEM: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_ts', '_attachments', '_lsn']);
/** The service refuses deeper documents; stopping there keeps the walk off the end of the stack. */
const DEPTH_MAX = 128;
const MODES: ReadonlySet<unknown> = new Set([undefined, 'consistent', 'lazy', 'none']);

/** Reads a container's indexing policy; a Refusal 400 names what is wrong with it. No policy is the default one. */
export function compileIndexing(indexingPolicy: unknown): IndexedPaths {
  const policy = objectOf(indexingPolicy ?? {}, 'indexingPolicy');
  const mode = policy['indexingMode'];
  const modeName = typeof mode === 'string' ? mode.toLowerCase() : mode;
  if (!MODES.has(modeName)) throw refuse('indexingPolicy.indexingMode must be consistent, lazy or none');
  const included = readPaths(policy['includedPaths'], 'includedPaths');
  const excluded = readPaths(policy['excludedPaths'], 'excludedPaths');
  const root = emptyNode();
  // A policy that includes nothing by name gets the service's default, `/*`, unless it excludes that.
  if (included.length === 0) root.subtree = true;
  for (const path of included) decide(root, path, true);
  for (const path of excluded) decide(root, path, false); // the same path in both lists: excluded
  const named = included
    .map((path) => path.segments)
    .filter(([first]) => first !== undefined && first !== 'id' && !SYSTEM.has(first ?? ''));
  return { indexed: modeName !== 'none', root, named };
}

/** The terms of a document; `document` is what JSON.parse made of its text. */
export function countTerms(document: unknown, paths: IndexedPaths): number {
  if (!paths.indexed || !isObject(document)) return 0;
  const { root, named } = paths;
  const inherited = root.subtree ?? false;
  let terms = TIMESTAMP_TERMS;
  for (const key in document) {
    if (isSystem(key)) continue;
    if (key === 'id') terms += 1;
    else terms += count(document[key], root.children?.get(key), inherited, 1);
  }
  for (const segments of named) if (!hasPath(document, segments, 0)) terms += 1;
  return terms;
}

/**
 * The terms a replace removes plus those it adds. `_ts` changes with every write and is left out: with it, the
 * worked example of Microsoft's page (two changed terms, 10.8 RU) would not come out.
 */
export function changedTerms(before: unknown, after: unknown, paths: IndexedPaths): number {
  if (!paths.indexed || !isObject(before) || !isObject(after)) return 0;
  const { root, named } = paths;
  let terms = diffProperties(before, after, root, root.subtree ?? false, 0);
  for (const segments of named) {
    // "It is missing" is itself a term, which goes when the property comes.
    if (hasPath(before, segments, 0) !== hasPath(after, segments, 0)) terms += 1;
  }
  return terms;
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSystem(key: string): boolean {
  return key.charCodeAt(0) === 0x5f && SYSTEM.has(key);
}

function count(value: unknown, node: PathNode | undefined, inherited: boolean, depth: number): number {
  if (node === undefined) return inherited ? countLeaves(value, depth) : 0;
  const below = node.subtree ?? inherited;
  if (typeof value !== 'object' || value === null) return (node.scalar ?? below) ? 1 : 0;
  if (depth >= DEPTH_MAX) return 0;
  let terms = 0;
  if (Array.isArray(value)) {
    for (const element of value) terms += count(element, node.elements, below, depth + 1);
  } else {
    for (const key in value)
      terms += count((value as JsonObject)[key], node.children?.get(key), below, depth + 1);
  }
  return terms;
}

function countLeaves(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  if (depth >= DEPTH_MAX) return 0;
  let terms = 0;
  if (Array.isArray(value)) {
    for (const element of value) terms += countLeaves(element, depth + 1);
  } else {
    for (const key in value) terms += countLeaves((value as JsonObject)[key], depth + 1);
  }
  return terms;
}

function diff(
  before: unknown,
  after: unknown,
  node: PathNode | undefined,
  inherited: boolean,
  depth: number,
): number {
  if (before === after || depth > DEPTH_MAX || (node === undefined && !inherited)) return 0;
  if (isObject(before) && isObject(after)) return diffProperties(before, after, node, inherited, depth);
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, node, inherited, depth);
  return count(before, node, inherited, depth) + count(after, node, inherited, depth);
}

/** The properties of two objects, side by side; at depth 0 they are documents, whose system properties are skipped. */
function diffProperties(
  before: JsonObject,
  after: JsonObject,
  node: PathNode | undefined,
  inherited: boolean,
  depth: number,
): number {
  const below = node?.subtree ?? inherited;
  let terms = 0;
  for (const key in before) {
    if (depth === 0 && isSystem(key)) continue;
    const child = node?.children?.get(key);
    terms += Object.hasOwn(after, key)
      ? diff(before[key], after[key], child, below, depth + 1)
      : count(before[key], child, below, depth + 1);
  }
  for (const key in after) {
    if ((depth === 0 && isSystem(key)) || Object.hasOwn(before, key)) continue;
    terms += count(after[key], node?.children?.get(key), below, depth + 1);
  }
  return terms;
}

/**
 * All elements of an array share one path, so moving them changes no term: the two are compared as bags of
 * terms. The bags are made only where the arrays differ, and once for everything nested in them.
 */
function diffArrays(
  before: readonly unknown[],
  after: readonly unknown[],
  node: PathNode | undefined,
  inherited: boolean,
  depth: number,
): number {
  if (isSame(before, after, depth)) return 0;
  const bag = emptyBag();
  collect(before, bag, { node, inherited, depth, weight: 1 });
  collect(after, bag, { node, inherited, depth, weight: -1 });
  return surplusOf(bag);
}

/** The terms of one path, each with how often more it occurs before than after; and the paths below it. */
interface Bag {
  readonly values: Map<unknown, number>;
  readonly children: Map<string, Bag>;
  elements: Bag | undefined;
}

interface Place {
  readonly node: PathNode | undefined;
  readonly inherited: boolean;
  readonly depth: number;
  readonly weight: 1 | -1;
}

function emptyBag(): Bag {
  return { values: new Map(), children: new Map(), elements: undefined };
}

function collect(value: unknown, bag: Bag, { node, inherited, depth, weight }: Place): void {
  const below = node?.subtree ?? inherited;
  if (typeof value !== 'object' || value === null) {
    if (node?.scalar ?? below) bag.values.set(value, (bag.values.get(value) ?? 0) + weight);
    return;
  }
  if (depth >= DEPTH_MAX || (node === undefined && !below)) return;
  const place = { inherited: below, depth: depth + 1, weight };
  if (Array.isArray(value)) {
    bag.elements ??= emptyBag();
    for (const element of value) collect(element, bag.elements, { ...place, node: node?.elements });
    return;
  }
  for (const key in value) {
    const child = bag.children.get(key) ?? emptyBag();
    bag.children.set(key, child);
    collect((value as JsonObject)[key], child, { ...place, node: node?.children?.get(key) });
  }
}

function surplusOf(bag: Bag): number {
  let terms = 0;
  for (const surplus of bag.values.values()) terms += Math.abs(surplus);
  for (const child of bag.children.values()) terms += surplusOf(child);
  return terms + (bag.elements === undefined ? 0 : surplusOf(bag.elements));
}

function isSame(one: unknown, other: unknown, depth: number): boolean {
  if (one === other) return true;
  if (depth > DEPTH_MAX) return false;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((element, i) => isSame(element, other[i], depth + 1));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key], depth + 1))
  );
}

function hasPath(value: unknown, segments: readonly Segment[], index: number): boolean {
  const segment = segments[index];
  if (segment === undefined) return true;
  if (segment === null) {
    return Array.isArray(value) && value.some((element) => hasPath(element, segments, index + 1));
  }
  return isObject(value) && Object.hasOwn(value, segment) && hasPath(value[segment], segments, index + 1);
}

// Reading a policy.

interface Path {
  readonly segments: readonly Segment[];
  readonly wildcard: boolean;
}

function emptyNode(): PathNode {
  return { children: undefined, elements: undefined, scalar: undefined, subtree: undefined };
}

function decide(root: PathNode, path: Path, isIncluded: boolean): void {
  let node = root;
  for (const segment of path.segments) {
    if (segment === null) {
      node.elements ??= emptyNode();
      node = node.elements;
      continue;
    }
    node.children ??= new Map();
    const next = node.children.get(segment) ?? emptyNode();
    node.children.set(segment, next);
    node = next;
  }
  if (path.wildcard) node.subtree = isIncluded;
  else node.scalar = isIncluded;
}

function readPaths(list: unknown, where: string): Path[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw refuse(`indexingPolicy.${where} must be an array`);
  return list.map((entry: unknown, index) => {
    const place = `indexingPolicy.${where}[${index}]`;
    const path = objectOf(entry, place)['path'];
    if (typeof path !== 'string') throw refuse(`${place}.path must be a text`);
    const segments = parsePath(path);
    if (segments === undefined) {
      throw refuse(
        `${place}.path ${JSON.stringify(path)} could not be accepted: write /name/?, /name/*, ` +
          '/list/[]/name/? or /"odd name"/?',
      );
    }
    return segments;
  });
}

/** One step of a path: `[]`, a quoted name in which a backslash escapes, or a bare name. */
const STEP = /\/(?:(\[\])|"((?:[^"\\]|\\.)*)"|([^/"?*[\]]+))(?=\/)/sy;

function parsePath(path: string): Path | undefined {
  if (path === '/') return { segments: [], wildcard: true }; // as old containers wrote the root
  const segments: Segment[] = [];
  let at = 0;
  STEP.lastIndex = 0;
  for (let step = STEP.exec(path); step !== null; step = STEP.exec(path)) {
    const [, elements, quoted, bare] = step;
    segments.push(elements === undefined ? (quoted?.replaceAll(/\\(.)/gs, '$1') ?? bare ?? '') : null);
    at = STEP.lastIndex;
  }
  const end = path.slice(at);
  return end === '/?' || end === '/*' ? { segments, wildcard: end === '/*' } : undefined;
}

function objectOf(value: unknown, where: string): JsonObject {
  if (!isObject(value)) throw refuse(`${where} must be an object`);
  return value;
}

function refuse(message: string): Refusal {
  return new Refusal(400, message);
}
