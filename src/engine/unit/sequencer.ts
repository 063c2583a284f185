/**
 * One operation in flight per document and per slot, in the whole process.
 *
 *   enter -> held -> release                    all locks were free
 *   enter -> waiting -> held -> again -> waiting -> held -> release
 *   enter -> superseded                         a later event of the same document and feed waits
 *   enter -> waiting -> superseded | aborted
 *
 * Every lock has a line of turns. A turn joins the lines of all its locks in one step and holds them when it is the first
 * in every line; until then it may do nothing. Invariant: of two turns that share a lock, the one that came first goes
 * first. So a turn waits only for earlier turns: there is no circle (no deadlock) and an end (no starvation). A turn that
 * needs other locks releases all of them and joins again at the end.
 *
 * After `ready` the caller reads its row again: the row may have changed, and the slot it names must be among the locks
 * (test/model/README.md).
 */
import { HASH_WORDS } from '../../documents/hash.ts';
import { orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { deferred } from '../../lib/deferred.ts';
import { LockTable } from './lock-table.ts';

/** The order of an event in its feed. Only a later event of the same feed makes it unnecessary. */
export interface FeedOrder {
  readonly feed: string;
  readonly lsn: number;
}

const NONE = -1;

type TurnState = 'waiting' | 'held' | 'superseded' | 'over';

/** A task in the lines. Its fields may be read by anyone and are changed by the sequencer only. */
export class Turn {
  state: TurnState = 'waiting';
  readonly order: FeedOrder | undefined;
  /** The numbers of its locks, the identity's first; nearly all turns have two. */
  lockOne = NONE;
  lockTwo = NONE;
  locksMore: number[] | undefined;
  /** In how many lines another turn is before it. */
  behind = 0;
  started = false;
  wake: (() => void) | undefined;

  constructor(order: FeedOrder | undefined) {
    this.order = order;
  }

  has(lock: number): boolean {
    return this.lockOne === lock || this.lockTwo === lock || this.locksMore?.includes(lock) === true;
  }

  add(lock: number): void {
    if (this.lockOne === NONE) this.lockOne = lock;
    else if (this.lockTwo === NONE) this.lockTwo = lock;
    else (this.locksMore ??= []).push(lock);
  }

  /** Makes a turn that is over ready for another document. */
  renew(): void {
    this.state = 'waiting';
    this.started = false;
    this.behind = 0;
    this.wake = undefined;
    this.clear();
  }

  clear(): void {
    this.lockOne = this.lockTwo = NONE;
    this.locksMore = undefined;
  }
}

// A document whose key stays the same has one hash as identity and as slot: they are two locks nevertheless.
const IDENTITY = 0;
const SLOT = 0xffff_ffff;

interface Limits {
  /** How many turns may wait. Beyond that a caller waits outside (`whenRoom`) before it enters. */
  readonly waitingMax: number;
}

export class Sequencer {
  readonly #waitingMax: number;
  readonly #locks = new LockTable();
  // By the number of a lock: the first turn in its line, and the others.
  readonly #first: (Turn | undefined)[] = [];
  readonly #others: (Turn[] | undefined)[] = [];
  readonly #outside: (() => void)[] = [];
  #waiting = 0;
  #held = 0;

  constructor({ waitingMax }: Limits) {
    assert(Number.isInteger(waitingMax) && waitingMax > 0, 'at least one turn may wait');
    this.#waitingMax = waitingMax;
  }

  /** Turns that do not have all of their locks yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Turns that hold their locks. */
  get held(): number {
    return this.#held;
  }

  /** Check it right before `enter`, with no await in between. */
  get hasRoom(): boolean {
    return this.#waiting < this.#waitingMax;
  }

  /** Resolves when `hasRoom` may have become true; the first caller is woken first. */
  async whenRoom(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let seen = 0; !this.hasRoom; seen += 1) {
      const { promise: woken, resolve: wake } = deferred();
      // A caller that was woken and found no room stays the first.
      if (seen === 0) this.#outside.push(wake);
      else this.#outside.unshift(wake);
      try {
        await orAborted(woken, signal);
      } catch (error) {
        const at = this.#outside.indexOf(wake);
        if (at >= 0) this.#outside.splice(at, 1);
        // Aborted after it was woken: the next one takes its turn.
        else this.#wakeOutside();
        throw error;
      }
    }
    // There may be room for several; the next one checks after this caller has entered.
    this.#wakeOutside();
  }

  /**
   * Joins the lines of `count` locks: hashes of four words, the identity first, then slots, which may repeat. The turn
   * holds them at once when all are free; if not, await `ready`.
   */
  enter(locks: Uint32Array, count: number, order?: FeedOrder): Turn {
    const turn = new Turn(order);
    this.admit(turn, locks, 0, count);
    return turn;
  }

  /** The same for a turn that exists, with locks that start at `locks[at]`. */
  admit(turn: Turn, locks: Uint32Array, at: number, count: number): void {
    const { order } = turn;
    assert(this.hasRoom, 'a turn enters only when there is room');
    this.#join(turn, locks, at, count);
    if (turn.behind > 0 && order !== undefined) this.#supersede(turn, order);
  }

  /** Waits for its locks. When `signal` is aborted the turn leaves its lines and the reason is thrown. */
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
    assert(state === 'held' || state === 'superseded', 'a turn that was released is not awaited');
    return state;
  }

  /** Releases all locks and joins the lines of others, at their ends. Then await `ready`. */
  again(turn: Turn, locks: Uint32Array, count: number): void {
    assert(turn.state === 'held', 'only a turn that holds its locks can change them');
    this.#leave(turn);
    turn.state = 'waiting';
    this.#join(turn, locks, 0, count);
  }

  /** Ends a turn in any state; ending it twice does nothing. */
  release(turn: Turn): void {
    const { state } = turn;
    if (state === 'held' || state === 'waiting') this.#leave(turn);
    turn.state = 'over';
    this.#wake(turn);
  }

  #join(turn: Turn, locks: Uint32Array, at: number, count: number): void {
    assert(count > 0 && locks.length >= at + count * HASH_WORDS, 'a turn has an identity at least');
    for (let i = 0; i < count; i += 1) {
      const lock = this.#locks.take(locks, at + i * HASH_WORDS, i === 0 ? IDENTITY : SLOT);
      const first = this.#first[lock];
      if (first === undefined) this.#first[lock] = turn;
      else if (turn.has(lock)) continue;
      else {
        (this.#others[lock] ??= []).push(turn);
        turn.behind += 1;
      }
      turn.add(lock);
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
    const { lockOne, lockTwo, locksMore } = turn;
    turn.clear();
    this.#leaveLine(turn, lockOne);
    if (lockTwo !== NONE) this.#leaveLine(turn, lockTwo);
    if (locksMore !== undefined) for (const lock of locksMore) this.#leaveLine(turn, lock);
    turn.behind = 0;
    if (this.#outside.length > 0) this.#wakeOutside();
  }

  #leaveLine(turn: Turn, lock: number): void {
    if (this.#first[lock] === turn) return this.#advance(lock);
    const others = this.#others[lock] ?? [];
    others.splice(others.indexOf(turn), 1);
    if (others.length === 0) this.#others[lock] = undefined;
  }

  /** The next turn in the line becomes the first. */
  #advance(lock: number): void {
    const others = this.#others[lock];
    const next = others?.shift();
    if (others !== undefined && others.length === 0) this.#others[lock] = undefined;
    this.#first[lock] = next;
    if (next === undefined) return this.#locks.drop(lock);
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
   * Equal LSNs are decided by a point read, never here.
   */
  #supersede(turn: Turn, { feed, lsn }: FeedOrder): void {
    const others = this.#others[turn.lockOne] ?? [];
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
