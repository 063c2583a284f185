/**
 * Reads and applies partial updates.
 *
 * Invariant: a patch edits the text of the document. Only the named values change; every other byte stays.
 */
import type { ContainerDefinition } from '../account/container-definition.ts';
import { isObject, own, parseJson } from '../json/json-value.ts';
import {
  appendMember,
  elementsOf,
  insertElement,
  membersOf,
  removeStep,
  replaceSpan,
  skipSpace,
  valueSpan,
} from '../json/json-text.ts';
import { compileQuery, runPage } from '../query/query.ts';
import { badRequest, Refusal } from '../http/refusal.ts';

interface Edit {
  readonly op: 'add' | 'set' | 'replace' | 'remove' | 'incr';
  readonly path: string;
  /** The value as JSON text, exactly as the client wrote it. */
  readonly value: string | undefined;
}

interface Move {
  readonly op: 'move';
  readonly path: string;
  /** The path of the value that is moved to `path`. */
  readonly from: string;
}

export type PatchOperation = Edit | Move;

export interface PatchRequest {
  readonly operations: readonly PatchOperation[];
  /** The `FROM ... WHERE ...` of a query. The patch is applied only if this query selects the document. */
  readonly condition: string | undefined;
}

const OPERATIONS_MAX = 10;
const KINDS: readonly string[] = ['add', 'set', 'replace', 'remove', 'incr', 'move'];
const FIXED: ReadonlySet<string> = new Set(['id', '_rid', '_self', '_etag', '_attachments', '_ts']);

/** Reads the body of a patch: an array of operations, or an object with `operations` and a `condition`. */
export function parsePatch(text: string): PatchRequest {
  const parsed = parseJson(text);
  if (parsed === undefined) throw badRequest('The patch is not valid JSON.');
  const condition = own(parsed, 'condition');
  if (condition !== undefined && typeof condition !== 'string')
    throw badRequest('The condition of a patch must be a string.');
  const span = valueSpan(text, Array.isArray(parsed) ? [] : ['operations']);
  const list = Array.isArray(parsed) ? parsed : own(parsed, 'operations');
  if (span === undefined || !Array.isArray(list) || list.length === 0) {
    throw badRequest('A patch must have a list of operations.');
  }
  if (list.length > OPERATIONS_MAX) throw badRequest(`A patch has at most ${OPERATIONS_MAX} operations.`);
  const operations = [...elementsOf(text, span.start)].map((element, index) =>
    parseOperation(text.slice(element.start, element.end), list[index]),
  );
  return { operations, condition };
}

function parseOperation(text: string, parsed: unknown): PatchOperation {
  const op = own(parsed, 'op');
  const path = own(parsed, 'path');
  if (!isObject(parsed) || typeof op !== 'string' || typeof path !== 'string' || !/^\/./.test(path)) {
    throw badRequest('A patch operation must have an op and a path that begins with /.');
  }
  if (!KINDS.includes(op))
    throw badRequest(`The patch operation ${op} is not supported: use ${KINDS.join(', ')}.`);
  if (op === 'move') {
    const from = own(parsed, 'from');
    if (typeof from === 'string' && /^\/./.test(from)) return { op, path, from };
    throw badRequest('The patch operation move must have a path that begins with / in from.');
  }
  let value: string | undefined;
  for (const member of membersOf(text, skipSpace(text, 0))) {
    if (member.name === 'value') value = text.slice(member.valueStart, member.end);
  }
  if (op !== 'remove' && value === undefined) throw badRequest(`The patch operation ${op} has no value.`);
  return { op: op as Edit['op'], path, value };
}

/** Returns the text of a document after a patch. Throws a Refusal if the patch cannot be applied to it. */
export function patchDocument(text: string, patch: PatchRequest, definition: ContainerDefinition): string {
  if (patch.condition !== undefined && !meets(text, patch.condition)) {
    throw new Refusal(412, 'The document does not meet the condition of the patch.');
  }
  let patched = text;
  for (const operation of patch.operations) {
    refuseFixed(operation.path, definition);
    if (operation.op === 'move') refuseFixed(operation.from, definition);
    patched = operation.op === 'move' ? moveValue(patched, operation) : edit(patched, operation);
  }
  return patched;
}

