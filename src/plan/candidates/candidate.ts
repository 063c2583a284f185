/**
 * A candidate for the key, as an operator types it: `/tenantId`, `/tenantId,/userId` for a hierarchical key, or a template
 * such as `/pk={deviceId}-{createdAt|month}`. Levels are separated by commas and may be templates, too.
 */
import { UsageError } from '../../lib/errors.ts';
import { parseDerivation } from '../../keys/strategies/parse.ts';
import { parsePath, printPath } from '../../keys/path.ts';
import { makePlan, type KeyPlan } from '../../keys/plan.ts';
import type { KeyKind } from '../../epk/effective-key.ts';

export interface KeyCandidate {
  /** The text by which reports name it. */
  readonly key: string;
  readonly paths: readonly string[];
  readonly derive: readonly string[];
  readonly isCurrent: boolean;
  /** Why it was proposed; null: the operator named it, or it is the present key. */
  readonly proposed: string | null;
}

/** Reads a candidate. Throws a UsageError for a text that names no key. */
export function parseCandidate(text: string): KeyCandidate {
  const levels = levelsOf(text);
  const derive = levels.filter((level) => templateStart(level) > 0);
  const paths = levels.map((level) =>
    printPath(derive.includes(level) ? parseDerivation(level).path : parsePath(level)),
  );
  const candidate = { key: text, paths, derive, isCurrent: false, proposed: null };
  // The plan has every other rule of a key; the paths of the source are checked when they are known.
  planOf(candidate, []);
  return candidate;
}

/** The candidate that keeps the present key of the container. */
export function currentCandidate(keyPaths: readonly string[]): KeyCandidate {
  return { key: keyPaths.join(','), paths: keyPaths, derive: [], isCurrent: true, proposed: null };
}

/** Returns how documents get this key: the plan that `cosmig copy` would use. */
export function planOf(
  { paths, derive }: Pick<KeyCandidate, 'paths' | 'derive'>,
  sourcePaths: readonly string[],
): KeyPlan {
  return makePlan({ sourcePaths, partitionKey: paths, derive, missingKey: 'keep' });
}

/** Returns how a container with this key would hash it; the present container is known to hash in its own way. */
export function kindOf({ paths, isCurrent }: KeyCandidate, present: KeyKind): KeyKind {
  if (isCurrent) return present;
  return paths.length > 1 ? 'multi-hash' : 'hash-v2';
}

/** Refuses candidates that are the same key, also as the present one. */
export function refuseRepeated(candidates: readonly KeyCandidate[]): void {
  for (const [at, candidate] of candidates.entries()) {
    const other = candidates.slice(0, at).find((one) => isSameKey(one, candidate));
    if (other === undefined) continue;
    throw new UsageError(
      `the candidate ${candidate.key} is ${other.isCurrent ? 'the present key' : 'named twice'}`,
      {
        why: other.isCurrent
          ? 'cosmig plan always compares with the present key'
          : 'each candidate is measured once',
        hint: `leave out --candidate '${candidate.key}'`,
      },
    );
  }
}

function isSameKey(one: KeyCandidate, other: KeyCandidate): boolean {
  return JSON.stringify([one.paths, one.derive]) === JSON.stringify([other.paths, other.derive]);
}

/** Splits at the commas outside quotes and braces. */
function levelsOf(text: string): string[] {
  const levels: string[] = [''];
  let quote = '';
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    const last = levels.length - 1;
    if (character === '\\' && quote !== '') {
      levels[last] += character + text.charAt(at + 1);
      at += 1;
      continue;
    }
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    if (character === ',' && quote === '' && depth === 0) levels.push('');
    else levels[last] += character;
  }
  return levels.map((level) => level.trim());
}

/** Returns where the template of a level begins, or 0 for a level that is only a path. */
function templateStart(level: string): number {
  let quote = '';
  for (let at = 0; at < level.length; at += 1) {
    const character = level.charAt(at);
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '=') return at + 1;
  }
  return 0;
}
