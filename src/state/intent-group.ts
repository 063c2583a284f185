/**
 * Groups intents: all that are added in one turn of the event loop become durable with one sync. So many ranges can share the
 * disk: a sync costs more than the intents it covers.
 */
import type { PageStore } from './units.ts';
import type { SessionToken } from './session-tokens.ts';
import type { Intent } from './unit-records.ts';

interface Waiting {
  readonly intent: Intent;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Session tokens that are new since the last transaction: they go with every intent. */
interface TokenSource {
  newTokens(): readonly SessionToken[];
}

export class IntentGroup {
  readonly #pages: PageStore;
  readonly #totals: TokenSource;
  #waiting: Waiting[] = [];

  constructor(pages: PageStore, totals: TokenSource) {
    this.#pages = pages;
    this.#totals = totals;
  }

  /** Resolves when the intent is on the disk: then its writes may be sent. */
  async add(intent: Intent): Promise<void> {
    return new Promise((resolve, reject) => {
      // After the replies of this turn, which may bring more pages.
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ intent, resolve, reject });
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.#pages.intend(
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
