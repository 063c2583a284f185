/** Finds secrets in any text by comparing it with the known secrets, and removes them from messages. */
import { mapProblem, type Problem } from '../../lib/errors.ts';

/** The minimum length of a secret in characters. Removing a shorter text would damage ordinary words. */
const LENGTH_MIN = 6;

export function holdsAny(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => secret.length >= LENGTH_MIN && text.includes(secret));
}

/** Returns the problem with the secrets removed from its texts. */
export function redactSecrets(problem: Problem, secrets: readonly string[]): Problem {
  const clean = (text: string): string =>
    secrets
      .filter((secret) => secret.length >= LENGTH_MIN)
      .toSorted((one, other) => other.length - one.length)
      .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  return mapProblem(problem, clean);
}
