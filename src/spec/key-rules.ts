/**
 * The rules of the new key: each text is checked by itself, then all texts together. The plan is made later
 * (`planFor`), since the key paths of the source are known only after the source was inspected.
 */
import { orUsageError, UsageError, type Problem } from '../lib/errors.ts';
import { parseDerivation } from '../keys/strategies/parse.ts';
import { overlap, parsePath, printPath } from '../keys/path.ts';
import { makePlan, type KeyPlan, type PlanOptions } from '../keys/plan.ts';
import type { Path } from '../keys/strategies/strategy.ts';
import { flagOfField, type FieldName } from './fields.ts';
import { asUsageError, type ProblemList } from './input/problems.ts';
import { howToRemove, quote, sourceOf, waysToGive, type Given } from './input/given.ts';
import type { MigrationSpec } from './migration-spec.ts';

/** The settings of the key, as text. */
export interface KeyTexts {
  readonly partitionKey: readonly string[];
  readonly derive: readonly string[];
  readonly keepSourceKeyAs: string | null;
}

/** Reads the settings of the key. Problems with them are added to `problems`. */
export function readKeyTexts(problems: ProblemList): KeyTexts {
  const before = problems.all.length;
  const partitionKey = readAll('partitionKey', problems, parsePath);
  const derive = readAll('derive', problems, parseDerivation);
  const keep = problems.given('keepSourceKeyAs');
  const keepText = keep === undefined ? undefined : problems.single(keep);
  if (keep !== undefined && keepText !== undefined) readOne(keep, keepText, problems, parsePath);
  if (problems.given('partitionKey') === undefined && problems.given('derive') === undefined) {
    problems.report(
      `${flagOfField('partitionKey')}, ${flagOfField('derive')}`,
      'no partition key was given',
      'every document gets a new key: a property, or a derived value',
      `${waysToGive('partitionKey')}; or ${waysToGive('derive')}`,
    );
  } else if (problems.all.length === before) {
    checkTogether({ partitionKey, derive }, problems);
  }
  if (keep !== undefined && problems.given('derive') === undefined) {
    problems.report(
      sourceOf(keep),
      `${sourceOf(keep)} has nothing to keep`,
      'only a derived property can replace the source key, and none is derived',
      howToRemove(keep),
    );
  }
  const [derivation] = derive;
  const derivedKey = derive.length === 1 && derivation !== undefined ? pathOf(derivation) : undefined;
  return {
    partitionKey: partitionKey.length === 0 && derivedKey !== undefined ? [derivedKey] : partitionKey,
    derive,
    keepSourceKeyAs: keepText ?? null,
  };
}

function pathOf(derivation: string): string | undefined {
  const parsed = orUsageError(() => parseDerivation(derivation));
  // The error is already in the list of problems.
  return parsed instanceof UsageError ? undefined : printPath(parsed.path);
}

function readAll(
  field: FieldName,
  problems: ProblemList,
  parse: (text: string) => unknown,
): readonly string[] {
  const given = problems.given(field);
  if (given === undefined) return [];
  const texts = problems.several(given);
  for (const text of texts) readOne(given, text, problems, parse);
  return texts;
}

function readOne(given: Given, text: string, problems: ProblemList, parse: (text: string) => unknown): void {
  const error = orUsageError(() => parse(text));
  if (!(error instanceof UsageError)) return;
  const { position } = error.details;
  const where = typeof position === 'number' ? `, character ${position}` : '';
  problems.report(sourceOf(given), `${quote(given, text)} is not valid`, `${error.why}${where}`, error.hint);
}

/** Checks the rules between paths and templates that do not depend on the source. */
function checkTogether(
  { partitionKey, derive }: Omit<KeyTexts, 'keepSourceKeyAs'>,
  problems: ProblemList,
): void {
  const from = (['partitionKey', 'derive'] as const)
    .flatMap((field) => problems.given(field) ?? [])
    .map(sourceOf)
    .join(', ');
  const plan = orUsageError(() => makePlan({ sourcePaths: [], partitionKey, derive, missingKey: 'keep' }));
  if (!(plan instanceof UsageError)) return;
  for (const { message, why, hint } of listed(plan)) problems.report(from, `${message} (${from})`, why, hint);
}

/** Returns the problems of a plan one by one, from the error that reports them. */
function listed({ problems, message, why, hint }: UsageError): readonly Omit<Problem, 'from'>[] {
  return problems.length > 0 ? problems : [{ message, why, hint }];
}

/** Reports a problem when a property with a meaning for TTL or deletes would also be the key, or be derived. */
export function checkMeanings(
  key: KeyTexts,
  spec: Pick<MigrationSpec, 'ttl' | 'deletes'>,
  problems: ProblemList,
): void {
  const keyPaths = parsedOr(() => key.partitionKey.map(parsePath));
  const derived = parsedOr(() => key.derive.map((text) => parseDerivation(text).path));
  if (spec.ttl === 'remaining' && keyPaths.some((path) => path[0] === 'ttl')) {
    problems.report(
      '--ttl',
      '/ttl cannot be the key while --ttl remaining rewrites it',
      'the key of a document would depend on when it is copied',
      'choose --ttl restart, or another key',
    );
  }
  const { deletes } = spec;
  if (deletes.kind !== 'marker') return;
  const marker = parsedOr(() => [parsePath(deletes.path)]);
  const clash = derived.find((path) => marker.some((other) => overlap(path, other)));
  if (clash !== undefined) {
    problems.report(
      '--deletes, --derive',
      `${printPath(clash)} cannot both be derived and mark deletes`,
      'a document with the marker would be treated as one with another key',
      'derive into another property',
    );
  }
}

/** Returns no paths if a text is not valid. That problem has been reported already. */
function parsedOr(parse: () => readonly Path[]): readonly Path[] {
  const paths = orUsageError(parse);
  return paths instanceof UsageError ? [] : paths;
}

/**
 * Returns the plan by which documents get the new key, if their key so far is at `sourcePaths`. A derived path that
 * replaces a source path is refused here, unless the spec names a property that keeps the old value. A derived path that
 * overlaps a source path in another way is always refused.
 */
export function planFor(
  spec: MigrationSpec,
  sourcePaths: readonly string[],
  rules: Pick<PlanOptions, 'keyBytesMax' | 'presentWins'> = {},
): KeyPlan {
  const { partitionKey, derive, missingKey, keepSourceKeyAs } = spec;
  const kept = keepSourceKeyAs === null ? {} : { keepSourceKeyAs };
  const plan = orUsageError(() =>
    makePlan({ sourcePaths, partitionKey, derive, missingKey, ...kept, ...rules }),
  );
  if (!(plan instanceof UsageError)) return plan;
  const from = `source key ${sourcePaths.join(', ')}`;
  throw asUsageError(listed(plan).map((problem) => ({ ...problem, from })));
}
