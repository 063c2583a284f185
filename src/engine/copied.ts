/**
 * What the copy takes out of a page, in one pass: the operations that create its documents, the segment that claims
 * them, and apart from these the few documents that are not created. Flat, because a page has a thousand documents and
 * nearly none of them is ever looked at again.
 *
 * The rule of scans: everything is taken out of a page in one go, before anybody awaits.
 */
import { BatchBody } from '../documents/batch-body.ts';
import { ByteOutput } from '../documents/byte-output.ts';
import { shifted, type Lifetime } from '../documents/lifetime.ts';
import { latestVersionScan, type PageScan } from '../documents/scan.ts';
import { must } from '../lib/assert.ts';
import { readEntry, SegmentBuilder, type Part, type Stored } from '../state/segment.ts';
import type { Change } from './apply.ts';
import type { Mover } from './mover.ts';
import { versionPaths, VersionReader } from './version.ts';

export interface Reading {
  readonly anchorLsn: number;
  /** The service's time in seconds. */
  readonly nowTs: number;
  readonly tree: number;
}

/**
 * Where an operation starts, its document, where that ends, and where the operation ends. Behind it stand the texts
 * that name the document, and last its etag, each up to its mark: nothing of the page is needed any more.
 */
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
  readonly #texts: number;
  readonly #marks: Int32Array;
  /** Of documents that end; nothing where none of them does. */
  readonly #lifetimes: Lifetime[] = [];
  #bytes: Buffer = Buffer.alloc(0);

  /** So many `rows`, and so many `texts` for each. */
  constructor({ rows, texts }: { readonly rows: number; readonly texts: number }) {
    this.#texts = texts;
    this.hashes = new Uint32Array(rows * 8);
    this.lsns = new Float64Array(rows);
    this.#marks = new Int32Array(rows * (MARKS + texts));
  }

  /** Where something of the next document ends; marks come in their order. */
  mark(which: number, at: number): void {
    this.#marks[this.count * (MARKS + this.#texts) + which] = at;
  }

  /** The next document ends. */
  ends(lifetime: Lifetime): void {
    this.#lifetimes[this.count] = lifetime;
  }

  /** The document that was marked is complete. */
  add({ hashes, place, lsn }: Entry): void {
    this.hashes.set(hashes, this.count * 8);
    this.places.push(place);
    this.lsns[this.count] = lsn;
    this.count += 1;
  }

  finish(bytes: Buffer, parts: readonly Part[]): void {
    this.#bytes = bytes;
    this.parts = parts;
  }

  /** The operation that creates a document: its size, and its bytes written elsewhere. */
  operationBytes(entry: number): number {
    return this.#markOf(entry, 3) - this.#markOf(entry, 0);
  }

  writeOperation(entry: number, body: Buffer, at: number): void {
    this.#bytes.copy(body, at, this.#markOf(entry, 0), this.#markOf(entry, 3));
  }

  /** When a document ends, as its operation says. */
  lifetime(entry: number): Lifetime | undefined {
    return this.#lifetimeFrom(entry, 0);
  }

  /** The same document for the long way. */
  change(entry: number, tree: number): Change {
    const body = Buffer.from(this.#bytes.subarray(this.#markOf(entry, 1), this.#markOf(entry, 2)));
    const texts = Array.from({ length: this.#texts }, (_, i) => this.#text(entry, i));
    const etag = texts.pop() ?? null;
    const { identity, slot, targetKey } = this.#stored(entry);
    return {
      who: { hash: identity, name: texts },
      kind: 'upsert',
      version: {
        etag: etag === null ? '' : decodedEtag(etag),
        slot: { hash: slot, key: targetKey },
        refusal: null,
        body,
        lifetime: this.#lifetimeFrom(entry, 1),
      },
      feed: 'LV',
      lsn: this.lsns[entry] ?? null,
      tree,
    };
  }

  #lifetimeFrom(entry: number, mark: number): Lifetime | undefined {
    const lifetime = this.#lifetimes[entry];
    return lifetime && shifted(lifetime, this.#markOf(entry, mark));
  }

  #stored(entry: number): Stored {
    let place = entry;
    const part = this.parts.find(({ count }) => place < count || ((place -= count), false));
    return readEntry(must(part, 'a document that is created is in the segments of its page'), place);
  }

  #text(entry: number, text: number): string | null {
    const start = this.#markOf(entry, MARKS - 1 + text);
    const end = this.#markOf(entry, MARKS + text);
    return start === end ? null : this.#bytes.toString('utf8', start, end);
  }

  #markOf(entry: number, which: number): number {
    return this.#marks[entry * (MARKS + this.#texts) + which] ?? 0;
  }
}

function decodedEtag(text: string): string {
  const etag: unknown = JSON.parse(text);
  return typeof etag === 'string' ? etag : '';
}

interface Entry {
  /** Identity and slot. */
  readonly hashes: Uint32Array;
  readonly place: string;
  readonly lsn: number;
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
    const copied = new Copied({ rows: scan.count, texts: this.#name.length + 1 });
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
    if (rekey.lifetime !== undefined) copied.ends(rekey.lifetime);
    copied.mark(2, out.length);
    body.end();
    copied.mark(3, out.length);
    const { hashes, key } = rekey;
    const { etag } = scan.nodes;
    this.#segment.add({ hashes, targetKey: key, etag: null, lsn });
    this.#segment.etag(scan.page, scan.start(row, etag), scan.end(row, etag));
    for (let text = 0; text <= this.#name.length; text += 1) {
      const node = this.#name[text] ?? etag;
      const [start, end] = [scan.start(row, node), scan.end(row, node)];
      if (start !== 0) out.putSlice(scan.page, start, end);
      copied.mark(MARKS + text, out.length);
      if (text < this.#name.length) this.#segment.name(scan.page, start, end);
    }
    copied.add({ hashes, place: rekey.effectiveKey(), lsn });
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
