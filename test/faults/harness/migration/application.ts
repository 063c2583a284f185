/**
 * The application whose container is migrated: it creates, updates, moves, swaps, deletes, creates again and lets
 * expire, at a bounded rate, and never reads. Invariant: `onVersion` gets a text before it is sent, so
 * that no text can be found in a container that it has not seen.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { pick } from '../seed.ts';
import { ballastOf, DOCUMENT_BYTES_MAX, subjectsOf, textOf, type Shape, type Subject } from './documents.ts';
import type { Scenario } from './scenario.ts';
import { within } from '../../../helpers/wait.ts';
import type { WireContainer } from '../../../helpers/emulator/wire-container.ts';

/** How many writers there are; each does one thing at a time. */
const LANES = 3;
/** A reply that takes longer than this never comes. */
const PATIENCE_MS = 6_000;
const NO_ANSWER = 599;

export interface ApplicationOptions {
  readonly scenario: Scenario;
  readonly wire: WireContainer;
  readonly seed: number;
  readonly onVersion: (identity: string, text: string) => void;
}

export class Application {
  readonly #scenario: Scenario;
  readonly #wire: WireContainer;
  readonly #onVersion: (identity: string, text: string) => void;
  readonly #random: Random;
  readonly #subjects: readonly Subject[];
  /** Those that everybody is after. */
  readonly #hot: readonly Subject[];
  readonly answers: Record<string, number> = {};
  #version: number;

  constructor({ scenario, wire, seed, onVersion }: ApplicationOptions) {
    this.#scenario = scenario;
    this.#wire = wire;
    this.#onVersion = onVersion;
    this.#random = seededRandom(seed);
    this.#subjects = subjectsOf(scenario);
    this.#hot = [...this.#subjects].filter(() => this.#random.below(12) === 0).slice(0, 4);
    this.#version = seed * 1_000_000;
  }

  /** What is there before the migration begins. */
  async fill(): Promise<void> {
    const first = this.#subjects.filter(({ isSolo }) => isSolo || this.#random.below(3) > 0);
    const all = [...ballastOf(this.#scenario), ...first];
    let at = 0;
    const lane = async (): Promise<void> => {
      for (let subject = all[at]; subject !== undefined; subject = all[at]) {
        at += 1;
        await this.#send(subject, () => this.#create(subject, this.#shape(subject)));
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, () => this.#lane(signal)));
  }

  async #lane(signal: AbortSignal): Promise<void> {
    const pauseMs = (1_000 * LANES) / this.#scenario.writesPerSecond;
    while (!signal.aborted) {
      const beganAt = Date.now();
      const writes = await this.#act(signal);
      await delay(Math.max(0, pauseMs * writes - (Date.now() - beganAt)));
    }
  }

  /** Does one thing; returns the number of its writes. */
  async #act(signal: AbortSignal): Promise<number> {
    const random = this.#random;
    const subject = pick(random, this.#subjects);
    const dice = random.below(100);
    if (subject.isSolo) return this.#update(subject);
    if (dice < 20) return this.#send(subject, () => this.#create(subject, this.#shape(subject)));
    if (dice < 50) return this.#update(subject);
    if (dice < 62) return this.#remove(subject);
    if (dice < 70) return (await this.#remove(subject)) + (await this.#update(subject));
    if (dice < 78) return this.#swap(subject, pick(random, this.#subjects));
    if (dice < 88) return this.#inOneTransaction(subject);
    return this.#burst(signal);
  }

  #shape(subject: Subject): Shape {
    const { misfits, giants, ttl, deletes } = this.#scenario;
    const random = this.#random;
    const version = (this.#version += 1);
    if (subject.isSolo) return { version };
    const misfit =
      misfits && random.below(6) === 0
        ? pick(random, ['missing', 'composite', 'too-long', 'in-the-way'] as const)
        : undefined;
    // A key value of many bytes does not fit into what is left of two megabytes.
    const sizeBytes =
      giants && random.below(40) === 0 ? DOCUMENT_BYTES_MAX - pick(random, [20, 2_000, 700_000]) : undefined;
    return {
      version,
      isMortal: ttl !== 'none' && random.below(4) === 0,
      isMarked: deletes === 'marker' && random.below(10) === 0,
      ...(misfit === undefined ? {} : { misfit }),
      ...(sizeBytes === undefined ? {} : { sizeBytes }),
    };
  }

  #text(subject: Subject, shape: Shape): string {
    const text = textOf(this.#scenario, this.#random, subject, shape);
    this.#onVersion(subject.identity, text);
    return text;
  }

  #create(subject: Subject, shape: Shape): Promise<number> {
    const text = this.#text(subject, shape);
    return this.#answer(this.#wire.create(text, keyOf(subject)));
  }

  async #update(subject: Subject, group?: unknown): Promise<number> {
    const shape = { ...this.#shape(subject), ...(group === undefined ? {} : { group }) };
    return this.#send(subject, () => {
      const text = this.#text(subject, shape);
      const key = keyOf(subject);
      if (this.#random.below(2) === 0) return this.#answer(this.#wire.upsert(text, key));
      return this.#answer(this.#wire.replace(subject.id, text, key));
    });
  }

  #remove(subject: Subject): Promise<number> {
    if (this.#scenario.deletes === 'marker') {
      const shape = { ...this.#shape(subject), isMarked: true };
      return this.#send(subject, () => {
        const text = this.#text(subject, shape);
        return this.#answer(this.#wire.replace(subject.id, text, keyOf(subject)));
      });
    }
    return this.#send(subject, () => this.#answer(this.#wire.delete(subject.id, keyOf(subject))));
  }

