/**
 * One operation in flight per identity and per slot, in the whole process.
 *
 *   enter -> held -> release                    all names were free
 *   enter -> waiting -> held -> again -> waiting -> held -> release
 *   enter -> superseded                         a later event of the same document and feed waits
 *   enter -> waiting -> superseded | called off
 *
 * Every name has a line of turns. A turn joins the lines of all its names in one step and holds its names when it is
 * the first in every line; until then it may do nothing. What always holds: of two turns that share a name the one
 * that came first goes first, so turns wait only for earlier ones, which can be no circle (no deadlock) and ends (no
 * starvation). A turn that wants other names lets go of all of them and comes as a new one.
 *
 * After `ready` the caller reads its row again: it may have changed, and the slot it names must be among the names
 * (test/model/README.md).
 */
import { HASH_WORDS } from '../../documents/hash.ts';
import { orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { deferred } from '../../lib/deferred.ts';
import { HashTable } from './hash-table.ts';

/** The place of an event in its feed. Only a later one of the same feed makes it needless. */
export interface FeedOrder {
  readonly feed: string;
  readonly lsn: number;
}

const NONE = -1;

type TurnState = 'waiting' | 'held' | 'superseded' | 'over';

/** A task's place in the lines; what it says is for everybody, changing it is for the sequencer. */
export class Turn {
  state: TurnState = 'waiting';
  readonly order: FeedOrder | undefined;
  /** The numbers of its names, the identity's first; nearly all have two. */
  nameOne = NONE;
  nameTwo = NONE;
  namesMore: number[] | undefined;
  /** In how many lines others stand before it. */
  behind = 0;
  started = false;
  wake: (() => void) | undefined;

  constructor(order: FeedOrder | undefined) {
    this.order = order;
  }

  has(name: number): boolean {
    return this.nameOne === name || this.nameTwo === name || this.namesMore?.includes(name) === true;
  }

  add(name: number): void {
    if (this.nameOne === NONE) this.nameOne = name;
    else if (this.nameTwo === NONE) this.nameTwo = name;
    else (this.namesMore ??= []).push(name);
  }

  /** As if it were new; it must be over. */
  renew(): void {
    this.state = 'waiting';
    this.started = false;
    this.behind = 0;
    this.wake = undefined;
    this.clear();
  }

  clear(): void {
    this.nameOne = this.nameTwo = NONE;
    this.namesMore = undefined;
  }
}

// A document whose key stays the same has one hash as identity and as slot: they are two names nevertheless.
const IDENTITY = 0;
const SLOT = 0xffff_ffff;

interface Limits {
  /** Turns that wait; whoever wants to enter then waits outside (`whenRoom`). */
  readonly waitingMax: number;
}

export class Sequencer {
  readonly #waitingMax: number;
  readonly #names = new HashTable();
  // By the number of a name: who is first in its line, and the others.
  readonly #first: (Turn | undefined)[] = [];
  readonly #others: (Turn[] | undefined)[] = [];
  readonly #outside: (() => void)[] = [];
  #waiting = 0;
  #held = 0;

  constructor({ waitingMax }: Limits) {
    assert(Number.isInteger(waitingMax) && waitingMax > 0, 'at least one turn may wait');
    this.#waitingMax = waitingMax;
  }

  /** Turns that have not all of their names yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Turns that hold their names. */
  get held(): number {
    return this.#held;
  }

  /** Looked at right before `enter`, with nothing awaited in between. */
  get hasRoom(): boolean {
    return this.#waiting < this.#waitingMax;
  }

  /** Resolves when it is worth looking at `hasRoom` again; first come, first woken. */
  async whenRoom(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let seen = 0; !this.hasRoom; seen += 1) {
      const { promise: woken, resolve: wake } = deferred();
      // Whoever was woken and found no room any more is still the first.
      if (seen === 0) this.#outside.push(wake);
      else this.#outside.unshift(wake);
      try {
        await orAborted(woken, signal);
      } catch (error) {
        const at = this.#outside.indexOf(wake);
        if (at >= 0) this.#outside.splice(at, 1);
        // Called off after it was woken: the place is for the next one.
        else this.#wakeOutside();
        throw error;
      }
    }
    // There may be room for more than one; the next one looks after this one's caller did.
    this.#wakeOutside();
  }

  /**
   * Joins the lines of `count` names: hashes of four words, the identity first, then slots, which may repeat. The
   * turn is held at once when all are free; if not, await `ready`.
   */
  enter(names: Uint32Array, count: number, order?: FeedOrder): Turn {
    const turn = new Turn(order);
    this.admit(turn, names, 0, count);
    return turn;
  }

  /** The same for a turn that is there, and names that start somewhere in `names`. */
  admit(turn: Turn, names: Uint32Array, at: number, count: number): void {
    const { order } = turn;
    assert(this.hasRoom, 'nobody enters a full sequencer');
    this.#join(turn, names, at, count);
    if (turn.behind > 0 && order !== undefined) this.#supersede(turn, order);
  }

  /** Waits for its names. When `signal` is aborted the turn leaves its lines and the reason is thrown. */
  async ready(turn: Turn, signal: AbortSignal): Promise<'held' | 'superseded'> {
    try {
      signal.throwIfAborted();
      if (turn.state === 'waiting') {
        assert(turn.wake === undefined, 'one caller waits for a turn');
        const woken = deferred();
        turn.wake = woken.resolve;
        await orAborted(woken.promise, signal);
      }
    } catch (error) {
      this.release(turn);
      throw error;
    }
    const { state } = turn;
    assert(state === 'held' || state === 'superseded', 'nobody waits for a turn that was released');
    return state;
  }

  /** Lets go of everything and waits for other names; comes after all who wait already. Then await `ready`. */
  again(turn: Turn, names: Uint32Array, count: number): void {
    assert(turn.state === 'held', 'only who holds its names can change them');
    this.#leave(turn);
    turn.state = 'waiting';
    this.#join(turn, names, 0, count);
  }

  /** Ends a turn, whatever became of it; once more does nothing. */
  release(turn: Turn): void {
    const { state } = turn;
    if (state === 'held' || state === 'waiting') this.#leave(turn);
    turn.state = 'over';
    this.#wake(turn);
  }

  #join(turn: Turn, names: Uint32Array, at: number, count: number): void {
    assert(count > 0 && names.length >= at + count * HASH_WORDS, 'a turn has an identity at least');
    for (let i = 0; i < count; i += 1) {
      const name = this.#names.take(names, at + i * HASH_WORDS, i === 0 ? IDENTITY : SLOT);
      const first = this.#first[name];
      if (first === undefined) this.#first[name] = turn;
      else if (turn.has(name)) continue;
      else {
        (this.#others[name] ??= []).push(turn);
        turn.behind += 1;
      }
      turn.add(name);
    }
    if (turn.behind === 0) {
      turn.state = 'held';
      turn.started = true;
      this.#held += 1;
    } else this.#waiting += 1;
  }

  #leave(turn: Turn): void {
    if (turn.state === 'held') this.#held -= 1;
    else this.#waiting -= 1;
    const { nameOne, nameTwo, namesMore } = turn;
    turn.clear();
    this.#leaveLine(turn, nameOne);
    if (nameTwo !== NONE) this.#leaveLine(turn, nameTwo);
    if (namesMore !== undefined) for (const name of namesMore) this.#leaveLine(turn, name);
    turn.behind = 0;
    if (this.#outside.length > 0) this.#wakeOutside();
  }

  #leaveLine(turn: Turn, name: number): void {
    if (this.#first[name] === turn) return this.#advance(name);
    const others = this.#others[name] ?? [];
    others.splice(others.indexOf(turn), 1);
    if (others.length === 0) this.#others[name] = undefined;
  }

  /** The next in line comes first. */
  #advance(name: number): void {
    const others = this.#others[name];
    const next = others?.shift();
    if (others !== undefined && others.length === 0) this.#others[name] = undefined;
    this.#first[name] = next;
    if (next === undefined) return this.#names.drop(name);
    next.behind -= 1;
    if (next.behind > 0) return;
    next.state = 'held';
    next.started = true;
    this.#waiting -= 1;
    this.#held += 1;
    this.#wake(next);
  }

  /**
   * A hot document: of two events of one feed that wait, only the later is needed; its page commits after the other's.
   * Equal LSNs are settled by a point read, never here.
   */
  #supersede(turn: Turn, { feed, lsn }: FeedOrder): void {
    const others = this.#others[turn.nameOne] ?? [];
    const rivals = others.filter(
      (other) => other !== turn && !other.started && other.order?.feed === feed && other.order.lsn !== lsn,
    );
    for (const rival of rivals) {
      const earlier = (rival.order?.lsn ?? 0) < lsn ? rival : turn;
      this.#leave(earlier);
      earlier.state = 'superseded';
      this.#wake(earlier);
      if (earlier === turn) return;
    }
  }

  #wake(turn: Turn): void {
    const { wake } = turn;
    turn.wake = undefined;
    wake?.();
  }

  #wakeOutside(): void {
    if (this.hasRoom) this.#outside.shift()?.();
  }
}
