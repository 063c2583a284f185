/**
 * Owns the target container: one document a slot, conditional writes, unique values within a key, and
 * readers that lag. Another process may keep documents here as well: those have no owner.
 */
import type { Identity, Key, Slot } from './source.ts';

export interface Copy {
  /** The identity rebuilt from the document; null when it is not a source document. */
  readonly owner: Identity | null;
  /** The body of the source version it was made from. */
  readonly content: number;
  readonly unique: number;
  readonly etag: number;
}

export interface Write {
  readonly kind: 'create' | 'replace' | 'delete' | 'upsert';
  readonly id: Identity;
  readonly slot: Slot;
  readonly content: number;
  /** The key value that the copy names, and the one that its rest yields. */
  readonly key?: Key;
  readonly derived?: Key | undefined;
  /** On the way back: the property that is derived stays in the document. */
  readonly own?: true | undefined;
  readonly unique: number;
  /** The target etag that replace and delete insist on; null is unconditional, which no rule permits. */
  readonly ifMatch: number | null;
  /** A delete that is the second half of a move. */
  readonly moving: boolean;
}

export type Status = 'ok' | 'conflict' | 'missing' | 'precondition';

/** A target as the mover sees it: a container of its own, or one that was the source of the turn before. */
export interface Receiver {
  readonly lsn: number;
  readonly now: ReadonlyMap<Slot, Copy>;
  /** Every state there was. */
  at(lsn: number): ReadonlyMap<Slot, Copy>;
  apply(write: Write): Status;
  /** A foreign document. */
  intrude(slot: Slot): void;
}

/** What a conditional write finds in its slot decides. */
export function refusalOf({ kind, ifMatch }: Write, held: Copy | undefined): Status {
  switch (kind) {
    case 'create':
      return held === undefined ? 'ok' : 'conflict';
    case 'replace':
    case 'delete':
      if (held === undefined) return 'missing';
      return ifMatch !== null && held.etag !== ifMatch ? 'precondition' : 'ok';
    case 'upsert':
      return 'ok';
  }
}

export class Target implements Receiver {
  /** Every state there was; the index is the LSN. */
  readonly states: ReadonlyMap<Slot, Copy>[] = [new Map()];
  readonly #uniqueKeys: boolean;
  #etag = 0;

  constructor(uniqueKeys: boolean) {
    this.#uniqueKeys = uniqueKeys;
  }

  get lsn(): number {
    return this.states.length - 1;
  }

  get now(): ReadonlyMap<Slot, Copy> {
    return this.at(this.lsn);
  }

  at(lsn: number): ReadonlyMap<Slot, Copy> {
    const state = this.states[lsn];
    if (state === undefined) throw new Error(`the target has no LSN ${lsn}`);
    return state;
  }

  apply(write: Write): Status {
    const refusal = refusalOf(write, this.now.get(write.slot));
    if (refusal !== 'ok') return refusal;
    if (write.kind !== 'delete' && this.#violates(write)) return 'conflict';
    this.#change(write.slot, write.kind === 'delete' ? null : { ...write, owner: write.id });
    return 'ok';
  }

  intrude(slot: Slot): void {
    this.#change(slot, { owner: null, content: 0, unique: 0 });
  }

  #violates({ slot, unique }: Write): boolean {
    if (!this.#uniqueKeys || unique === 0) return false;
    return [...this.now].some(
      ([other, copy]) => other !== slot && other[0] === slot[0] && copy.unique === unique,
    );
  }

  #change(slot: Slot, copy: Omit<Copy, 'etag'> | null): void {
    const next = new Map(this.now);
    if (copy === null) next.delete(slot);
    else {
      const { owner, content, unique } = copy;
      next.set(slot, { owner, content, unique, etag: ++this.#etag });
    }
    this.states.push(next);
  }
}