  /** Two documents of one id take each other's place. */
  async #swap(one: Subject, other: Subject): Promise<number> {
    const twin =
      this.#subjects.find(({ id, identity }) => id === one.id && identity !== one.identity) ?? other;
    const [group, next] = [
      pick(this.#random, this.#scenario.groups),
      pick(this.#random, this.#scenario.groups),
    ];
    let writes = 0;
    for (const [subject, value] of [
      [one, group],
      [twin, next],
      [one, next],
      [twin, group],
    ] as const) {
      writes += await this.#update(subject, value);
    }
    return writes;
  }

  /** Several versions of one document under one LSN. */
  #inOneTransaction(subject: Subject): Promise<number> {
    const random = this.#random;
    const { id } = subject;
    const isMarker = this.#scenario.deletes === 'marker';
    const step = (): string => {
      if (!isMarker && random.below(3) === 0) return JSON.stringify({ operationType: 'Delete', id });
      const { sizeBytes: _none, ...shape } = this.#shape(subject);
      return `{"operationType":"Upsert","resourceBody":${this.#text(subject, shape)}}`;
    };
    const operations = Array.from({ length: 2 + random.below(2) }, step);
    return this.#send(subject, () =>
      this.#answer(this.#wire.batch(`[${operations.join(',')}]`, keyOf(subject))),
    );
  }

  /** One document to and fro, as fast as it goes. */
  async #burst(signal: AbortSignal): Promise<number> {
    const subject =
      this.#hot.length === 0 ? pick(this.#random, this.#subjects) : pick(this.#random, this.#hot);
    const times = 3 + this.#random.below(10);
    let writes = 0;
    for (; writes < times && !signal.aborted; writes += 1) await this.#update(subject);
    return writes;
  }

  /** A write whose answer is not needed: whether it happened does not matter. */
  async #send(subject: Subject, write: () => Promise<number>): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      const status = await write();
      // A solo is promised to be there.
      const isDone = status < 300 || (subject.isSolo ? status === 409 || status === 404 : status !== 429);
      if (isDone || attempt === 20) return attempt;
      await delay(5 * attempt);
    }
  }

  async #answer(reply: Promise<{ readonly status: number }>): Promise<number> {
    const status = await within(reply, PATIENCE_MS, 'a write').then(
      (answer) => answer.status,
      () => NO_ANSWER,
    );
    this.answers[status] = (this.answers[status] ?? 0) + 1;
    return status;
  }
}

function keyOf({ levels }: Subject): readonly unknown[] {
  return levels.map((level) => (level === undefined ? {} : level));
}
