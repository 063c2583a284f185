/**
 * Owns the sequencer's locks: one operation in flight per identity and per slot. All of a set are taken
 * at once or none, so there is no order to keep and no deadlock to fear.
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
