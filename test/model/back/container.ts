/**
 * Owns a container that takes turns: the application's at first, the mover's target after the cutover. All of its
 * writes are versions of one history. What the mover reads as a target is made from that history.
 */
import type { Slot, Source, Version } from '../source.ts';
import { refusalOf, type Copy, type Receiver, type Status, type Write } from '../target.ts';

/** The number that no container accepts as a key value stands for a document of another kind. */
const NO_KEY = '!';

interface State {
  readonly lsn: number;
  readonly changes: number;
  readonly state: ReadonlyMap<Slot, Copy>;
}

export class Container implements Receiver {
  readonly documents: Source;
  /** The same state is asked for again and again. */
  #last: State = { lsn: -1, changes: -1, state: new Map() };

  constructor(documents: Source) {
    this.documents = documents;
  }

  /** Writes are numbered through all ranges, so that one number stands for a state of all of them. */
  get lsn(): number {
    return this.documents.writes;
  }

  get now(): ReadonlyMap<Slot, Copy> {
    return this.at(this.lsn);
  }

  at(lsn: number): ReadonlyMap<Slot, Copy> {
    const { changes } = this.documents;
    if (this.#last.lsn !== lsn || this.#last.changes !== changes)
      this.#last = { lsn, changes, state: this.#stateAt(lsn) };
    return this.#last.state;
  }

  #stateAt(lsn: number): ReadonlyMap<Slot, Copy> {
    const state = new Map<Slot, Copy>();
    for (const slot of this.documents.identities) {
      const version = this.documents.versionsOf(slot).findLast(({ etag }) => etag <= lsn);
      if (version !== undefined && version.op !== 'delete' && !this.documents.hides(version))
        state.set(slot, copyOf(slot, version));
    }
    return state;
  }

  apply(write: Write): Status {
    const { kind, id, slot, content, key, derived, own, unique } = write;
    const refusal = refusalOf(write, this.now.get(slot));
    if (refusal !== 'ok') return refusal;
    if (kind === 'delete') this.documents.delete(slot);
    else
      this.documents.copy(
        slot,
        { key: key ?? id.slice(0, 1), derived, own, big: false, unique, marked: false },
        content,
      );
    return 'ok';
  }

  intrude(slot: Slot): void {
    this.documents.put(slot, [{ key: NO_KEY, big: false, unique: 0, marked: false }]);
  }
}

/** A document with the eyes of the mover whose target it is in. */
export function copyOf(slot: Slot, { key, body, unique, etag }: Version): Copy {
  return { owner: key === NO_KEY ? null : key + slot.slice(1), content: body, unique, etag };
}
