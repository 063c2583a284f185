/** Finds the candidate that an operator means: by its number in the result, or by its text. */
import { UsageError } from '../../lib/errors.ts';
import type { KeyCandidate } from './candidate.ts';

/** Throws a UsageError if there is no such candidate, or if it is the present key. */
export function chooseCandidate<T extends Pick<KeyCandidate, 'key'> & { readonly current: boolean }>(
  text: string,
  candidates: readonly T[],
): T {
  const others = candidates.filter(({ current }) => !current);
  const found = /^\d+$/.test(text) ? others[Number(text) - 1] : others.find(({ key }) => key === text);
  if (found !== undefined) return found;
  const isPresent = candidates.some(({ current, key }) => current && (text === 'now' || key === text));
  throw new UsageError(`--write-config ${text} is not a candidate`, {
    why: isPresent
      ? 'it is the present key, and a migration goes to another one'
      : `the candidates are ${others.map(({ key }, at) => `${at + 1}: ${key}`).join(', ')}`,
    hint: `give a number from 1 to ${others.length}, or the candidate as it is shown`,
  });
}
