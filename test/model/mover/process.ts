/**
 * Owns one run of the mover: everything a crash forgets. Outcomes live here until their page commits,
 * and a commit writes what is newest by then, because a later task may have superseded it.
 */
import type { BackMutation } from '../back/mutations.ts';
import type { Mutation } from '../mutations.ts';
import { PLACES, placeOf, type Identity, type Lag, type Slot, type Version } from '../source.ts';
import type { World } from '../world.ts';
import type { Event } from './event.ts';
import type { Ledger, Letter, Override, Row } from './ledger.ts';
import { Locks } from './locks.ts';
import { STEP, type Steps, type Task } from './task.ts';

export interface Freed {
  readonly slot: Slot;
  /** Else it only changed its document, which may have freed a unique value. */
  readonly emptied: boolean;
}

export class Process {
  readonly world: World;
  readonly ledger: Ledger;
  readonly locks = new Locks();
  readonly tasks = new Map<string, Task>();
  readonly rows = new Map<Identity, Row>();
  /** Null: closed. */
  readonly letters = new Map<Identity, Letter | null>();
  readonly tokens: number[];
  /** The newest LSN of the target that a reply has reported; null after a write whose reply did not arrive. */
  targetToken: number | null = null;
  lastTargetToken = 0;
  /** Takeovers from copies that no index holds yet; committed ones are in the ledger as well. */
  readonly overrides: Override[] = [];
  /** Slots that changed hands: letters may wait for them. */
  readonly freed: Freed[] = [];
  /** Events that wait for their locks. */
  queued: Event[] = [];
  #names = 0;

  constructor(world: World) {
    this.world = world;
    this.ledger = world.ledger;
    this.tokens = Array.from({ length: PLACES }, () => 0);
  }

  /** On the way back a write insists on the etag that the ledger has, so that a write of another is noticed. */
  get keepsEtags(): boolean {
    return this.world.turn > 0 && !this.lacks('etag-just-read');
  }

  lacks(rule: Mutation | BackMutation): boolean {
    return this.world.mutation === rule;
  }

  spawn(name: string, steps: Steps): void {
    const unique = this.tasks.has(name) ? `${name}.${++this.#names}` : name;
    this.tasks.set(unique, { name: unique, steps, pause: STEP });
  }

  /** Runs a task to its next pause. */
  resume(task: Task, lag: Lag): void {
    const { done, value } = task.steps.next(lag);
    if (done === true) this.tasks.delete(task.name);
    else task.pause = value;
  }

  rowOf(id: Identity): Row | undefined {
    return this.rows.get(id) ?? this.ledger.rowOf(id);
  }

  /** Where the ledger says that a copy is. */
  slots(): Slot[] {
    const { rows, index } = this.ledger;
    const ids = new Set([...this.rows.keys(), ...rows.keys(), ...index.keys()]);
    return [...ids].map((id) => this.rowOf(id)?.slot).filter((slot) => typeof slot === 'string');
  }

  letterOf(id: Identity): Letter | undefined {
    const own = this.letters.get(id);
    return own === undefined ? this.ledger.letters.get(id) : (own ?? undefined);
  }

  openLetters(): Letter[] {
    const ids = new Set([...this.ledger.letters.keys(), ...this.letters.keys()]);
    return [...ids]
      .map((id) => this.letterOf(id))
      .filter((letter) => letter !== undefined)
      .toSorted((a, b) => a.order - b.order);
  }

  /** A point read of the source, never older than anything we have seen of its range. */
  readSource(id: Identity, lag: Lag): Version | null {
    return this.readSourceFrom(id, this.tokens[placeOf(id)] ?? 0, lag);
  }

  readSourceFrom(id: Identity, floor: number, lag: Lag): Version | null {
    const place = placeOf(id);
    const replica = this.world.source.replica(place, floor, lag);
    this.tokens[place] = Math.max(this.tokens[place] ?? 0, replica);
    const version = this.world.source.at(id, replica);
    return version !== null && version.marked && this.world.scenario.deletes === 'marker' ? null : version;
  }

  /** The target has come as far as this. A token that is not known stays so, and brings a newer one. */
  sawTarget(lsn: number): void {
    if (this.targetToken !== null) this.targetToken = Math.max(this.targetToken, lsn);
  }

  sawPage(min: number, max: number, token: number): void {
    for (let place = min; place < max; place += 1)
      this.tokens[place] = Math.max(this.tokens[place] ?? 0, token);
  }
}
