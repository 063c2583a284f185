/**
 * What the copy takes out of a page, in one pass: the operations that create its documents, the segment that claims
 * them, and apart from these the few documents that are not created. Flat, because a page has a thousand documents and
 * nearly none of them is ever looked at again.
 *
 * The rule of scans: everything is taken out of a page in one go, before anybody awaits.
 */
import { BatchBody } from '../documents/batch-body.ts';
import { ByteOutput } from '../documents/byte-output.ts';
import { latestVersionScan, type PageScan } from '../documents/scan.ts';
import type { KeyComponent } from '../keys/effective-key.ts';
import { must } from '../lib/assert.ts';
import { hashToBytes, SegmentBuilder, type Part } from '../state/segment.ts';
import type { Change } from './apply.ts';
import type { Mover } from './mover.ts';
import { versionPaths, VersionReader } from './version.ts';

export interface Reading {
  readonly anchorLsn: number;
  /** The service's time in seconds. */
  readonly nowTs: number;
  readonly tree: number;
}

/** Where an operation starts, its document, where that ends, and where the operation ends. */
const MARKS = 4;

export class Copied {
  /** How many documents are created. */
  count = 0;
  /** Documents up to the anchor, those that are not created as well. */
  documents = 0;
  /** Some lie beyond it: they belong to the tail, and the copy of the range ends here. */
  beyond = false;
  /** Identity and slot of each. */
  readonly hashes: Uint32Array;
  readonly places: string[] = [];
  readonly lsns: Float64Array;
  parts: readonly Part[] = [];
  /** Those that do not move: refused, or deleted and perhaps known. */
  readonly others: Change[] = [];
  readonly #page: Buffer;
  readonly #width: number;
  readonly #names: Int32Array;
  readonly #marks: Int32Array;
  readonly #keys: (readonly KeyComponent[])[] = [];
  readonly #etags: string[] = [];
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(page: Buffer, { rows, width }: { readonly rows: number; readonly width: number }) {
    this.#page = page;
    this.#width = width;
    this.hashes = new Uint32Array(rows * 8);
    this.lsns = new Float64Array(rows);
    this.#names = new Int32Array(rows * width * 2);
    this.#marks = new Int32Array(rows * MARKS);
  }

  /** Notes the next document that is created; its name follows, value by value. */
  add(entry: {
    readonly hashes: Uint32Array;
    readonly place: string;
    readonly key: readonly KeyComponent[];
    readonly etag: string;
    readonly lsn: number;
  }): void {
    this.hashes.set(entry.hashes, this.count * 8);
    this.places.push(entry.place);
    this.#keys.push(entry.key);
    this.#etags.push(entry.etag);
    this.lsns[this.count] = entry.lsn;
    this.count += 1;
  }

