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

const OPS = [
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
] as const;

export type FaultOp = (typeof OPS)[number];

export interface FaultTarget {
  readonly op: FaultOp;
  readonly db?: string;
  readonly coll?: string;
  readonly rangeId?: string;
}

/** What a rule changes about a request and its answer. Fields that are left out change nothing. */
export interface FaultEffect {
  /** The status with which the request is refused. The operation is not done. */
  readonly status?: number;
  readonly substatus?: number;
  readonly retryAfterMs?: number;
  readonly message?: string;
  readonly delayMs?: number;
  /**
   * When the delay takes place. `before` (the default): before the operation, which is done even if the client has
   * disconnected by then. `after`: between the operation and its answer. `reply`: between the head of the answer and
   * its body.
   */
  readonly delayAt?: 'before' | 'after' | 'reply';
  /** The connection is cut before the operation is done, or after it is committed. */
  readonly reset?: 'before' | 'after';
  /** The request gets no answer. The operation is not done (`before`), or it is committed (`after`). */
  readonly hang?: 'before' | 'after';
  readonly body?: 'empty' | 'html' | 'truncated';
  /** Lower-case names of the headers that the answer lacks. */
  readonly dropHeaders?: readonly string[];
  /** By how many milliseconds the date of the answer is wrong. */
  readonly dateOffMs?: number;
  /** Changes a list of ranges: the last range is missing, or the list is from before the latest split or merge. */
  readonly pkranges?: 'incomplete' | 'stale';
}

export interface FaultRule {
  /** Values that a request must have. An empty `match` matches every request. */
  readonly match: Partial<FaultTarget>;
  /** The rule fires at every Nth match only: the Nth, the 2Nth, the 3Nth, ... */
  readonly every?: number;
  /** The probability with which the rule fires at a match; with `every`, at every Nth match. */
  readonly probability?: number;
  /** How many times the rule fires at most. */
  readonly times?: number;
  /** How many matches the rule ignores before it counts for `every`. */
  readonly after?: number;
  readonly effect: FaultEffect;
}

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
    const { seed = 0, rules } = readShape(plan, 'faults', PLAN);
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

function matches(match: Partial<FaultTarget>, target: FaultTarget): boolean {
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

// Reading a plan. Each kind of object has one table of its fields, which the compiler keeps complete. A field that is
// not in the table is refused.

type Reader<T> = (value: unknown, where: string) => T;
type Shape<T> = { readonly [K in keyof T]-?: Reader<Exclude<T[K], undefined>> };

interface Plan {
  readonly seed?: number;
  readonly rules?: readonly FaultRule[];
}

const MATCH: Shape<FaultTarget> = { op: oneOf(OPS), db: text, coll: text, rangeId: text };

const EFFECT: Shape<FaultEffect> = {
  status: wholeNumber(200, 599),
  substatus: wholeNumber(0, 99_999),
  retryAfterMs: wholeNumber(0, DELAY_MAX_MS),
  message: text,
  delayMs: wholeNumber(0, DELAY_MAX_MS),
  delayAt: oneOf(['before', 'after', 'reply']),
  reset: oneOf(['before', 'after']),
  hang: oneOf(['before', 'after']),
  body: oneOf(['empty', 'html', 'truncated']),
  dropHeaders: (value, where) =>
    listOf(value, where).map((name, index) => text(name, `${where}[${index}]`).toLowerCase()),
  dateOffMs: wholeNumber(-DATE_OFF_MAX_MS, DATE_OFF_MAX_MS),
  pkranges: oneOf(['incomplete', 'stale']),
};

const RULE: Shape<FaultRule> = {
  match: (value, where) => readShape<FaultTarget>(value, where, MATCH),
  every: wholeNumber(1, COUNT_MAX),
  probability: (value, where) => {
    if (typeof value !== 'number' || !(value >= 0 && value <= 1))
      throw refuse(where, 'must be a number from 0 to 1');
    return value;
  },
  times: wholeNumber(1, COUNT_MAX),
  after: wholeNumber(0, COUNT_MAX),
  effect: readEffect,
};

const PLAN: Shape<Plan> = {
  seed: wholeNumber(0, 0xffff_ffff),
  rules: (value, where) => {
    const rules = listOf(value, where);
    if (rules.length > RULES_MAX) throw refuse(where, `must have at most ${RULES_MAX} entries`);
    return rules.map((rule, index) => readRule(rule, `${where}[${index}]`));
  },
};

function readRule(value: unknown, where: string): FaultRule {
  const { match = {}, effect, ...when } = readShape<FaultRule>(value, where, RULE);
  if (effect === undefined) throw refuse(`${where}.effect`, 'is missing');
  return Object.freeze({ match, ...when, effect });
}

function readEffect(value: unknown, where: string): FaultEffect {
  const effect = readShape<FaultEffect>(value, where, EFFECT);
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

function readShape<T extends object>(value: unknown, where: string, shape: Shape<T>): Partial<T> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(where, 'must be an object');
  const result: Partial<T> = {};
  for (const [name, raw] of Object.entries(value)) {
    if (!Object.hasOwn(shape, name))
      throw refuse(`${where}.${name}`, `is unknown; known are ${Object.keys(shape).join(', ')}`);
    const field = name as keyof T & string; // hasOwn has just found the name in the shape
    result[field] = shape[field](raw, `${where}.${name}`);
  }
  return Object.freeze(result);
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
  if (typeof value !== 'string' || value === '') throw refuse(where, 'must be a text that is not empty');
  return value;
}

function listOf(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw refuse(where, 'must be an array');
  return value;
}

function refuse(where: string, rule: string): Refusal {
  return badRequest(`${where} ${rule}`);
}
