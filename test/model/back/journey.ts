/**
 * Owns a migration that goes back and forth: two containers, and one world for each turn, in which they have changed
 * roles. The journey knows what the application wrote, whichever container it used, and nothing else may be found.
 */
import { act } from '../application.ts';
import type { Mutation } from '../mutations.ts';
import { converge, perform, quiet } from '../scheduler.ts';
import type { Scenario } from '../scenario.ts';
import { placeOf, slotOf, Source, type Identity, type Key, type Slot, type Version } from '../source.ts';
import { World } from '../world.ts';
import { Container } from './container.ts';
import { cutOver } from './cutover.ts';
import type { BackMutation } from './mutations.ts';

export interface Itinerary extends Scenario {
  /** 1: back. 2: back, and forth again. */
  readonly lastTurn: 1 | 2;
  /** How often another process writes the closed side, in each turn. */
  readonly strayMax: number;
  /** A cutover leaves dead letters behind. */
  readonly waives: boolean;
  /** The ledger of a turn may be lost. */
  readonly loses: boolean;
}

interface Written {
  /** It has expired: it may be gone everywhere, or nowhere. */
  readonly lapsed: boolean;
  readonly key: Key;
  readonly body: number;
  /** In the first source the document has the property that is derived. */
  readonly own: boolean;
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
  /** What was left on the side that is closed. */
  #away = new Map<Slot, Written>();
  /** On the way back: documents that had the derived property in the first source. */
  #own = new Set<Identity>();
  #strays = 0;
  #hasLost = false;

