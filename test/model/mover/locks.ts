/**
 * Owns the sequencer's locks: one operation in flight per identity and per slot. All of a set are taken
 * at once or none, so no order has to be kept and no deadlock is possible.
 */
export class Locks {
  readonly #held = new Set<string>();

  areFree(names: ReadonlySet<string>): boolean {
    return [...names].every((name) => !this.#held.has(name));
  }

  take(names: ReadonlySet<string>): void {
    for (const name of names) this.#held.add(name);
  }

  release(names: ReadonlySet<string>): void {
    for (const name of names) this.#held.delete(name);
  }
}
