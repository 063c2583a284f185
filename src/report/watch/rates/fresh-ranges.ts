/**
 * Which physical partitions have come from a split or a merge a moment ago, as seen by a page that is open. Invariant:
 * those that are there at the first look are not new.
 */
import type { MigrationFacts } from '../facts.ts';
import type { FreshSides } from '../ranges.ts';

/** For how long a partition counts as new: long enough to be noticed. */
const FRESH_FOR_MS = 30_000;

export class FreshRanges {
  #sides = { source: new FirstSeen(), target: new FirstSeen() };
  #ledger: string | undefined;

  add({ status, report }: MigrationFacts, nowMs: number): void {
    // The next turn reads the other container, whose partitions are not new because of that.
    if (this.#ledger !== status.ledger) this.#sides = { source: new FirstSeen(), target: new FirstSeen() };
    this.#ledger = status.ledger;
    const { source, target } = this.#sides;
    source.add(status.ranges, nowMs);
    target.add(report?.target.ranges ?? [], nowMs);
  }

  at(nowMs: number): FreshSides {
    const { source, target } = this.#sides;
    return { source: source.at(nowMs), target: target.at(nowMs) };
  }
}

/** When each partition of one side was first seen. */
class FirstSeen {
  /** Null: it was there at the first look. */
  #since = new Map<string, number | null>();

  add(ranges: ReadonlyArray<{ readonly id: string }>, nowMs: number): void {
    const first = this.#since.size === 0 ? null : nowMs;
    this.#since = new Map(
      ranges.map(({ id }) => [id, this.#since.has(id) ? (this.#since.get(id) ?? null) : first]),
    );
  }

  at(nowMs: number): ReadonlySet<string> {
    const fresh = [...this.#since].filter(
      ([, sinceMs]) => sinceMs !== null && nowMs - sinceMs < FRESH_FOR_MS,
    );
    return new Set(fresh.map(([id]) => id));
  }
}