  constructor(itinerary: Itinerary, mutation: Mutation | BackMutation | null) {
    this.itinerary = itinerary;
    this.#mutation = mutation;
    const source = new Source(itinerary.ranges);
    const target = new Container(new Source(itinerary.ranges, BODIES));
    this.worlds = [
      new World(itinerary, mutation, {
        source,
        target,
        turn: 0,
        before: null,
        leftOut: new Set(),
        excused: new Set(),
      }),
    ];
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
      case 'foreign':
        return world.turn === 0 && perform(world, action);
      case 'stray':
        return this.#stray(rest);
      case 'elapse':
        return this.#elapse(rest);
      case 'lose':
        return this.#lose();
      case 'old':
        return this.#resumeOld(rest.join(' '));
      case 'late':
        return this.worlds.some((one) => perform(one, action));
      default:
        return perform(world, action);
    }
  }

  #write(action: string): boolean {
    const { source, scenario, fenced, committed } = this.world;
    // Writers resume when time to live is as it was.
    if (source.isTtlPaused || fenced || committed !== null || !act(source, scenario, action)) return false;
    const [id = ''] = action.split(' ');
    this.#note(source, id);
    this.world.excused.delete(id);
    return true;
  }

  #cutOver(): boolean {
    const { process, target } = this.world;
    // Settling comes first, as before a sweep.
    if (process === null || !process.tasks.has('promote') || process.tasks.has('cutover')) return false;
    process.spawn('cutover', cutOver(process, target as Container, this.itinerary));
    return true;
  }

  /** Another process writes the side that is closed. */
  #stray([verb = '', slot = '']: readonly string[]): boolean {
    const { before, target, strangers } = this.world;
    if (before === null || this.#strays >= this.itinerary.strayMax) return false;
    const there = before.closed.now(slot);
    if ((verb === 'create') === (there !== null)) return false;
    if (verb === 'delete') before.closed.delete(slot);
    else before.closed.put(slot, [there ?? { key: this.#otherKey(), big: false, unique: 0, marked: false }]);
    const written = target.now.get(slot)?.etag;
    if (written !== undefined) strangers.add(written);
    this.#strays += 1;
    return true;
  }

  #otherKey(): Key {
    return this.world.turn % 2 === 1 ? 'P' : (this.itinerary.identities[0] ?? 'A').slice(0, 1);
  }

  #lose(): boolean {
    const { world } = this;
    if (!this.itinerary.loses || world.turn === 0 || world.process !== null || this.#hasLost) return false;
    world.ledger.lose();
    this.#hasLost = true;
    return true;
  }

  /** The mover of the turn before, if it is alive. */
  #resumeOld(action: string): boolean {
    const old = this.worlds.at(-2);
    return old !== undefined && old.process !== null && perform(old, action);
  }

  /** The two containers change places. */
  #turn(): void {
    const { source, target, committed, turn } = this.world;
    const documents = (target as Container).documents;
    const { away, excused } = this.#exceptions(documents);
    const copied = [...this.#written].filter(([, { key }]) => key !== '!');
    const written = copied.toSorted(([, a], [, b]) => Number(b.lapsed) - Number(a.lapsed));
    this.#written = new Map(
      written.map(([id, { key, ...rest }]) => [key + id.slice(1), { ...rest, key: id.slice(0, 1) }]),
    );
    this.#own = turn % 2 === 0 ? this.#owning() : new Set();
    for (const id of excused) this.#note(documents, id);
    for (const [id, away] of this.#away) this.#written.set(id, away);
    this.#away = away;
    // What was written after the last look was written to a side that is in use: the next turn replicates it.
    for (const id of documents.identities) {
      const anchor = committed?.anchors.find(({ min, max }) => min <= placeOf(id) && placeOf(id) < max);
      if ((documents.versionsOf(id).at(-1)?.lsn ?? 0) > (anchor?.lsn ?? 0)) this.#note(documents, id);
    }
    this.#strays = 0;
    this.#hasLost = false;
    const sides = {
      source: documents,
      target: new Container(source),
      before: committed,
      leftOut: new Set(away.keys()),
      excused,
    };
    const world = new World(scenarioOf(this.itinerary, turn + 1), this.#mutation, {
      ...sides,
      turn: turn + 1,
    });
    this.worlds.push(world);
  }

  /** What the operator has waived. Documents that are left out are not on the other side, and the application knows. */
  #exceptions(documents: Source): { away: Map<Slot, Written>; excused: Set<Identity> } {
    const { source, ledger, excused: before } = this.world;
    const leftOut = new Set<Slot>();
    const excused = new Set<Identity>();
    for (const id of before) {
      const slot = slotOf(id, source.now(id) ?? { key: '!' });
      if (slot !== null) excused.add(slot);
    }
    for (const id of source.identities) {
      if (source.now(id)?.key === '!') leftOut.add(id);
      if (!ledger.letters.has(id)) continue;
      const slot = ledger.rowOf(id)?.slot ?? null;
      if (slot === null) leftOut.add(id);
      else excused.add(slot);
    }
    const away = new Map<Slot, Written>();
    for (const id of leftOut) {
      const written = this.#written.get(id);
      if (written !== undefined) away.set(id, written);
      this.#written.delete(id);
    }
    for (const id of documents.identities) if (documents.now(id)?.key === '!') excused.add(id);
    return { away, excused };
  }

  #note(documents: Source, id: Identity): void {
    const now = documents.now(id);
    const last = documents.versionsOf(id).at(-1);
    if (now?.marked === true) this.#written.delete(id);
    else if (now !== null) this.#written.set(id, { ...this.#noted(id, now), lapsed: false });
    else if (last === undefined || last.op === 'delete') this.#written.delete(id);
    else this.#written.set(id, { ...this.#noted(id, last), lapsed: true });
  }

  #noted(id: Identity, { key, body, own }: Version): Omit<Written, 'lapsed'> {
    return { key, body, own: own === true || this.#own.has(id) };
  }

  /** Which documents, by their place in the target, have the derived property of their own in the source. */
  #owning(): Set<Identity> {
    const { source, ledger } = this.world;
    const slots = source.identities.map((id) => {
      const now = source.now(id);
      const slot = now?.own === true ? slotOf(id, now) : null;
      return ledger.rowOf(id)?.slot === slot ? slot : null;
    });
    return new Set(slots.filter((slot) => slot !== null));
  }

  /** Time passes: a document expires while no application looks, or is purged. */
  #elapse([id = '']: readonly string[]): boolean {
    const { source, before, fenced, scenario } = this.world;
    const closed = before?.closed;
    if (!scenario.ttl) return false;
    for (const side of fenced ? [source, closed] : [closed]) {
      if (side === undefined || side.isTtlPaused) continue;
      const purges = side.awaitsPurge(id);
      if (!purges && side.now(id) === null) continue;
      if (purges) side.delete(id);
      else side.expire(id);
      if (side === source && !purges) this.#note(source, id);
      return true;
    }
    return false;
  }

  /** All comes to rest. A cutover that is in the middle of it ends, and the next turn rests as well. */
  #rest(): true {
    const { world } = this;
    for (const one of this.worlds) converge(one);
    if (world.ledger.unsafe !== null && this.#strays === 0)
      this.#failure ??= `${world.ledger.unsafe} is said to be a stranger's`;
    if (world.refused && !this.#hasLost) this.#failure ??= 'the ledger is said to be lost';
    if (!world.isOver && this.#strays === 0) quiet(world);
    this.#failure ??= this.#judgeWritten();
    return true;
  }

  #judgeWritten(): string | null {
    const { source, isOver, fenced, turn } = this.world;
    if (source.isTtlPaused && !isOver && !fenced) return 'time to live is off where the application is';
    for (const id of new Set([...source.identities, ...this.#written.keys()])) {
      const [now, written] = [source.now(id), this.#written.get(id)];
      if (written?.lapsed === true || now?.expired === true) continue;
      // The application's mark stands for a delete.
      if (written === undefined && now?.marked === true) continue;
      if (now?.body !== written?.body) return `${id} is not what the application wrote`;
      if (now?.key !== written?.key) return `${id} does not have the key that the application wrote`;
      if (turn % 2 === 0 && now !== null && (now.own === true) !== written?.own)
        return `${id} does not have the properties that it had`;
    }
    return null;
  }
}

/** In odd turns the documents have the keys of the target, and the keys of the source are those that they move between. */
function scenarioOf(itinerary: Itinerary, turn: number): Scenario {
  if (turn % 2 === 0) return itinerary;
  const ids = new Set(itinerary.identities.map((id) => id.slice(1)));
  const letters = [...new Set(itinerary.identities.map((id) => id.slice(0, 1)))];
  const targetKeys = itinerary.names === true ? ['P', 'Q', '_'] : ['P', 'Q'];
  const identities = [...ids].flatMap((id) => targetKeys.map((key) => key + id));
  return { ...itinerary, identities, keys: [letters[0] ?? 'A', letters[1] ?? 'C'] };
}