  name(value: number, start: number, end: number): void {
    const at = ((this.count - 1) * this.#width + value) * 2;
    this.#names[at] = start;
    this.#names[at + 1] = end;
  }

  mark(which: number, at: number): void {
    this.#marks[this.count * MARKS + which] = at;
  }

  finish(bytes: Uint8Array, parts: readonly Part[]): void {
    this.#bytes = bytes;
    this.parts = parts;
  }

  /** The operation that creates a document. */
  operation(entry: number): Uint8Array {
    const at = entry * MARKS;
    return this.#bytes.subarray(this.#marks[at], this.#marks[at + 3]);
  }

  /** The same document for the long way. */
  change(entry: number, tree: number): Change {
    const at = entry * MARKS;
    const body = Buffer.from(this.#bytes.subarray(this.#marks[at + 1], this.#marks[at + 2]));
    const name = Array.from({ length: this.#width }, (_, value) => this.#text(entry, value));
    const slot = {
      hash: hashToBytes(this.hashes, entry * 8 + 4),
      key: must(this.#keys[entry], 'a document that is created has a key'),
    };
    const etag = must(this.#etags[entry], 'and an etag');
    return {
      who: { hash: hashToBytes(this.hashes, entry * 8), name },
      kind: 'upsert',
      version: { etag, slot, refusal: null, body },
      feed: 'LV',
      lsn: this.lsns[entry] ?? null,
      tree,
    };
  }

  #text(entry: number, value: number): string | null {
    const at = (entry * this.#width + value) * 2;
    const [start, end] = [this.#names[at] ?? 0, this.#names[at + 1] ?? 0];
    return start === 0 ? null : this.#page.toString('utf8', start, end);
  }
}

/** More pages than these are hardly ever under way, and memory that lies about is memory used. */
const OUTPUTS_MAX = 64;

/** Takes documents out of pages; one is enough for all ranges. */
export class CopyReader {
  readonly #mover: Mover;
  readonly #scan: PageScan;
  readonly #versions: VersionReader;
  readonly #segment = new SegmentBuilder();
  readonly #name: readonly number[];
  /** Memory of pages that are over. */
  readonly #outputs: ByteOutput[] = [];

  constructor(mover: Mover) {
    this.#mover = mover;
    this.#scan = latestVersionScan(versionPaths(mover.versions));
    this.#versions = new VersionReader(this.#scan, mover.versions);
    const { sourcePaths } = mover.plan;
    this.#name = [this.#scan.nodes.id, ...sourcePaths.map((path) => this.#scan.nodeAt(path))];
  }

  /** Throws a PageError for a damaged page. `output` is free again after `giveBack`. */
  read(page: Buffer, { anchorLsn, nowTs, tree }: Reading): { copied: Copied; output: ByteOutput } {
    const scan = this.#scan.scan(page);
    const output = this.#outputs.pop() ?? new ByteOutput(page.length + page.length / 8);
    const body = new BatchBody(output);
    const copied = new Copied(page, { rows: scan.count, width: this.#name.length });
    const versions = this.#versions;
    for (let row = 0; row < scan.count; row += 1) {
      const lsn = versions.lsn(row) ?? 0;
      if (lsn > anchorLsn) {
        copied.beyond = true;
        continue;
      }
      copied.documents += 1;
      if (versions.rekey.read(row, nowTs) === 'moves' && !versions.isMarked(row))
        this.#add(row, { copied, body, lsn });
      else this.#addOther(row, { copied, nowTs, tree });
    }
    copied.finish(output.view(), this.#segment.finish());
    return { copied, output };
  }

  giveBack(output: ByteOutput): void {
    if (this.#outputs.length < OUTPUTS_MAX) this.#outputs.push(output);
  }

  #add(
    row: number,
    { copied, body, lsn }: { readonly copied: Copied; readonly body: BatchBody; readonly lsn: number },
  ): void {
    const { rekey } = this.#versions;
    const scan = this.#scan;
    const { out } = body;
    // Behind the bracket, or the comma that follows.
    copied.mark(0, copied.count === 0 ? out.length : out.length + 1);
    body.create(rekey.key);
    copied.mark(1, out.length);
    rekey.write(out);
    copied.mark(2, out.length);
    body.end();
    copied.mark(3, out.length);
    const { hashes, key } = rekey;
    const etag = this.#versions.etag(row);
    copied.add({ hashes, place: rekey.effectiveKey(), key, etag, lsn });
    this.#segment.add({ hashes, targetKey: key, etag, lsn });
    for (let value = 0; value < this.#name.length; value += 1) {
      const node = this.#name[value] ?? 0;
      const [start, end] = [scan.start(row, node), scan.end(row, node)];
      copied.name(value, start, end);
      this.#segment.name(scan.page, start, end);
    }
  }

  /** A document that is not created; there may be nothing to do about it. */
  #addOther(
    row: number,
    { copied, nowTs, tree }: { readonly copied: Copied; readonly nowTs: number; readonly tree: number },
  ): void {
    const { who, version, lsn } = this.#versions.read(row, nowTs);
    if (version !== 'gone') copied.others.push({ who, kind: 'upsert', version, feed: 'LV', lsn, tree });
    else if (this.#mover.memory.filter.mayHave(this.#versions.rekey.hashes, 0))
      copied.others.push({ who, kind: 'delete', version: null, feed: 'LV', lsn, tree });
  }
}
