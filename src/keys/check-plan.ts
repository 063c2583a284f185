/**
 * Refuses key options that cannot work. The reasons: without its source key a document could not be distinguished
 * from others with the same id; only the service writes system properties; nothing can be stored below a text.
 */
import { SYSTEM_PROPERTIES } from '../documents/system-properties.ts';
import { UsageError } from '../lib/errors.ts';
import { LEVELS_MAX } from './key-levels.ts';
import type { Derivation } from './strategies/parse.ts';
import { isSamePath, overlap, printPath } from './path.ts';
import type { Path } from './strategies/strategy.ts';

/** The options of a plan, parsed but not yet checked. */
export interface Draft {
  readonly source: readonly Path[];
  readonly key: readonly Path[];
  readonly derivations: readonly Derivation[];
  readonly keep: Path | undefined;
}

/**
 * Names that a derived property must not have: those of the id, the lifetime and the system properties (RESERVED), and
 * one that a plain assignment would lose (LOST).
 */
const RESERVED = ['id', 'ttl', ...SYSTEM_PROPERTIES];
const LOST = '__proto__';

/** Yields all problems of a draft. */
export function* problemsOf(draft: Draft): Generator<UsageError> {
  yield* aboutKey(draft);
  for (const derivation of draft.derivations) yield* aboutDerivation(draft, derivation);
  yield* aboutPairs(draft);
  yield* aboutKeeping(draft);
}

/** Returns the source key paths that a derived value replaces. */
export function replacedPaths({ source, derivations }: Draft): Path[] {
  return source.filter((path) => derivations.some((derivation) => isSamePath(derivation.path, path)));
}

function* aboutKey({ key, derivations }: Draft): Generator<UsageError> {
  if (key.length === 0) {
    yield derivations.length === 0
      ? problem(
          'no key is asked for',
          'neither a key path nor a derived property is given',
          'give --partition-key PATH or --derive',
        )
      : problem(
          'no key path is given',
          'several properties are derived, and which is the key is not said',
          'name the key paths with --partition-key, in order',
        );
  }
  if (key.length > LEVELS_MAX) {
    yield problem(
      `${key.length} key paths are too many`,
      `a hierarchical key has at most ${LEVELS_MAX} levels`,
      `keep ${LEVELS_MAX} of them`,
    );
  }
  for (const [path, other] of overlapping(key)) {
    yield isSamePath(path, other)
      ? problem(
          `the key names ${printPath(path)} twice`,
          'each level has a path of its own',
          'take one of them out',
        )
      : problem(
          `the key paths ${printPath(path)} and ${printPath(other)} exclude each other`,
          'one lies inside the other, and an object is not a key value',
          'choose one of them',
        );
  }
  for (const path of key) {
    if (!SYSTEM_PROPERTIES.includes(path[0] ?? '')) continue;
    yield problem(
      `${printPath(path)} cannot be a key path`,
      'the service writes it, and every copy gets another value',
      'choose a property that the application writes',
    );
  }
}

