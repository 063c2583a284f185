/**
 * Counts the index terms of a document. Of two writes of the same size, the one that changes more terms costs more
 * (fact SVC-33).
 *
 * Every scalar on an indexed path is a term, also each scalar in an array. `id` and `_ts` are always indexed, and other
 * system properties never, so the count is the same whether or not the document contains them. An included path that
 * names a property adds a term even if the property is missing. Composite, spatial and vector indexes are not counted.
 *
 * The indexing policy is compiled to a tree of paths once. Counting walks a document once along that tree.
 */
import { badRequest } from '../http/refusal.ts';
import { isObject, own, type JsonObject } from '../json/json-value.ts';

/** The name of a property, or `null` for the elements of an array (`[]`). */
type Segment = string | null;

interface PathNode {
  children: Map<string, PathNode> | undefined;
  elements: PathNode | undefined;
  /**
   * Whether `/?` after the path of this node is indexed; undefined if no such path is in the policy. It decides about
   * a scalar at this node.
   */
  scalar: boolean | undefined;
  /**
   * Whether `/*` after the path of this node is indexed; undefined if no such path is in the policy. It decides about
   * this node and everything below, unless a longer path decides.
   */
  subtree: boolean | undefined;
}

export interface IndexedPaths {
  /** Whether documents are indexed at all; false in the indexing mode `none`. */
  readonly indexed: boolean;
  readonly root: Readonly<PathNode>;
  /** The included paths that name a property. A document without such a path has a term that records its absence. */
  readonly named: readonly (readonly Segment[])[];
}

/** The term of `_ts`, which every document has, whether or not the text contains it. */
const TIMESTAMP_TERMS = 1;
const SYSTEM: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_ts', '_attachments', '_lsn']);
/** How deep the walk goes, so that it cannot overflow the stack. The service refuses deeper documents. */
const DEPTH_MAX = 128;
const MODES: ReadonlySet<unknown> = new Set([undefined, 'consistent', 'lazy', 'none']);

/** Compiles a container's indexing policy; undefined is the service's default. A Refusal 400 names what is invalid. */
export function compileIndexing(indexingPolicy: unknown): IndexedPaths {
  const policy = objectOf(indexingPolicy ?? {}, 'indexingPolicy');
  const mode = policy['indexingMode'];
  const modeName = typeof mode === 'string' ? mode.toLowerCase() : mode;
  if (!MODES.has(modeName)) throw badRequest('indexingPolicy.indexingMode must be consistent, lazy or none');
  const included = readPaths(policy['includedPaths'], 'includedPaths');
  const excluded = readPaths(policy['excludedPaths'], 'excludedPaths');
  const root = emptyNode();
  // A policy without included paths includes `/*`, as on the service, unless it excludes `/*`.
  if (included.length === 0) root.subtree = true;
  for (const path of included) decide(root, path, true);
  for (const path of excluded) decide(root, path, false); // last, because a path in both lists is excluded
  const named = included
    .map((path) => path.segments)
    .filter(([first]) => first !== undefined && first !== 'id' && !SYSTEM.has(first ?? ''));
  return { indexed: modeName !== 'none', root, named };
}

/** Returns the number of terms of a parsed document. */
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
 * Returns how many terms a replace removes, plus how many it adds. All elements of an array share one path, so moving
 * an element changes no term. `_ts` changes with every write but is not counted: if it were, the example on Microsoft's
 * page (two changed terms, 10.8 RU) would cost more than the page says.
 */
export function changedTerms(before: unknown, after: unknown, paths: IndexedPaths): number {
  if (!paths.indexed || !isObject(before) || !isObject(after)) return 0;
  const { root, named } = paths;
  let terms = diff(before, after, { node: root, inherited: root.subtree ?? false, depth: 0 });
  for (const segments of named) {
    // The absence of a property is itself a term, which is removed when the property is added.
    if (hasPath(before, segments, 0) !== hasPath(after, segments, 0)) terms += 1;
  }
  return terms;
}

function isSystem(key: string): boolean {
  return key.charCodeAt(0) === 0x5f && SYSTEM.has(key);
}

