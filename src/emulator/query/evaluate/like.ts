/**
 * Matches LIKE patterns: `%` stands for any characters, `_` for any single code unit, `[a-f]` and `[^a-f]` for one code
 * unit of a set or outside it. An escape character makes the next character literal.
 *
 * Invariant: matching never recurses, backtracks to the last `%` only, and takes a number of steps that grows with the
 * length of the text and not with that of the pattern. A match that needs more steps is refused.
 */
import { Refusal } from '../../http/refusal.ts';

/**
 * How many steps a match may take for each unit of the text. A match needs that many only if long parts of the pattern
 * match at most positions of the text, such as a thousand letters `a` in a text that has no others.
 */
const STEPS_PER_UNIT = 64;
/** The steps that a match may take in addition, so that a short text is not refused. */
const STEPS_MIN = 10_000;

type Matcher = (unit: string) => boolean;
type Part = 'run' | Matcher;

export function likeMatcher(pattern: string, escape: string | undefined): (text: string) => boolean {
  const parts = readParts(pattern, escape);
  return (text) => matches(parts, text);
}

function readParts(pattern: string, escape: string | undefined): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const unit = pattern.charAt(at);
    if (unit === escape && at + 1 < pattern.length) {
      at++;
      parts.push(exactly(pattern.charAt(at)));
    } else if (unit === '%') {
      if (parts.at(-1) !== 'run') parts.push('run');
    } else if (unit === '_') {
      parts.push(() => true);
    } else {
      // A `[` without a `]` after it is literal.
      const close = unit === '[' ? pattern.indexOf(']', at + 1) : -1;
      if (close > at + 1) {
        parts.push(oneOf(pattern.slice(at + 1, close)));
        at = close;
      } else parts.push(exactly(unit));
    }
  }
  return parts;
}

function exactly(wanted: string): Matcher {
  return (unit) => unit === wanted;
}

function oneOf(set: string): Matcher {
  const negated = set.startsWith('^');
  const members = negated ? set.slice(1) : set;
  const ranges: { readonly low: string; readonly high: string }[] = [];
  for (let at = 0; at < members.length; at++) {
    const low = members.charAt(at);
    const isRange = members.charAt(at + 1) === '-' && at + 2 < members.length;
    ranges.push({ low, high: isRange ? members.charAt(at + 2) : low });
    if (isRange) at += 2;
  }
  return (unit) => ranges.some((range) => unit >= range.low && unit <= range.high) !== negated;
}

function matches(parts: readonly Part[], text: string): boolean {
  let part = 0;
  let at = 0;
  let retryPart = -1;
  let retryAt = 0;
  let stepsLeft = STEPS_MIN + STEPS_PER_UNIT * text.length;
  while (at < text.length) {
    if (stepsLeft-- === 0) throw tooManySteps(text);
    const wanted = parts[part];
    if (wanted === 'run') {
      retryPart = ++part;
      retryAt = at;
    } else if (wanted?.(text.charAt(at)) === true) {
      part++;
      at++;
    } else if (retryPart >= 0) {
      part = retryPart;
      at = ++retryAt;
    } else return false;
  }
  if (parts[part] === 'run') part++;
  return part === parts.length;
}

function tooManySteps(text: string): Refusal {
  return new Refusal(
    400,
    `The LIKE pattern takes more than ${STEPS_MIN + STEPS_PER_UNIT * text.length} steps on a text of ${text.length} ` +
      'characters. This emulator refuses it: shorten the parts between the % signs.',
  );
}
