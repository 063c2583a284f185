/**
 * Collects what each transaction of a unit of work records for the whole run: the session tokens that are new since the
 * last transaction, and what both sides have cost since then. Invariant: each token and each whole RU goes into one
 * transaction only.
 */
import type { Side } from '../../cosmos/side.ts';
import type { SessionToken } from '../../state/session-tokens.ts';
import type { Alongside } from '../../state/unit-records.ts';
import type { Counts } from '../progress/counters.ts';

type CountedSide = Pick<Side, 'sessions' | 'governor'>;

export class RunTotals {
  readonly #source: CountedSide;
  readonly #target: CountedSide;
  readonly #counted = { ruSource: 0, ruTarget: 0, throttled: 0 };

  constructor(source: CountedSide, target: CountedSide) {
    this.#source = source;
    this.#target = target;
  }

  /** Returns the new session tokens of the source. Every INTENT records them. */
  newTokens(): readonly SessionToken[] {
    return this.#source.sessions.takeNew();
  }

  /** Returns what every COMMIT records: new session tokens of both sides, new costs, and these counts. */
  alongside(counts: Counts): Alongside {
    return {
      tokens: this.newTokens(),
      targetTokens: this.#target.sessions.takeNew(),
      counters: { ...counts, ...this.newCosts() },
    };
  }

  /** Returns the costs that are new since the last transaction: for one without a COMMIT, which takes no tokens. */
  newCosts(): Readonly<Record<string, number>> {
    const [source, target] = [this.#source.governor, this.#target.governor];
    const counted = this.#counted;
    const ruSource = Math.floor(source.budget.spentRu) - counted.ruSource;
    const ruTarget = Math.floor(target.budget.spentRu) - counted.ruTarget;
    const throttled = source.throttled + target.throttled - counted.throttled;
    counted.ruSource += ruSource;
    counted.ruTarget += ruTarget;
    counted.throttled += throttled;
    return { ruSource, ruTarget, throttled };
  }
}
