/**
 * Owns a migration that goes back and forth: two containers, and one world for each turn, in which they have changed
 * roles. The journey knows what the application wrote, whichever container it used, and nothing else may be found.
 */
import { act } from '../application.ts';
import type { Mutation } from '../mutations.ts';
import { converge, perform, quiet } from '../scheduler.ts';
import type { Scenario } from '../scenario.ts';
import { Source, type Identity, type Key } from '../source.ts';
import { World } from '../world.ts';
import { Container } from './container.ts';
import { cutOver } from './cutover.ts';
import type { BackMutation } from './mutations.ts';

export interface Itinerary extends Scenario {
  /** 1: back. 2: back, and forth again. */
  readonly lastTurn: 1 | 2;
}

interface Written {
  readonly key: Key;
  readonly body: number;
}

// No body of the one container is one of the other's.
const BODIES = 1_000;

export class Journey {
  readonly itinerary: Itinerary;
  readonly #mutation: Mutation | BackMutation | null;
  readonly worlds: World[];
  /** What the application has written and not deleted. */
  #written = new Map<Identity, Written>();
  #failure: string | null = null;

  constructor(itinerary: Itinerary, mutation: Mutation | BackMutation | null) {
    this.itinerary = itinerary;
    this.#mutation = mutation;
    const source = new Source(itinerary.ranges);
    const target = new Container(new Source(itinerary.ranges, BODIES));
    this.worlds = [new World(itinerary, mutation, { source, target, turn: 0, before: null })];
  }

  /** The world of the turn that has begun last. */
  get world(): World {
    const world = this.worlds.at(-1);
    if (world === undefined) throw new Error('a journey has a first turn');
    return world;
  }

  get failure(): string | null {
    return this.#failure ?? this.world.failure;
  }

  /** False when the action is not possible now. */
  perform(action: string): boolean {
    const done = this.#perform(action);
    if (this.world.committed !== null && this.world.turn < this.itinerary.lastTurn) this.#turn();
    return done;
  }

  #perform(action: string): boolean {
    const { world } = this;
    const [verb = '', ...rest] = action.split(' ');
    switch (verb) {
      case 'app':
        return this.#write(rest.join(' '));
      case 'cutover':
        return this.#cutOver();
      case 'quiet':
        return this.#rest();
      case 'late':
        return this.worlds.some((one) => perform(one, action));
      default:
        return perform(world, action);
    }
  }

  #write(action: string): boolean {
    const { source, scenario, fenced, committed } = this.world;
    if (fenced || committed !== null || !act(source, scenario, action)) return false;
    const [id = ''] = action.split(' ');
    const now = source.now(id);
    if (now === null) this.#written.delete(id);
    else this.#written.set(id, { key: now.key, body: now.body });
    return true;
  }

  #cutOver(): boolean {
    const { process, target } = this.world;
    // Settling comes first, as before a sweep.
    if (process === null || !process.tasks.has('promote') || process.tasks.has('cutover')) return false;
    process.spawn('cutover', cutOver(process, target as Container));
    return true;
  }

  /** The two containers change places. */
  #turn(): void {
    const { source, target, committed, turn } = this.world;
    this.#written = new Map(
      [...this.#written].map(([id, { key, body }]) => [key + id.slice(1), { key: id.slice(0, 1), body }]),
    );
    const sides = {
      source: (target as Container).documents,
      target: new Container(source),
      turn: turn + 1,
      before: committed,
    };
    this.worlds.push(new World(scenarioOf(this.itinerary, turn + 1), this.#mutation, sides));
  }

  /** All comes to rest. A cutover that is in the middle of it ends, and the next turn rests as well. */
  #rest(): true {
    const { world } = this;
    converge(world);
    if (world.committed !== null || world.ledger.unsafe !== null) {
      if (world.ledger.unsafe !== null) this.#failure ??= `${world.ledger.unsafe} is said to be another's`;
      return true;
    }
    quiet(world);
    this.#failure ??= this.#judgeWritten();
    return true;
  }

  #judgeWritten(): string | null {
    const { source, scenario } = this.world;
    for (const id of scenario.identities) {
      const [now, written] = [source.now(id), this.#written.get(id)];
      if (now?.body !== written?.body) return `${id} is not what the application wrote`;
      if (now?.key !== written?.key) return `${id} does not have the key that the application wrote`;
    }
    return null;
  }
}

/** In odd turns the documents have the keys of the target, and the keys of the source are those that they move between. */
function scenarioOf(itinerary: Itinerary, turn: number): Scenario {
  if (turn % 2 === 0) return itinerary;
  const ids = new Set(itinerary.identities.map((id) => id.slice(1)));
  const letters = [...new Set(itinerary.identities.map((id) => id.slice(0, 1)))];
  const identities = [...ids].flatMap((id) => [`P${id}`, `Q${id}`]);
  return { ...itinerary, identities, keys: [letters[0] ?? 'A', letters[1] ?? 'C'] };
}
