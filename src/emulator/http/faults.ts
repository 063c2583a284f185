/**
 * Faults on request: the rules that a test sends with `PUT /_emulator/faults`. This module decides which request gets
 * which fault, and counts matches and faults. dispatch.ts applies the faults.
 *
 * Invariant: the same plan has the same effect on the same matching requests. Every rule has its own random generator,
 * so requests that match one rule do not affect another rule. A plan with an invalid field is refused as a whole; a
 * valid plan replaces the previous plan as a whole.
 */
import { type Random, seededRandom } from '../../lib/random.ts';
import { badRequest, Refusal } from './refusal.ts';

interface Armed {
  readonly rule: FaultRule;
  readonly random: Random;
  matched: number;
  fired: number;
}

/** The most rules in a plan. Every request is compared with every rule: more rules would slow the server down. */
const RULES_MAX = 1_000;
/** The longest delay: one day. Node's timers overflow at 24.8 days and then fire at once. */
const DELAY_MAX_MS = 86_400_000;
const COUNT_MAX = 1_000_000_000;
/** The most by which a date may be wrong: a year. */
const DATE_OFF_MAX_MS = 365 * 86_400_000;

export class Faults {
  #seed = 0;
  #armed: Armed[] = [];

  get active(): boolean {
    return this.#armed.length > 0;
  }