function count(value: unknown, node: PathNode | undefined, inherited: boolean, depth: number): number {
  const below = node?.subtree ?? inherited;
  if (node === undefined && !below) return 0;
  if (typeof value !== 'object' || value === null) return (node?.scalar ?? below) ? 1 : 0;
  if (depth >= DEPTH_MAX) return 0;
  let terms = 0;
  if (Array.isArray(value)) {
    for (const element of value) terms += count(element, node?.elements, below, depth + 1);
  } else {
    for (const key in value)
      terms += count((value as JsonObject)[key], node?.children?.get(key), below, depth + 1);
  }
  return terms;
}

/**
 * The terms of one path and of the paths below it. `values` has a number for each value: how often it occurs before the
 * change, minus how often it occurs after the change.
 */
interface Bag {
  readonly values: Map<unknown, number>;
  readonly children: Map<string, Bag>;
  elements: Bag | undefined;
}

/** Where the walk is in the tree of paths. */
interface Position {
  readonly node: PathNode | undefined;
  /** What the nearest `/*` path above decides. */
  readonly inherited: boolean;
  readonly depth: number;
}

/** Counts the terms in which two values differ. To save time, only values that differ get a bag. */
function diff(before: unknown, after: unknown, position: Position): number {
  if (before === after) return 0;
  const { node, inherited, depth } = position;
  if (!isObject(before) || !isObject(after) || depth >= DEPTH_MAX) {
    const bag = emptyBag();
    collect(before, bag, position, 1);
    collect(after, bag, position, -1);
    return surplusOf(bag);
  }
  const below = node?.subtree ?? inherited;
  let terms = 0;
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (depth === 0 && isSystem(key)) continue;
    const next = { node: node?.children?.get(key), inherited: below, depth: depth + 1 };
    terms += diff(own(before, key), own(after, key), next);
  }
  return terms;
}

function emptyBag(): Bag {
  return { values: new Map(), children: new Map(), elements: undefined };
}

function collect(value: unknown, bag: Bag, { node, inherited, depth }: Position, weight: 1 | -1): void {
  const below = node?.subtree ?? inherited;
  if (value === undefined || (node === undefined && !below)) return;
  if (typeof value !== 'object' || value === null) {
    if (node?.scalar ?? below) bag.values.set(value, (bag.values.get(value) ?? 0) + weight);
    return;
  }
  if (depth >= DEPTH_MAX) return;
  const next = { inherited: below, depth: depth + 1 };
  if (Array.isArray(value)) {
    bag.elements ??= emptyBag();
    for (const element of value) collect(element, bag.elements, { ...next, node: node?.elements }, weight);
    return;
  }
  for (const key in value) {
    const child = bag.children.get(key) ?? emptyBag();
    bag.children.set(key, child);
    collect((value as JsonObject)[key], child, { ...next, node: node?.children?.get(key) }, weight);
  }
}

function surplusOf(bag: Bag): number {
  let terms = 0;
  for (const surplus of bag.values.values()) terms += Math.abs(surplus);
  for (const child of bag.children.values()) terms += surplusOf(child);
  return terms + (bag.elements === undefined ? 0 : surplusOf(bag.elements));
}

function hasPath(value: unknown, segments: readonly Segment[], index: number): boolean {
  const segment = segments[index];
  if (segment === undefined) return true;
  if (segment === null) {
    return Array.isArray(value) && value.some((element) => hasPath(element, segments, index + 1));
  }
  return isObject(value) && Object.hasOwn(value, segment) && hasPath(value[segment], segments, index + 1);
}

// Reading an indexing policy.

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
  if (!Array.isArray(list)) throw badRequest(`indexingPolicy.${where} must be an array`);
  return list.map((entry: unknown, index) => {
    const name = `indexingPolicy.${where}[${index}]`;
    const path = objectOf(entry, name)['path'];
    if (typeof path !== 'string') throw badRequest(`${name}.path must be a string`);
    const segments = parsePath(path);
    if (segments === undefined) {
      throw badRequest(
        `${name}.path ${JSON.stringify(path)} could not be accepted: write /name/?, /name/*, ` +
          '/list/[]/name/? or /"odd name"/?',
      );
    }
    return segments;
  });
}

/** Matches one step of a path: `[]`, a quoted name in which a backslash escapes, or a name without quotes. */
const STEP = /\/(?:(\[\])|"((?:[^"\\]|\\.)*)"|([^/"?*[\]]+))(?=\/)/sy;

function parsePath(path: string): Path | undefined {
  if (path === '/') return { segments: [], wildcard: true }; // how old containers write the root
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
  if (!isObject(value)) throw badRequest(`${where} must be an object`);
  return value;
}
