/**
 * Records in the ledger when this process last began a request to the target, so that the run after a crash waits only
 * for what is left of the time in which that request may take effect. Invariant: no request begins later than
 * NOTED_FOR_MS after the moment in the ledger. A process that was suspended records the moment again before it sends
 * anything.
 *
 * The moment is read from the machine's monotonic clock. Neither setting the clock of the machine nor suspending the
 * machine makes the time since then look longer than it is. If two moments cannot be compared, the run waits the whole
 * time.
 */
import type { LastRequest, MachineMoment, RunStore } from '../../state/runs.ts';
import { msBetween } from './machine-time.ts';

/** For how long a recorded moment covers requests. With a shorter time the ledger would be written more often. */
const NOTED_FOR_MS = 1000;

export class RequestNotes {
  readonly #runs: Pick<RunStore, 'noteRequest'>;
  readonly #now: () => MachineMoment | null;
  #noted: LastRequest | null = null;

  constructor(runs: Pick<RunStore, 'noteRequest'>, now: () => MachineMoment | null) {
    this.#runs = runs;
    this.#now = now;
  }

  /** Called before each request to the target. */
  note(): void {
    const now = this.#now();
    const noted = this.#noted;
    if (now === null) {
      if (noted !== 'unknown') this.#record('unknown');
      return;
    }
    const passedMs = typeof noted === 'string' ? null : msBetween(noted, now);
    if (passedMs === null || passedMs >= NOTED_FOR_MS) this.#record(now);
  }

  /** Called when every request has been answered, so that nothing can take effect any longer. */
  allAnswered(): void {
    if (this.#noted !== null) this.#record('answered');
  }

  #record(noted: LastRequest): void {
    this.#runs.noteRequest(noted);
    this.#noted = noted;
  }
}

/**
 * Returns how long to wait until no request of the last run can take effect. `last` is what that run recorded; null if it
 * recorded nothing. A request that has begun may be sent until it times out, and may take effect for as long again. But
 * the process has ended, so one timeout from now is always enough.
 */
export function waitAfter(
  last: LastRequest | null,
  { now, requestTimeoutMs }: { readonly now: MachineMoment | null; readonly requestTimeoutMs: number },
): number {
  if (last === 'answered') return 0;
  const passedMs = last === 'unknown' ? null : msBetween(last, now);
  if (passedMs === null) return requestTimeoutMs;
  return Math.max(0, Math.min(requestTimeoutMs, NOTED_FOR_MS + 2 * requestTimeoutMs - passedMs));
}