  /** Replaces all rules by those of a plan, `{seed?, rules}`. A Refusal 400 names the first invalid field. */
  set(plan: unknown): void {
    const { seed = 0, rules } = shape(PLAN)(plan, 'faults');
    if (rules === undefined) throw refuse('faults.rules', 'is missing');
    this.#seed = seed;
    this.#armed = rules.map((rule, index) => ({
      rule,
      // Multiples of the golden ratio give adjacent rules seeds that are far apart.
      random: seededRandom(seed ^ Math.imul(index + 1, 0x9e3779b9)),
      matched: 0,
      fired: 0,
    }));
  }

  clear(): void {
    this.#seed = 0;
    this.#armed = [];
  }

  /** Returns the effect of the first rule that matches the request and fires. Later rules do not count the request. */
  strike(target: FaultTarget): FaultEffect | undefined {
    return firstToFire(this.#armed, target);
  }

  /**
   * Returns the effect for one operation inside a bulk request. Such an operation can only be refused, so rules
   * without a status do not see it: they would count it and fire without any effect.
   */
  strikeOperation(target: FaultTarget): FaultEffect | undefined {
    return firstToFire(
      this.#armed.filter(({ rule }) => rule.effect.status !== undefined),
      target,
    );
  }

  state(): {
    seed: number;
    rules: (FaultRule & { matched: number; fired: number })[];
  } {
    const rules = this.#armed.map(({ rule, matched, fired }) => ({ ...rule, matched, fired }));
    return { seed: this.#seed, rules };
  }
}

function firstToFire(rules: readonly Armed[], target: FaultTarget): FaultEffect | undefined {
  return rules.find((armed) => matches(armed.rule.match, target) && fires(armed))?.rule.effect;
}

/** Returns the refusal that an effect asks for; undefined for an effect without a status. */
export function refusalFromFault(effect: FaultEffect | undefined): Refusal | undefined {
  if (effect?.status === undefined) return undefined;
  const { status, substatus, retryAfterMs, message = 'A fault rule refused this request.' } = effect;
  return new Refusal(status, message, { substatus, retryAfterMs });
}

function matches(match: FaultMatch, target: FaultTarget): boolean {
  return Object.entries(match).every(([name, wanted]) => target[name as keyof FaultTarget] === wanted);
}

function fires(armed: Armed): boolean {
  const { every = 1, probability = 1, times = Number.POSITIVE_INFINITY, after = 0 } = armed.rule;
  armed.matched += 1;
  const turn = armed.matched - after;
  if (turn <= 0 || turn % every !== 0 || armed.fired >= times) return false;
  if (probability < 1 && armed.random.next() >= probability) return false;
  armed.fired += 1;
  return true;
}

// Reading a plan. Each kind of object has one table of its fields, from which its type follows. A field that is not in
// the table is refused.

type Reader<T> = (value: unknown, where: string) => T;
type Shape = Readonly<Record<string, Reader<unknown>>>;
type Fields<S extends Shape> = { readonly [K in keyof S]?: ReturnType<S[K]> };

/** The values by which a rule selects requests. */
const MATCH = {
  op: oneOf([
    'read-feed',
    'batch',
    'create',
    'upsert',
    'replace',
    'patch',
    'delete',
    'read',
    'query',
    'pkranges',
    'account',
    'database',
    'container',
    'offer',
    'script',
  ]),
  db: text,
  coll: text,
  rangeId: text,
};

/** What a rule changes about a request and its answer. Fields that are left out change nothing. */
const EFFECT = {
  /** The status with which the request is refused. The operation is not done. */
  status: wholeNumber(200, 599),
  substatus: wholeNumber(0, 99_999),
  retryAfterMs: wholeNumber(0, DELAY_MAX_MS),
  message: text,
  delayMs: wholeNumber(0, DELAY_MAX_MS),
  /**
   * When the delay takes place. `before` (the default): before the operation, which is done even if the client has
   * disconnected by then. `after`: between the operation and its answer. `reply`: between the head of the answer and
   * its body.
   */
  delayAt: oneOf(['before', 'after', 'reply']),
  /**
   * `before`: the connection is cut, and the operation is not done. `after`: the operation is committed, then the
   * connection is cut.
   */
  reset: oneOf(['before', 'after']),
  /** The request gets no answer. The operation is not done (`before`), or it is committed (`after`). */
  hang: oneOf(['before', 'after']),
  body: oneOf(['empty', 'html', 'truncated']),
  /** Lower-case names of the headers that the answer lacks. */
  dropHeaders: listOf((name, where) => text(name, where).toLowerCase()),
  /** By how many milliseconds the date of the answer is wrong. */
  dateOffMs: wholeNumber(-DATE_OFF_MAX_MS, DATE_OFF_MAX_MS),
  /** Changes a list of ranges: the last range is missing, or the list is from before the latest split or merge. */
  pkranges: oneOf(['incomplete', 'stale']),
};

const RULE = {
  /** Values that a request must have. An empty `match` matches every request. */
  match: shape(MATCH),
  /** The rule fires at every Nth match only: the Nth, the 2Nth, the 3Nth, ... */
  every: wholeNumber(1, COUNT_MAX),
  /** The probability with which the rule fires at a match; with `every`, at every Nth match. */
  probability: (value: unknown, where: string) => {
    if (typeof value !== 'number' || !(value >= 0 && value <= 1))
      throw refuse(where, 'must be a number from 0 to 1');
    return value;
  },
  /** How many times the rule fires at most. */
  times: wholeNumber(1, COUNT_MAX),
  /** How many matches the rule ignores before it counts for `every`. */
  after: wholeNumber(0, COUNT_MAX),
  effect: readEffect,
};

const PLAN = {
  seed: wholeNumber(0, 0xffff_ffff),
  rules: listOf(readRule, RULES_MAX),
};

type FaultMatch = Fields<typeof MATCH>;
export type FaultOp = NonNullable<FaultMatch['op']>;
export type FaultTarget = FaultMatch & { readonly op: FaultOp };
export type FaultEffect = Fields<typeof EFFECT>;
export type FaultRule = Fields<typeof RULE> & { readonly match: FaultMatch; readonly effect: FaultEffect };

function readRule(value: unknown, where: string): FaultRule {
  const { match = {}, effect, ...when } = shape(RULE)(value, where);
  if (effect === undefined) throw refuse(`${where}.effect`, 'is missing');
  return Object.freeze({ match, ...when, effect });
}

function readEffect(value: unknown, where: string): FaultEffect {
  const effect = shape(EFFECT)(value, where);
  const needs = (field: keyof FaultEffect, other: keyof FaultEffect): void => {
    if (effect[field] !== undefined && effect[other] === undefined)
      throw refuse(`${where}.${field}`, `needs ${other} as well`);
  };
  needs('substatus', 'status');
  needs('retryAfterMs', 'status');
  needs('message', 'status');
  needs('delayAt', 'delayMs');
  if (effect.reset !== undefined && effect.hang !== undefined)
    throw refuse(`${where}.hang`, 'cannot be combined with reset');
  if (Object.keys(effect).length === 0) throw refuse(where, 'is empty');
  return effect;
}

function shape<S extends Shape>(fields: S): Reader<Fields<S>> {
  return (value, where) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw refuse(where, 'must be an object');
    const entries = Object.entries(value).map(([name, raw]: [string, unknown]) => {
      const read = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (read !== undefined) return [name, read(raw, `${where}.${name}`)];
      throw refuse(`${where}.${name}`, `is unknown; known are ${Object.keys(fields).join(', ')}`);
    });
    return Object.freeze(Object.fromEntries(entries)) as Fields<S>;
  };
}

function wholeNumber(least: number, most: number): Reader<number> {
  return (value, where) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
      throw refuse(where, `must be a whole number from ${least} to ${most}`);
    return value;
  };
}

function oneOf<const T extends string>(choices: readonly T[]): Reader<T> {
  return (value, where) => {
    const choice = choices.find((each) => each === value);
    if (choice === undefined) throw refuse(where, `must be one of ${choices.join(', ')}`);
    return choice;
  };
}

function text(value: unknown, where: string): string {
  if (typeof value !== 'string' || value === '') throw refuse(where, 'must be a string that is not empty');
  return value;
}

function listOf<T>(read: Reader<T>, most = Infinity): Reader<readonly T[]> {
  return (value, where) => {
    if (!Array.isArray(value)) throw refuse(where, 'must be an array');
    if (value.length > most) throw refuse(where, `must have at most ${most} entries`);
    return value.map((one, index) => read(one, `${where}[${index}]`));
  };
}

function refuse(where: string, rule: string): Refusal {
  return badRequest(`${where} ${rule}`);
}
