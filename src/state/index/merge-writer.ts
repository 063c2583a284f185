/**
 * Owns what becomes of sorted entries on their way into a run: of each identity one stays. Entries that were cancelled by
 * an override leave; what is left of a document names one slot, since the copy sees each document once up to the
 * anchor and settling overrides what it has removed. Two slots would be a hole in that, so it is asserted.
 */
import { HASH_BYTES } from '../../documents/hash.ts';
import { assert } from '../../lib/assert.ts';
import type { EntryStore, Landed } from '../segments/segment-reader.ts';
import { BLOCK_ENTRIES, copyEntry, INDEX_BYTES, isSameIdentity } from './entry.ts';
import type { IndexRunStore } from './runs.ts';
import type { RowStore } from '../rows.ts';

/** Versions of one document that were copied before and after crashes; each crash adds one at most. */
const RIVALS_MAX = 1000;

export class IndexWriter {
  readonly #stores: { readonly runs: IndexRunStore; readonly entries: EntryStore; readonly rows: RowStore };
  readonly #run: number;
  readonly #block = Buffer.alloc(BLOCK_ENTRIES * INDEX_BYTES);
  #filled = 0;
  /** Entries of one identity, until the next identity shows that there are no more. */
  #rivals = Buffer.alloc(INDEX_BYTES * 4);
  #rivalCount = 0;
  /** Blocks written so far. */
  blocks = 0;
  /** Everything up to here is on disk or left out. */
  readonly consumed = Buffer.alloc(INDEX_BYTES);

  constructor(stores: IndexWriter['stores'], run: number) {
    this.#stores = stores;
    this.#run = run;
  }

  get stores(): { readonly runs: IndexRunStore; readonly entries: EntryStore; readonly rows: RowStore } {
    return this.#stores;
  }

  add(entries: Buffer, at: number): void {
    if (this.#rivalCount > 0 && !isSameIdentity(entries, at, this.#rivals, 0)) this.#settle();
    assert(this.#rivalCount < RIVALS_MAX, 'a document is copied a few times at most');
    const to = this.#rivalCount * INDEX_BYTES;
    if (to === this.#rivals.length) this.#rivals = Buffer.concat([this.#rivals, Buffer.alloc(to)]);
    copyEntry(entries, at, this.#rivals, to);
    this.#rivalCount += 1;
  }

  /** No entry follows. */
  finish(): void {
    if (this.#rivalCount > 0) this.#settle();
    this.#flush();
  }

  #settle(): void {
    const last = (this.#rivalCount - 1) * INDEX_BYTES;
    const chosen = this.#rivalCount === 1 ? 0 : this.#choose();
    if (chosen >= 0) {
      if (this.#filled === BLOCK_ENTRIES) this.#flush();
      copyEntry(this.#rivals, chosen, this.#block, this.#filled * INDEX_BYTES);
      this.#filled += 1;
    }
    copyEntry(this.#rivals, last, this.#settled, 0);
    this.#rivalCount = 0;
  }

  /** The last entry that is in the block, or was left out. */
  readonly #settled = Buffer.alloc(INDEX_BYTES);

  /** Where the newest that still counts stands, or -1. */
  #choose(): number {
    let best: { at: number; landed: Landed } | null = null;
    for (let at = 0; at < this.#rivalCount * INDEX_BYTES; at += INDEX_BYTES) {
      const landed = this.#stores.entries.read(this.#rivals, at);
      if (this.#stores.rows.isOverridden(landed)) continue;
      const isOneSlot = best === null || best.landed.slot.equals(landed.slot);
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
    this.#settled.copy(this.consumed);
    this.#filled = 0;
  }

  /** Overrides are few: a block asks once whether any concerns it. */
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
