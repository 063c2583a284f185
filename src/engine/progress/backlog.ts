/**
 * The documents in flight: those that were read and have no outcome yet. Measures how fast documents get their
 * outcomes, and admits only as many as the target takes within DRAIN_MS. Invariant: however slow the target is, a run
 * that stops reading is done about DRAIN_MS later, and a crash leaves no more documents to settle than the target takes
 * in that time. A page with even more documents is admitted when nothing else is in flight.
 */
import { orAborted } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';

/**
 * How long the documents in flight should take. Short, because Kubernetes kills a process 30 s after asking it to stop.
 */
const DRAIN_MS = 5000;
/** The assumed charge of a document in RU, until the speed is measured: a create is cheaper, a move dearer. */
const DOCUMENT_RU = 10;
/** The assumed RU/s of a target that does not report its RU/s, until its speed is measured. */
const UNKNOWN_RU = 1000;
/**
 * A measurement lasts at least SAMPLE_MS, because the service grants RU by the second, and has at least
 * SAMPLE_DOCUMENTS.
 */
const SAMPLE_MS = 1000;
const SAMPLE_DOCUMENTS = 10;
/** The factor by which one measurement may raise the rate, because the service may let through a short burst. */
const GROWTH_MAX = 2;
/** The weight of a new measurement that is slower than the rate so far. */
const FOLLOW = 0.5;
/**
 * Limits how far a slow measurement that has not ended raises `drainMs`: to this many times the duration of the first
 * measurement so far, or later to this many times what the last measurement gives. Otherwise a slow start could end a
 * run that has just begun.
 */
const ESTIMATE_MAX = 4;
/**
 * The lowest limit of documents in flight, and the fewest documents of a page: smaller pages would not be worth a
 * request.
 */
const FEWEST = 10;
/** The most documents of a page. */
const PAGE_MOST = 1000;
/** How many pages the documents in flight are divided into, so that the first is committed long before the last. */
const PAGES = 4;

export class Backlog {
  readonly #clock: Clock;
  /** Documents that have their outcome, while their page is not committed yet. The counters do not include them. */
  uncommitted = 0;
  /** Documents per second: estimated from the RU/s of the target until the first measurement ends. */
  #rate: number;
  #isMeasured = false;
  #open = 0;
  /**
   * Documents that got their outcome in the current measurement. It began at `#sinceMs`, which `#count` moves forward
   * by the time in which nothing was in flight.
   */
  #ended = 0;
  #sinceMs: number;
  #emptyMs: number;
  readonly #line: Array<{ readonly documents: number; readonly go: () => void }> = [];

  /** `ruPerSecond`: what the run may spend of the target; undefined if that is not known. */
  constructor(clock: Clock, ruPerSecond: number = UNKNOWN_RU) {
    this.#clock = clock;
    this.#rate = ruPerSecond / DOCUMENT_RU;
    this.#sinceMs = this.#emptyMs = clock.monotonicMs();
  }

  /** How many documents are in flight. */
  get open(): number {
    return this.#open;
  }

  /** How many documents may be in flight. */
  get documentsMax(): number {
    return Math.max(FEWEST, Math.floor((this.#rate * DRAIN_MS) / 1000));
  }

  /** How many documents the next page should have. */
  get pageDocuments(): number {
    return Math.max(FEWEST, Math.min(PAGE_MOST, Math.floor(this.documentsMax / PAGES)));
  }

  /** Waits until these documents may be in flight, and counts them. Callers are admitted in the order of their calls. */
  async admit(documents: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#line.length === 0 && this.#fits(documents)) return this.#count(documents);
    const { promise, resolve: go } = deferred();
    const waiting = { documents, go };
    this.#line.push(waiting);
    try {
      await orAborted(promise, signal);
    } catch (error) {
      const at = this.#line.indexOf(waiting);
      if (at >= 0) this.#line.splice(at, 1);
      this.#letIn();
      throw error;
    }
  }

  /** Counts documents that have their outcome. */
  end(documents = 1): void {
    this.#open -= documents;
    this.#ended += documents;
    this.uncommitted += documents;
    this.#measure();
    if (this.#open === 0) this.#emptyMs = this.#clock.monotonicMs();
    this.#letIn();
  }

  /** Counts documents whose outcomes are committed. */
  commit(documents: number): void {
    this.uncommitted -= documents;
  }

  /** The estimated time until no document is in flight, if no more are admitted. */
  get drainMs(): number {
    if (this.#open === 0) return 0;
    const passedMs = this.#passedMs();
    const now = passedMs <= 0 ? Infinity : (this.#ended * 1000) / passedMs;
    if (!this.#isMeasured)
      return this.#ended === 0 ? passedMs : Math.min((this.#open / now) * 1000, passedMs * ESTIMATE_MAX);
    // If the current measurement is long already because few documents have ended, the last measured rate is too high.
    const rate =
      passedMs < SAMPLE_MS ? this.#rate : Math.max(this.#rate / ESTIMATE_MAX, Math.min(this.#rate, now));
    return (this.#open / rate) * 1000;
  }

  #fits(documents: number): boolean {
    return this.#open === 0 || this.#open + documents <= this.documentsMax;
  }

  #count(documents: number): void {
    // Time in which nothing was in flight says nothing about the speed of the target.
    if (this.#open === 0) this.#sinceMs += this.#clock.monotonicMs() - this.#emptyMs;
    this.#open += documents;
  }

  #letIn(): void {
    for (
      let first = this.#line[0];
      first !== undefined && this.#fits(first.documents);
      first = this.#line[0]
    ) {
      this.#line.shift();
      this.#count(first.documents);
      first.go();
    }
  }

  #passedMs(): number {
    return this.#clock.monotonicMs() - this.#sinceMs;
  }

  /** Ends a measurement that is long enough. */
  #measure(): void {
    const passedMs = this.#passedMs();
    if (passedMs < SAMPLE_MS || this.#ended < SAMPLE_DOCUMENTS) return;
    const measured = (this.#ended * 1000) / passedMs;
    const isFaster = measured > this.#rate;
    this.#rate = isFaster
      ? Math.min(measured, this.#rate * GROWTH_MAX)
      : this.#rate + (measured - this.#rate) * FOLLOW;
    this.#isMeasured = true;
    this.#ended = 0;
    this.#sinceMs = this.#clock.monotonicMs();
  }
}
