/** A page of a feed while its documents are under way: how many have no outcome yet, and what its commit will say. */
import { orAborted } from '../../lib/abort.ts';
import type { RunContext } from '../context.ts';
import type { UnitOfWork } from './unit-of-work.ts';

export abstract class PageWork {
  readonly unit: UnitOfWork;
  readonly #context: RunContext;
  #open = 0;
  #ended = 0;
  #done = (): void => {};
  readonly #whenDone = new Promise<void>((resolve) => (this.#done = resolve));

  constructor(context: RunContext, unit: UnitOfWork) {
    this.#context = context;
    this.unit = unit;
  }

  /** INTENT, and then every document on its way. */
  abstract begin(): Promise<void>;

  /** The number of an outcome for each document of the page's segments. */
  get outcomes(): readonly number[] | Float64Array {
    return [];
  }

  /** So many will have an outcome. */
  expect(documents: number): void {
    this.#open += documents;
    this.#context.backlog.expect(documents);
    if (this.#open === 0) this.#done();
  }

  /** One has. */
  complete(): void {
    this.#open -= 1;
    this.#ended += 1;
    this.#context.tally.uncommitted += 1;
    this.#context.backlog.end();
    if (this.#open === 0) this.#done();
  }

  /** The page was committed, and its documents are counted with it. */
  committed(): void {
    this.#context.tally.uncommitted -= this.#ended;
    this.#ended = 0;
  }

  /** Every outcome is known. */
  async whenDone(): Promise<void> {
    await orAborted(this.#whenDone, this.#context.signal);
  }

  /** A task whose end is the outcome of one document. */
  start(task: () => Promise<void>): void {
    this.#context.start(async () => {
      await task();
      this.complete();
    });
  }
}
