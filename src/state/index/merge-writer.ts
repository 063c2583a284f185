/**
 * Writes sorted entries to a run and keeps one entry for each identity: the newest that no override has made void.
 * Invariant: all entries of an identity that are not void name the same slot. The reason is that the copy reads each
 * document once up to the anchor, and settling overrides the entries of documents that it removed. Another slot would be
 * a bug, so this is asserted. The map of a target is an exception: others have filled the target, and may have left an
 * outdated copy in a second slot. Any of the slots is kept; a comparison finds the copies in the others.
 */
import { HASH_BYTES } from '../../documents/hash.ts';
import type { IndexKernel } from '../../documents/kernel/index-kernel.ts';
import { assert } from '../../lib/assert.ts';
import { MAP_INDEX } from '../segments/map-store.ts';
import type { EntryStore, Landed } from '../segments/segment-reader.ts';
import { BLOCK_ENTRIES, copyEntry, INDEX_BYTES, isSameIdentity } from './entry.ts';
import type { IndexRunStore } from './runs.ts';
import type { RowStore } from '../rows.ts';

/**
 * The limit of entries of one document. A document is copied again after a crash, so each crash adds at most one entry.
 */
const RIVALS_MAX = 1000;

export class IndexWriter {
  readonly #stores: { readonly runs: IndexRunStore; readonly entries: EntryStore; readonly rows: RowStore };
  readonly #run: number;
  readonly #isMap: boolean;
  readonly #block = Buffer.alloc(BLOCK_ENTRIES * INDEX_BYTES);
  #filled = 0;
  /** The entries of the current identity, until an entry of the next identity arrives. */
  #rivals = Buffer.alloc(INDEX_BYTES * 4);
  #rivalCount = 0;
  /** How many blocks were written. */
  blocks = 0;
  /** Every entry up to this one is in a block on the disk, or was left out. */
  readonly consumed = Buffer.alloc(INDEX_BYTES);

  constructor(
    stores: IndexWriter['stores'],
    { indexId, run }: { readonly indexId: number; readonly run: number },
  ) {
    this.#stores = stores;
    this.#run = run;
    this.#isMap = indexId === MAP_INDEX;
  }

  get stores(): { readonly runs: IndexRunStore; readonly entries: EntryStore; readonly rows: RowStore } {
    return this.#stores;
  }

  #add(entries: Buffer, at: number): void {
    if (this.#rivalCount > 0 && !isSameIdentity(entries, at, this.#rivals, 0)) this.#writeRivals();
    if (this.#isMap && this.#rivalCount === RIVALS_MAX) this.#keepOneRival();
    assert(this.#rivalCount < RIVALS_MAX, 'a document is copied only a few times');
    const to = this.#rivalCount * INDEX_BYTES;
    if (to === this.#rivals.length) this.#rivals = Buffer.concat([this.#rivals, Buffer.alloc(to)]);
    copyEntry(entries, at, this.#rivals, to);
    this.#rivalCount += 1;
  }

  /** Adds the first `count` entries that the kernel has sorted. Nearly all have an identity of their own. */
  addSorted(kernel: Pick<IndexKernel, 'sorted' | 'nextRival'>, count: number): void {
    const { sorted } = kernel;
    for (let entry = 0; entry < count; entry += 1) {
      this.#add(sorted, entry * INDEX_BYTES);
      const rival = kernel.nextRival(entry, count);
      if (rival === entry) continue;
      // The next entry has another identity, and so on up to `rival`.
      this.#writeRivals();
      this.#write(sorted, (entry + 1) * INDEX_BYTES, rival * INDEX_BYTES);
      entry = rival - 1;
    }
  }

  /** Writes the remaining entries. Called after the last `addSorted`. */
  finish(): void {
    if (this.#rivalCount > 0) this.#writeRivals();
    this.#flush();
  }

  /** Drops all rivals but one, so that their number does not grow with that of the slots. */
  #keepOneRival(): void {
    copyEntry(this.#rivals, Math.max(0, this.#choose()), this.#rivals, 0);
    this.#rivalCount = 1;
  }

  #writeRivals(): void {
    const last = (this.#rivalCount - 1) * INDEX_BYTES;
    const chosen = this.#rivalCount === 1 ? 0 : this.#choose();
    if (chosen >= 0) this.#write(this.#rivals, chosen, chosen + INDEX_BYTES);
    copyEntry(this.#rivals, last, this.#lastDone, 0);
    this.#rivalCount = 0;
  }

  /** Puts the entries of a part of `entries` into blocks. A full block is written when the next entry follows. */
  #write(entries: Buffer, from: number, until: number): void {
    for (let at = from; at < until;) {
      if (this.#filled === BLOCK_ENTRIES) this.#flush();
      const end = Math.min(until, at + (BLOCK_ENTRIES - this.#filled) * INDEX_BYTES);
      entries.copy(this.#block, this.#filled * INDEX_BYTES, at, end);
      this.#filled += (end - at) / INDEX_BYTES;
      copyEntry(entries, end - INDEX_BYTES, this.#lastDone, 0);
      at = end;
    }
  }

  /**
   * The last entry that was put into the current block or left out. It becomes `consumed` when the block is written.
   */
  readonly #lastDone = Buffer.alloc(INDEX_BYTES);

  /** Returns the offset of the newest rival that is not void, or -1. */
  #choose(): number {
    let best: { at: number; landed: Landed } | null = null;
    for (let at = 0; at < this.#rivalCount * INDEX_BYTES; at += INDEX_BYTES) {
      const landed = this.#stores.entries.read(this.#rivals, at);
      if (this.#stores.rows.isOverridden(landed)) continue;
      const isOneSlot = this.#isMap || best === null || best.landed.slot.equals(landed.slot);
      assert(isOneSlot, `the copy put ${landed.identity.toString('hex')} into one slot only`);
      if (best === null || landed.sequence > best.landed.sequence) best = { at, landed };
    }
    return best?.at ?? -1;
  }

  #flush(): void {
    const data = this.#withoutOverridden(this.#block.subarray(0, this.#filled * INDEX_BYTES));
    if (data.length > 0) {
      this.#stores.runs.addBlock(this.#run, data);
      this.blocks += 1;
    }
    this.#lastDone.copy(this.consumed);
    this.#filled = 0;
  }

  /** Returns a block without void entries. Overrides are rare, so one query finds those of the whole block. */
  #withoutOverridden(block: Buffer): Buffer {
    if (block.length === 0) return block;
    const last = block.length - INDEX_BYTES;
    const { rows, entries } = this.#stores;
    const concerned = new Set(
      rows
        .overriddenBetween(block.subarray(0, HASH_BYTES), block.subarray(last, last + HASH_BYTES))
        .map((identity) => identity.toString('latin1')),
    );
    if (concerned.size === 0) return block;
    const kept: Buffer[] = [];
    for (let at = 0; at < block.length; at += INDEX_BYTES) {
      const isConcerned = concerned.has(block.toString('latin1', at, at + HASH_BYTES));
      if (isConcerned && rows.isOverridden(entries.read(block, at))) continue;
      kept.push(block.subarray(at, at + INDEX_BYTES));
    }
    return Buffer.concat(kept);
  }
}