function stepsOf(path: string): string[] {
  const steps = path.slice(1).split('/');
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function meets(text: string, condition: string): boolean {
  const query = compileQuery({ query: `SELECT * ${condition}` });
  const limits = { maxItems: 1, maxBytes: Number.MAX_SAFE_INTEGER, continuation: undefined };
  return runPage(query, () => [{ position: 1, text }], limits).items.length === 1;
}

function refuseFixed(path: string, definition: ContainerDefinition): void {
  const steps = stepsOf(path);
  const touchesKey = definition.keyPaths.some((keyPath) =>
    steps.every((step, level) => level >= keyPath.length || keyPath[level] === step),
  );
  if (touchesKey || FIXED.has(steps[0] ?? '')) {
    throw badRequest(`A patch must not change ${path}: it is an id, a partition key or a system property.`);
  }
}

/**
 * Removes a value and adds it elsewhere. The new path is followed after the removal, when later elements of the same
 * array have moved up.
 */
function moveValue(text: string, { from, path }: Move): string {
  if (path.startsWith(`${from}/`)) throw badRequest(`The patch cannot move ${from} into itself.`);
  const found = walk(text, stepsOf(from));
  const span = found && valueSpan(text, found.path);
  const value = span && text.slice(span.start, span.end);
  const without = edit(text, { op: 'remove', path: from, value: undefined });
  return edit(without, { op: 'add', path, value });
}

function edit(text: string, operation: Edit): string {
  const steps = stepsOf(operation.path);
  const parent = walk(text, steps.slice(0, -1));
  const last = steps.at(-1) ?? '';
  const kind = parent === undefined ? undefined : text[parent.at];
  if (parent === undefined || (kind !== '{' && kind !== '[')) {
    throw badRequest(`The parent of the patch path ${operation.path} does not exist.`);
  }
  const step = kind === '[' && /^\d+$/.test(last) ? Number(last) : last;
  const present =
    kind === '[' && typeof step === 'string' ? undefined : valueSpan(text, [...parent.path, step]);
  const value = operation.value ?? 'null';
  if (kind === '[' && typeof step === 'string' && step !== '-') {
    throw badRequest(`The patch path ${operation.path} does not end in an array index.`);
  }
  const absent = badRequest(`The patch path ${operation.path} does not exist.`);
  switch (operation.op) {
    case 'remove': {
      // '-' is the position after the last element, which has nothing to remove.
      const removed = kind === '[' && step === '-' ? undefined : removeStep(text, parent.at, step);
      if (removed === undefined) throw absent;
      return removed;
    }
    case 'replace':
      if (present === undefined) throw absent;
      return replaceSpan(text, present, value);
    case 'incr':
      if (present === undefined && kind === '{')
        return appendMember(text, parent.at, last, added('0', value));
      if (present === undefined) throw absent;
      return replaceSpan(text, present, added(text.slice(present.start, present.end), value));
    case 'add':
    case 'set': {
      if (kind === '{') {
        return present === undefined
          ? appendMember(text, parent.at, last, value)
          : replaceSpan(text, present, value);
      }
      if (operation.op === 'set' && present !== undefined) return replaceSpan(text, present, value);
      const index = typeof step === 'number' ? step : [...elementsOf(text, parent.at)].length;
      const inserted = insertElement(text, parent.at, index, value);
      if (inserted === undefined) throw absent;
      return inserted;
    }
  }
}

/** Follows a path to an object or array. Returns where its value starts, and the path with array steps as numbers. */
function walk(text: string, steps: readonly string[]): { at: number; path: (string | number)[] } | undefined {
  const path: (string | number)[] = [];
  let at = skipSpace(text, 0);
  for (const step of steps) {
    path.push(text[at] === '[' && /^\d+$/.test(step) ? Number(step) : step);
    const span = valueSpan(text, path);
    if (span === undefined) return undefined;
    at = span.start;
  }
  return { at, path };
}

/** Adds two numbers in JSON spelling. Whole numbers of up to 19 digits are added exactly. */
function added(left: string, right: string): string {
  if (/^-?\d{1,19}$/.test(left) && /^-?\d{1,19}$/.test(right))
    return (BigInt(left) + BigInt(right)).toString();
  const sum = Number(left) + Number(right);
  if (left.startsWith('"') || right.startsWith('"') || !Number.isFinite(sum)) {
    throw badRequest('The patch operation incr needs numbers.');
  }
  return String(sum);
}
