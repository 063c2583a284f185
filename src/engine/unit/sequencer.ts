/**
 * Allows one operation in flight per document and per slot, in the whole process.
 *
 *   enter -> held -> release                    all locks were free
 *   enter -> waiting -> held -> again -> waiting -> held -> release
 *   enter -> superseded                         a later event of the same document and feed waits already
 *   enter -> waiting -> superseded | aborted
 *
 * The new documents of a page of the copy hold their locks without a turn (`lockAll`), until one of them needs one.
 *
 * Every lock has a line of turns. A turn joins the lines of all its locks in one step. It holds its locks when it is the
 * first in every line, and its caller sends nothing before that. Invariant: of two turns that share a lock, the earlier
 * one goes first. So a turn waits only for earlier turns, and neither a deadlock nor starvation is possible. A turn that
 * needs other locks releases all its locks and joins the new lines at the end.
 *
 * After `ready` the caller looks up the row of its document again. The row may have changed during the wait, and the
 * slot that the row names must be among the locks (test/model/README.md).
 */
import { HASH_WORDS } from '../../documents/hash.ts';
import { orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { deferred } from '../../lib/deferred.ts';
import { LockTable, NONE } from './lock-table.ts';

/** Where an event stands in its feed. Only a later event of the same feed makes an event unnecessary. */
export interface FeedOrder {
  readonly feed: string;
  readonly lsn: number;
}

type TurnState = 'waiting' | 'held' | 'superseded' | 'over';

/** The hashes of many documents: for each the four words of its identity, and then those of its slot. */
export interface LockedDocuments {
  readonly words: Uint32Array;
  /** Where the hashes of the first document begin. */
  readonly at: number;
  /** How many words lie between the beginnings of two documents. */
  readonly stride: number;
  readonly count: number;
}

/** A change of one document in the lines of its locks. Any caller may read the fields; only the sequencer changes them. */
export class Turn {
  state: TurnState = 'waiting';
  readonly order: FeedOrder | undefined;
  /** The numbers of the turn's locks, the identity's first. Nearly all turns have two. */
  lockOne = NONE;
  lockTwo = NONE;
  locksMore: number[] | undefined;
  /** In how many lines another turn is before this one. */
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

  /** Resets a turn that is over, so that it can serve another document. */
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

// A document whose key stays the same has the same hash as identity and as slot. These values keep the two locks apart.
const IDENTITY = 0;
const SLOT = 0xffff_ffff;

interface Limits {
  /** How many turns may wait in the lines. At this limit a caller waits in `untilMayEnter` before it enters. */
  readonly waitingMax: number;
}

export class Sequencer {
  readonly #waitingMax: number;
  readonly #locks = new LockTable();
  // Both arrays are indexed by the number of a lock: they have the first turn in its line, and the other turns in
  // order.
  readonly #first: (Turn | undefined)[] = [];
  readonly #others: (Turn[] | undefined)[] = [];
  readonly #outside: (() => void)[] = [];
  #waiting = 0;
  #holding = 0;

  constructor({ waitingMax }: Limits) {
    assert(Number.isInteger(waitingMax) && waitingMax > 0, 'at least one turn may wait');
    this.#waitingMax = waitingMax;
  }

  /** How many turns do not have all their locks yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many turns hold their locks. */
  get holding(): number {
    return this.#holding;
  }

  /** Whether a turn may enter. The caller checks this right before `enter`, with no await in between. */
  get mayEnter(): boolean {
    return this.#waiting < this.#waitingMax;
  }

  /** Waits until `mayEnter` may be true. Callers are woken in the order of their calls. */
  async untilMayEnter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let seen = 0; !this.mayEnter; seen += 1) {
      const { promise: woken, resolve: wake } = deferred();
      // A caller that was woken and may not enter yet stays at the front.
      if (seen === 0) this.#outside.push(wake);
      else this.#outside.unshift(wake);
      try {
        await orAborted(woken, signal);
      } catch (error) {
        const at = this.#outside.indexOf(wake);
        if (at >= 0) this.#outside.splice(at, 1);
        // If this caller was aborted after it was woken, the next caller is woken instead.
        else this.#wakeOutside();
        throw error;
      }
    }
    // There may be space for more turns. The next caller is woken too, and checks that after this one has entered.
    this.#wakeOutside();
  }

  /**
   * Takes the two locks of each document, in order, up to the first document for which one is not free. Returns for how
   * many documents it holds the locks now. They have no turns: `unlockAll` releases their locks, or `adopt` gives the
   * locks of a document to a turn. Other turns wait for these locks as for those of a turn.
   */
  lockAll({ words, at, stride, count }: LockedDocuments): number {
    const locks = this.#locks;
    for (let i = 0; i < count; i += 1) {
      const identity = at + i * stride;
      const slot = identity + HASH_WORDS;
      if (!locks.add(words, identity, IDENTITY)) return i;
      if (!locks.add(words, slot, SLOT)) {
        locks.remove(words, identity, IDENTITY);
        return i;
      }
      this.#holding += 1;
    }
    return count;
  }

  /** Releases the locks of documents that `lockAll` holds. */
  unlockAll({ words, at, stride, count }: LockedDocuments): void {
    this.#holding -= count;
    for (let i = 0; i < count; i += 1) {
      const identity = at + i * stride;
      this.#unlock(words, identity, IDENTITY);
      this.#unlock(words, identity + HASH_WORDS, SLOT);
    }
    if (this.#outside.length > 0) this.#wakeOutside();
  }

  /** Gives a turn the locks of a document that `lockAll` holds, whose hashes begin at `words[at]`. */
  adopt(turn: Turn, words: Uint32Array, at: number): void {
    for (const lock of [
      this.#lockWithoutTurn(words, at, IDENTITY),
      this.#lockWithoutTurn(words, at + HASH_WORDS, SLOT),
    ]) {
      this.#first[lock] = turn;
      turn.add(lock);
    }
    turn.state = 'held';
    turn.started = true;
  }

  /**
   * Creates a turn and joins the lines of `count` locks. A lock is a hash of four words: first the identity, then the
   * slots, which may repeat. If all are free the turn holds its locks at once; otherwise the caller awaits `ready`.
   */
  enter(locks: Uint32Array, count: number, order?: FeedOrder): Turn {
    const turn = new Turn(order);
    this.admit(turn, locks, 0, count);
    return turn;
  }

  /** Does the same as `enter` for a turn that exists already. Its locks start at `locks[at]`. */
  admit(turn: Turn, locks: Uint32Array, at: number, count: number): void {
    const { order } = turn;
    assert(this.mayEnter, 'a turn enters only when it may');
    this.#join(turn, locks, at, count);
    if (turn.behind > 0 && order !== undefined) this.#supersede(turn, order);
  }

  /**
   * Waits until the turn holds its locks. If `signal` is aborted the turn leaves its lines, and the reason is thrown.
   */
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

  /** Releases all locks of a turn and joins the lines of other locks, at the end. The caller then awaits `ready`. */
  again(turn: Turn, locks: Uint32Array, count: number): void {
    assert(turn.state === 'held', 'only a turn that holds its locks can change them');
    this.#leave(turn);
    turn.state = 'waiting';
    this.#join(turn, locks, 0, count);
  }

  /** Ends a turn in any state. A second call does nothing. */
  release(turn: Turn): void {
    const { state } = turn;
    if (state === 'held' || state === 'waiting') this.#leave(turn);
    turn.state = 'over';
    this.#wake(turn);
  }

  #join(turn: Turn, locks: Uint32Array, at: number, count: number): void {
    assert(count > 0 && locks.length >= at + count * HASH_WORDS, 'a turn has an identity at least');
    for (let i = 0; i < count; i += 1) {
      const { size } = this.#locks;
      const lock = this.#locks.take(locks, at + i * HASH_WORDS, i === 0 ? IDENTITY : SLOT);
      // A lock that is held without a turn has a number, and no turn is the first in its line.
      if (this.#locks.size > size) this.#first[lock] = turn;
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
      this.#holding += 1;
    } else this.#waiting += 1;
  }

  /** Releases a lock that is held without a turn. If no turn is waiting, none is in its line. */
  #unlock(words: Uint32Array, at: number, kind: number): void {
    if (this.#waiting > 0) return this.#advance(this.#lockWithoutTurn(words, at, kind));
    const lock = this.#locks.remove(words, at, kind);
    assert(lock !== NONE && this.#first[lock] === undefined, 'the lock is held without a turn');
  }

  #lockWithoutTurn(words: Uint32Array, at: number, kind: number): number {
    const lock = this.#locks.find(words, at, kind);
    assert(lock !== NONE && this.#first[lock] === undefined, 'the lock is held without a turn');
    return lock;
  }

  #leave(turn: Turn): void {
    if (turn.state === 'held') this.#holding -= 1;
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

  /** Makes the next turn in the line of a lock the first. */
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
    this.#holding += 1;
    this.#wake(next);
  }

  /**
   * Drops events that are no longer needed, which helps with documents that change often. If two events of one document
   * and feed wait, only the later is applied: its page commits after the page of the other. Equal LSNs are never decided
   * here but by a point read.
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
    if (this.mayEnter) this.#outside.shift()?.();
  }
}
