/**
 * The rules of the new key as the spec sees them: each text is checked where it came from, then all together. The
 * source's own key paths are known only once it has been asked, so the plan is made in two steps.
 */
import { UsageError } from '../lib/errors.ts';
import { parseDerivation } from '../keys/strategies/parse.ts';
import { overlap, parsePath, printPath } from '../keys/path.ts';
import { makePlan, type KeyPlan, type PlanOptions } from '../keys/plan.ts';
import type { Path } from '../keys/strategies/strategy.ts';
import { flagOfField, type FieldName } from './fields.ts';
import { asUsageError, type Findings } from './problems.ts';
import { drop, quote, sourceOf, waysToGive, type Given } from './input.ts';
import type { MigrationSpec } from './migration-spec.ts';

/** What the spec says about the key, as text. */
export interface KeyTexts {
  readonly partitionKey: readonly string[];
  readonly derive: readonly string[];
  readonly keepSourceKeyAs: string | null;
}

/** The key's texts; whatever is wrong with them is in the findings. */
export function readKeyTexts(findings: Findings): KeyTexts {
  const before = findings.problems.length;
  const partitionKey = readAll('partitionKey', findings, parsePath);
  const derive = readAll('derive', findings, parseDerivation);
  const keep = findings.given('keepSourceKeyAs');
  const keepText = keep === undefined ? undefined : findings.single(keep);
  if (keep !== undefined && keepText !== undefined) readOne(keep, keepText, findings, parsePath);
  if (findings.given('partitionKey') === undefined && findings.given('derive') === undefined) {
    findings.report(
      `${flagOfField('partitionKey')}, ${flagOfField('derive')}`,
      'no key was asked for',
      'cosmig must know the new partition key',
      `${waysToGive('partitionKey')}; or ${waysToGive('derive')}`,
    );
  } else if (findings.problems.length === before) {
    checkTogether({ partitionKey, derive }, findings);
  }
  if (keep !== undefined && findings.given('derive') === undefined) {
    findings.report(
      sourceOf(keep),
      `${sourceOf(keep)} has nothing to keep`,
      'the source key is overwritten by a derived property only, and none is derived',
      drop(keep),
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
  try {
    return printPath(parseDerivation(derivation).path);
  } catch (error) {
    // It has been complained about.
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

function readAll(field: FieldName, findings: Findings, parse: (text: string) => unknown): readonly string[] {
  const given = findings.given(field);
  if (given === undefined) return [];
  const texts = findings.several(given);
  for (const text of texts) readOne(given, text, findings, parse);
  return texts;
}

function readOne(given: Given, text: string, findings: Findings, parse: (text: string) => unknown): void {
  try {
    parse(text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { position } = error.details;
    const where = typeof position === 'number' ? `, character ${position}` : '';
    findings.report(
      sourceOf(given),
      `${quote(given, text)} is not possible`,
      `${error.why}${where}`,
      error.hint,
    );
  }
}

/** The rules between paths and templates, as far as they hold for every source. */
function checkTogether(
  { partitionKey, derive }: Omit<KeyTexts, 'keepSourceKeyAs'>,
  findings: Findings,
): void {
  const from = (['partitionKey', 'derive'] as const)
    .flatMap((field) => findings.given(field) ?? [])
    .map(sourceOf)
    .join(', ');
  for (const { message, why, hint } of complaintsOf({
    sourcePaths: [],
    partitionKey,
    derive,
    missingKey: 'keep',
  })) {
    findings.report(from, `${message} (${from})`, why, hint);
  }
}

interface Complaint {
  readonly message: string;
  readonly why: string;
  readonly hint: string;
}

function complaintsOf(options: PlanOptions): readonly Complaint[] {
  try {
    makePlan(options);
    return [];
  } catch (error) {
    if (error instanceof UsageError) return listed(error);
    throw error;
  }
}

/** What a plan complains about, one by one. */
function listed(error: UsageError): readonly Complaint[] {
  const { problems } = error.details;
  // The list is made by keys/check-plan.ts, in this very shape.
  if (Array.isArray(problems)) return problems as readonly Complaint[];
  return [{ message: error.message, why: error.why, hint: error.hint }];
}

/** Properties that something else reads or rewrites may not be the key, or be written for it. */
export function checkMeanings(
  key: KeyTexts,
  spec: Pick<MigrationSpec, 'ttl' | 'deletes'>,
  findings: Findings,
): void {
  const keyPaths = parsedOr(() => key.partitionKey.map(parsePath));
  const derived = parsedOr(() => key.derive.map((text) => parseDerivation(text).path));
  if (spec.ttl === 'remaining' && keyPaths.some((path) => path[0] === 'ttl')) {
    findings.report(
      '--ttl',
      '/ttl cannot be the key while --ttl remaining rewrites it',
      'the key of a document would change with the time at which it is copied',
      'choose --ttl restart, or another key',
    );
  }
  const { deletes } = spec;
  if (deletes.kind !== 'marker') return;
  const marker = parsedOr(() => [parsePath(deletes.path)]);
  const clash = derived.find((path) => marker.some((other) => overlap(path, other)));
  if (clash !== undefined) {
    findings.report(
      '--deletes, --derive',
      `${printPath(clash)} cannot be derived and mark deletes at once`,
      'a document that has the marker would be taken for one with another key',
      'derive into another property',
    );
  }
}

function parsedOr(parse: () => readonly Path[]): readonly Path[] {
  try {
    return parse();
  } catch (error) {
    if (error instanceof UsageError) return [];
    throw error;
  }
}

/**
 * The plan of a migration whose source has these key paths. A derived path that overlaps one of them is refused
 * here, unless the spec says where the old value is kept.
 */
export function planFor(spec: MigrationSpec, sourcePaths: readonly string[], keyBytesMax?: number): KeyPlan {
  const { partitionKey, derive, missingKey, keepSourceKeyAs } = spec;
  try {
    return makePlan({
      sourcePaths,
      partitionKey,
      derive,
      missingKey,
      ...(keepSourceKeyAs === null ? {} : { keepSourceKeyAs }),
      ...(keyBytesMax === undefined ? {} : { keyBytesMax }),
    });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const from = `source key ${sourcePaths.join(', ')}`;
    throw asUsageError(listed(error).map((complaint) => ({ ...complaint, from })));
  }
}
