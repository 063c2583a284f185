/** A dispatcher with a target and a clock that a test controls. */
import { Governor } from '../../../../src/cosmos/load/governor.ts';
import { Patience } from '../../../../src/cosmos/load/retry.ts';
import { OPERATIONS_MAX } from '../../../../src/cosmos/bulk/batch-request.ts';
import { RequestBodies, type Batch } from '../../../../src/cosmos/bulk/batcher.ts';
import {
  madeText,
  type BatchReply,
  type OperationEnd,
  type OperationResult,
  type RangeOperation,
  type RefusalKind,
  type Refused,
} from '../../../../src/cosmos/bulk/operation.ts';
import { RangeDispatcher, type DispatcherParts } from '../../../../src/cosmos/bulk/dispatcher.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { TextRun } from './text-run.ts';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';

/** A request that waits for its reply. */
export interface Request {
  readonly range: string;
  readonly numbers: readonly number[];
  /** Whether the request has only runs, so that one reply may stand for all operations. */
  readonly hasOnlyRuns: boolean;
  readonly sentMs: number;
  reply(reply: BatchReply<number>): void;
  fail(error: Error): void;
}

export const PLACES = 64;

/** The value of each operation of a run that was answered as a whole. */
const CREATED = 201;

type LoadControl = DispatcherParts<number>['side']['governor'];

const ADMITS_ALL: LoadControl = { operationsMax: () => OPERATIONS_MAX, admit: () => 'go', observe: () => {} };

export class Lab {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly stop = new AbortController();
  readonly requests: Request[] = [];
  readonly outcomes = new Map<number, OperationEnd<number>[]>();
  readonly dispatcher: RangeDispatcher<number>;
  refreshes = 0;
  /** Where ranges begin, as we know it and as it is. */
  known = [0];
  actual = [0];
  readonly #bodies = new RequestBodies();
  #numbers = 0;

  constructor({ seed = 1, governor }: { seed?: number; governor?: Partial<LoadControl> | 'real' } = {}) {
    this.random = seededRandom(seed);
    const { clock, random } = this;
    this.dispatcher = new RangeDispatcher({
      side: {
        ranges: this,
        governor: governor === 'real' ? new Governor({ clock, random }) : { ...ADMITS_ALL, ...governor },
        patience: new Patience({ clock, random }),
      },
      executor: { execute: async (range, batch) => this.#send(range, batch) },
      clock,
    });
  }

  /** The number of the operation that was made last. */
  get added(): number {
    return this.#numbers;
  }

  get timers(): number {
    return this.clock.sleepers;
  }

  rangeOf(place: string): string {
    return `r${this.known.filter((start) => start <= Number(place)).at(-1)}/${this.known.length}`;
  }

  async refresh(): Promise<void> {
    this.refreshes += 1;
    await this.clock.sleep(10, this.stop.signal);
    this.known = this.actual;
  }

  isThere(range: string): boolean {
    return this.actual.some((start) => range === `r${start}/${this.actual.length}`);
  }

  operation(
    place: number,
    onEnd: (outcome: OperationEnd<number>) => void = () => {},
  ): RangeOperation<number> {
    const number = (this.#numbers += 1);
    return {
      ...madeText(Buffer.from(String(number))),
      effectiveKey: String(place),
      isRead: false,
      complete: (outcome) => {
        this.outcomes.set(number, [...(this.outcomes.get(number) ?? []), outcome]);
        onEnd(outcome);
      },
    };
  }

  /** Adds one; gives its number. */
  add(place = 0): number {
    this.dispatcher.add(this.operation(place));
    return this.#numbers;
  }

  /** Adds operations as a run to the range that we know for the place of the first; returns how many. */
  addRun(places: readonly number[]): number {
    const range = this.rangeOf(String(places[0]));
    const there = places.filter((place) => this.rangeOf(String(place)) === range);
    const created = (operations: readonly RangeOperation<number>[]): void => {
      for (const operation of operations) operation.complete({ is: 'done', value: CREATED });
    };
    this.dispatcher.addRun(
      range,
      new TextRun(
        there.map((place) => this.operation(place)),
        created,
      ),
    );
    return there.length;
  }

  /** How an operation ended. */
  outcome(number: number): string {
    return (this.outcomes.get(number) ?? []).map(({ is }) => is).join();
  }

  /** The oldest request, which is then ours to answer. */
  take(): Request {
    const [request] = this.requests.splice(0, 1);
    if (request === undefined) throw new Error('nothing was sent');
    return request;
  }

  async advance(deltaMs: number): Promise<void> {
    await settled();
    this.clock.advance(deltaMs);
    await settled();
  }

  async #send(range: string, batch: Batch<RangeOperation<number>>): Promise<BatchReply<number>> {
    const body = this.#bodies.make(batch).bytes;
    const hasOnlyRuns = batch.onlyRuns !== undefined;
    const numbers = JSON.parse(Buffer.from(body).toString()) as number[];
    return new Promise((reply, fail) => {
      this.requests.push({ range, numbers, hasOnlyRuns, sentMs: this.clock.now(), reply, fail });
    });
  }
}

/** Lets everything that was woken reach its next wait. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

export const done = (request: Request): BatchReply<number> => ({
  chargeRu: request.numbers.length,
  results: request.numbers.map((value): OperationResult<number> => ({ is: 'done', value })),
});

/** Nothing of it has happened. */
export const refused = (
  kind: RefusalKind,
  hint: { retryAfterMs?: number; cause?: unknown } = {},
): Refused => ({
  is: 'refused',
  kind,
  trouble: { kind, status: 0, substatus: 0, what: `it is ${kind}`, chargeRu: 0, ...hint },
});

export const throttled = (retryAfterMs: number): Refused => refused('throttled', { retryAfterMs });
