/**
 * Groups intents: all intents that are added in one turn of the event loop become durable with one sync of the disk. A
 * sync takes longer than writing the intents, so the intents of many ranges share one sync.
 */
import type { UnitStore } from './units.ts';
import type { SessionToken } from './session-tokens.ts';
import type { Intent } from './unit-records.ts';

interface Waiting {
  readonly intent: Intent;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Returns the session tokens that are new since the last transaction. Every transaction of intents records them. */
interface TokenSource {
  newTokens(): readonly SessionToken[];
}

export class IntentGroup {
  readonly #units: UnitStore;
  readonly #totals: TokenSource;
  #waiting: Waiting[] = [];

  constructor(units: UnitStore, totals: TokenSource) {
    this.#units = units;
    this.#totals = totals;
  }

  /** Adds an intent. When the promise resolves the intent is on the disk, and its writes may be sent. */
  async add(intent: Intent): Promise<void> {
    return new Promise((resolve, reject) => {
      // Other replies of this turn of the event loop may bring more pages, whose intents can share the sync.
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ intent, resolve, reject });
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.#units.intend(
        waiting.map(({ intent }) => intent),
        { tokens: this.#totals.newTokens() },
      );
    } catch (error) {
      for (const { reject } of waiting) reject(error);
      return;
    }
    for (const { resolve } of waiting) resolve();
  }
}
