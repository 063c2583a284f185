/**
 * What the copy takes out of a page: the operations that create its documents, the segments that claim them, and
 * separately the few documents that are not created. The kernel packs the plain documents (documents/packing); the others
 * are read value by value (flat-page.ts). Nearly all memory is used again by the next page, because a page has a thousand
 * documents and very few are looked at a second time. Invariant: `entry` is the number of a created document here, in the
 * segments, and among the operations: first the packed ones, then the others.
 */
import { PackedPage } from '../../documents/packing/packed-page.ts';
import type { PhysicalRange } from '../../cosmos/feed/ranges.ts';
import { must } from '../../lib/assert.ts';
import type { BufferPool } from '../../lib/buffers.ts';
import { nameIn, readEntry, type FinishedSegment } from '../../state/segments/segment.ts';
import type { Change } from '../apply/apply.ts';
import type { Slot } from '../apply/identity.ts';
import type { Version } from '../tail/source-version.ts';
import type { LockedDocuments } from '../unit/sequencer.ts';
import { CopyOperation, type Owner } from './copy-operation.ts';
import { FlatPage } from './flat-page.ts';

/** A change of a document that the copy creates. */
export type CopiedChange = Change & { readonly version: Version & { readonly slot: Slot } };

export class CopiedPage {
  /** Documents up to the anchor, including those that are not created. */
  documents = 0;
  /** How many of `documents` are left as they are in the target, which others have filled. */
  present = 0;
  /** How many of `documents` have an integer beyond 2^53. */
  longIntegers = 0;
  /** The index that the segments of the page belong to. */
  indexId = 0;
  /** Whether some documents lie beyond the anchor. They belong to the tail, and the copy of the range ends here. */
  beyond = false;
  /** Documents that are not created: refused ones, and deleted ones that the ledger may know. */
  others: Change[] = [];
  parts: readonly FinishedSegment[] = [];
  readonly effectiveKeys: string[] = [];
  /** For each packed document, the index of its range in `ranges`. */
  readonly rangeIndexes: number[] = [];
  /** The ranges of the target when the page was packed. */
  ranges: readonly PhysicalRange[] = [];
  readonly packed: PackedPage;
  readonly flat = new FlatPage();
  readonly #nameValues: number;
  #outcomes = new Float64Array(0);
  readonly #operations: CopyOperation[] = [];

  /**
   * `nameValues`: how many values name a document, which are its id and the levels of its source key. `memory`: where packed
   * documents get theirs.
   */
  constructor(nameValues: number, memory: BufferPool) {
    this.#nameValues = nameValues;
    this.packed = new PackedPage(memory);
  }

  /** How many documents are created. */
  get count(): number {
    return this.packed.count + this.flat.count;
  }

  /**
   * Whether the bytes of the page are needed until `end`, because some documents were read value by value. If all are packed,
   * the memory can be used for another page at once.
   */
  get usesPage(): boolean {
    return this.flat.count > 0;
  }

  /** The outcome number of each entry; 0 while the target has no copy of ours. */
  get outcomes(): Float64Array {
    return this.#outcomes.subarray(0, this.count);
  }

  begin(page: Buffer, { rows, indexId }: { readonly rows: number; readonly indexId: number }): void {
    if (this.#outcomes.length < rows) this.#outcomes = new Float64Array(rows);
    this.#outcomes.fill(0);
    this.indexId = indexId;
    this.packed.clear();
    this.flat.begin(page, rows);
    this.documents = this.present = this.longIntegers = 0;
    this.beyond = false;
    this.parts = [];
    this.others = [];
  }

  /** Called when all documents were added, with the segments of those that were read value by value. */
  finish(parts: readonly FinishedSegment[]): void {
    this.parts = [...this.packed.segments, ...parts];
    const { packed, flat, effectiveKeys } = this;
    for (let entry = 0; entry < flat.count; entry += 1)
      effectiveKeys[packed.count + entry] = flat.effectiveKeys[entry] ?? '';
    if (!this.usesPage) flat.end();
  }

  /** Drops all references to the bytes of the page. */
  end(): void {
    this.packed.clear();
    this.flat.end();
    this.parts = [];
    this.others = [];
  }

  /** Returns the operation that creates a document. It is also the document's turn in the sequencer. */
  operation(entry: number, owner: Owner): CopyOperation {
    const operation = (this.#operations[entry] ??= new CopyOperation(this, entry));
    operation.begin(owner);
    return operation;
  }

  /** The hashes of the packed documents from `from` up to and excluding `to`. */
  hashesOf(from: number, to: number): LockedDocuments {
    const { packed } = this;
    return { words: packed.words, at: packed.hashAt(from), stride: packed.hashAt(1), count: to - from };
  }

  /** Returns words that have the hashes of an entry at `hashAt`: four of its identity, then four of its slot. */
  wordsOf(entry: number): Uint32Array {
    return entry < this.packed.count ? this.packed.words : this.flat.hashes;
  }

  hashAt(entry: number): number {
    const { count } = this.packed;
    return entry < count ? this.packed.hashAt(entry) : this.flat.hashAt(entry - count);
  }

  operationBytes(entry: number): number {
    const { count } = this.packed;
    return entry < count
      ? this.packed.operationBytes(entry, entry + 1)
      : this.flat.operationBytes(entry - count);
  }

  /** Writes an operation into the body of a batch. `nowTs` is the service's time in seconds. */
  writeOperation(entry: number, body: Buffer, at: number, nowTs: number): void {
    const { count } = this.packed;
    if (entry < count) this.packed.copyOperations(entry, entry + 1, body, at);
    else this.flat.writeOperation(entry - count, body, at, nowTs);
  }

  /** Returns the document as a change, for the slow path. */
  change(entry: number): CopiedChange {
    const { packed, flat } = this;
    const isPacked = entry < packed.count;
    const [part, position] = this.#stored(entry);
    const { identity, slot, targetKey, lsn } = readEntry(part, position);
    const etag = isPacked ? packed.etag(entry) : flat.etag(entry - packed.count);
    return {
      identity: { hash: Buffer.from(identity), name: nameIn(part.names, this.#nameValues, position) },
      version: {
        etag: etag === '' ? '' : decodedEtag(etag),
        slot: { hash: Buffer.from(slot), key: targetKey },
        refusal: null,
        body: isPacked ? packed.document(entry) : flat.document(entry - packed.count),
        lifetime: isPacked ? undefined : flat.lifetime(entry - packed.count),
      },
      feed: 'LV',
      lsn,
      indexId: this.indexId,
    };
  }

  #stored(entry: number): readonly [part: FinishedSegment, position: number] {
    let position = entry;
    const part = this.parts.find(({ count }) => position < count || ((position -= count), false));
    return [must(part, 'a document that is created is in the segments of its page'), position];
  }
}

function decodedEtag(text: string): string {
  const etag: unknown = JSON.parse(text);
  return typeof etag === 'string' ? etag : '';
}