function* aboutDerivation(
  { source, key, derivations, keep }: Draft,
  { path, strategy }: Derivation,
): Generator<UsageError> {
  const printed = printPath(path);
  const name = reservedName(path);
  if (name !== undefined) {
    yield problem(
      `${printed} cannot be derived`,
      `the name ${name} has a meaning of its own`,
      'derive into a property of another name, /pk for instance',
    );
  }
  for (const level of key) {
    if (!overlap(level, path) || isSamePath(level, path)) continue;
    yield problem(
      `the key path ${printPath(level)} does not fit the derived ${printed}`,
      'a derived value is not an object, and an object around it is not a key value',
      `make the key path ${printed}`,
    );
  }
  for (const old of source) {
    if (!overlap(old, path)) continue;
    if (!isSamePath(old, path)) {
      yield problem(
        `${printed} cannot be derived`,
        `it would destroy the source key ${printPath(old)}, which distinguishes documents of one id`,
        'derive into another property',
      );
    } else if (keep === undefined) {
      yield problem(
        `${printed} is the source key and cannot be overwritten`,
        'without its old value documents of one id cannot be distinguished',
        'add --keep-source-key-as PATH, or derive into another property',
      );
    }
  }
  for (const input of strategy.paths) {
    if (SYSTEM_PROPERTIES.includes(input[0] ?? '')) {
      yield problem(
        `${printed} cannot be derived from ${printPath(input)}`,
        'the service writes a new value at every change, so the key would change too',
        'use a property that the application writes',
      );
    }
    const other = derivations.find((derivation) => overlap(derivation.path, input));
    const isSelf = other !== undefined && isSamePath(input, path);
    const isSourceKey = source.some((old) => isSamePath(old, input));
    if (other !== undefined && !isSelf && !isSourceKey) {
      yield problem(
        `${printed} cannot be derived from ${printPath(input)}, which is derived itself`,
        'templates read the source document, where that is not yet',
        `write out in ${printed} what ${printPath(other.path)} is made of`,
      );
    }
  }
}

function* aboutPairs({ derivations }: Draft): Generator<UsageError> {
  for (const [path, other] of overlapping(derivations.map((derivation) => derivation.path))) {
    yield isSamePath(path, other)
      ? problem(
          `${printPath(path)} is derived twice`,
          'a property has one value',
          'take one of the templates out',
        )
      : problem(
          `${printPath(path)} and ${printPath(other)} cannot both be derived`,
          'one lies inside the other, and a derived value is not an object',
          'derive them into properties that do not contain each other',
        );
  }
}

function* aboutKeeping(draft: Draft): Generator<UsageError> {
  const { keep, source, derivations } = draft;
  if (keep === undefined) return;
  const printed = printPath(keep);
  const replaced = replacedPaths(draft);
  if (replaced.length === 0) {
    yield problem(
      `there is nothing to keep at ${printed}`,
      'no derived property replaces a source key path',
      'leave --keep-source-key-as out',
    );
    return;
  }
  if (replaced.length > 1) {
    yield problem(
      `${printed} cannot keep ${replaced.length} values`,
      `${replaced.map(printPath).join(' and ')} are both replaced`,
      'derive into other properties',
    );
  }
  const taken = [...source, ...derivations.map(({ path }) => path)].find((path) => overlap(path, keep));
  const name = reservedName(keep);
  if (taken === undefined && name === undefined) return;
  yield problem(
    `${printed} cannot keep the source key`,
    taken === undefined ? `the name ${name} has a meaning of its own` : `${printPath(taken)} is there`,
    'keep it at a path of its own',
  );
}

/** Returns the step of a path that must not be written. The service's names are reserved only at the top level. */
function reservedName(path: Path): string | undefined {
  return path.find((step, index) => step === LOST || (index === 0 && RESERVED.includes(step)));
}

/** Returns the pairs of paths that exclude each other. */
function overlapping(paths: readonly Path[]): Array<readonly [Path, Path]> {
  const pairs = paths.flatMap((path, at) => paths.slice(at + 1).map((other) => [path, other] as const));
  return pairs.filter(([path, other]) => overlap(path, other));
}

function problem(message: string, why: string, hint: string): UsageError {
  return new UsageError(message, { why, hint });
}

/** Returns one error for all problems. A single problem is returned unchanged. */
export function inOne(found: readonly UsageError[]): UsageError {
  // If a path is derived twice, each of its other problems was found twice.
  const problems = [...new Map(found.map((one) => [one.message, one])).values()];
  const [only, ...rest] = problems;
  if (only !== undefined && rest.length === 0) return only;
  const listed = problems.map(({ message, why, hint }) => ({ from: 'the key', message, why, hint }));
  return new UsageError(`${problems.length} problems with the key`, {
    why: listed.map(({ message, why }) => `${message}: ${why}`).join('; '),
    hint: 'fix each of them',
    problems: listed,
  });
}
