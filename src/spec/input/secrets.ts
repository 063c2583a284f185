/** Finds secrets by their text, wherever they were pasted, and removes them from messages. */
import type { Problem } from '../../lib/errors.ts';

/** A shorter text is not a secret, and removing it would damage ordinary words. */
const LENGTH_MIN = 6;

export function holdsAny(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => secret.length >= LENGTH_MIN && text.includes(secret));
}

/** The problem without these secrets. */
export function redactSecrets(problem: Problem, secrets: readonly string[]): Problem {
  const clean = (text: string): string =>
    secrets
      .filter((secret) => secret.length >= LENGTH_MIN)
      .toSorted((one, other) => other.length - one.length)
      .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  return {
    from: clean(problem.from),
    message: clean(problem.message),
    why: clean(problem.why),
    hint: clean(problem.hint),
  };
}
