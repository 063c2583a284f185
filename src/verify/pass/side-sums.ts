/**
 * The sums of one side: computes buckets and entries from pages. Invariant: a damaged page adds nothing, and between
 * two pages buckets and entries agree.
 */
import { hashBytes } from '../../documents/hash.ts';
import { Digests, ENTRY } from '../../documents/comparison-entries.ts';
import { latestVersionScan, type PageScan } from '../../documents/page-scan.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { bucketOf, Buckets } from './buckets.ts';
import { JsonCrossCheck, isSampled } from './json-cross-check.ts';
import { comparesInstants, rowPaths, SourceRows, TargetRows, type RowOptions } from './rows.ts';
import { instantWord } from './expiry.ts';
import { EntryBuffer } from './entry-chunks.ts';
import type { Taken } from '../../cosmos/feed/fenced-pass.ts';
import type { SideName } from '../../cosmos/side.ts';
import type { Sums } from '../store.ts';

/** Replaces the content hash of a document that cannot be moved, and for which the ledger must have a dead letter. */
const REFUSED = [0x7265_6675, 0x7365_6400, 0, 0] as const;
const NO_KEY: readonly KeyComponent[] = [];

export class SideSums {
  readonly buckets: Buckets;
  readonly entries = new EntryBuffer();
  /** The number of documents that cannot be moved, by reason. */
  readonly refused: Record<string, number>;
  /** The number of documents with an integer beyond 2^53. */
  longIntegers: number;
  readonly #scan: PageScan;
  readonly #rows: { readonly source: SourceRows } | { readonly target: TargetRows };
  readonly #digests: Digests;
  readonly #crossCheck: JsonCrossCheck;
  /** The identity and the contribution of a row, four words each, as in an entry. */
  readonly #head = new Uint32Array(8);
  readonly #crossHash = new Uint32Array(4);
  readonly #hasInstants: boolean;

  constructor(is: SideName, options: RowOptions, sums?: Omit<Sums, 'repeated'>) {
    this.buckets = new Buckets(sums?.buckets);
    this.refused = { ...sums?.refused };
    this.longIntegers = sums?.longIntegers ?? 0;
    this.#scan = latestVersionScan(rowPaths(options));
    const rows = is === 'source' ? new SourceRows(this.#scan, options) : new TargetRows(this.#scan, options);
    this.#rows = rows instanceof SourceRows ? { source: rows } : { target: rows };
    this.#digests = new Digests(this.#scan, rows.entryNodes);
    this.#crossCheck = new JsonCrossCheck(is, options.rekey);
    this.#hasInstants = comparesInstants(options);
  }

  /** Adds a page to the sums. Throws a PageError for a damaged page, of which nothing is added. */
  take(page: Buffer, fenceLsn: number): Taken {
    const scan = this.#scan.scan(page);
    let first = 0;
    const documents = this.#digests.read(fenceLsn, {
      take: (entries) => (first = this.entries.append(entries)),
      entry: (row, atWord, sizeBytes) => {
        if (scan.hasLongInteger(row)) this.longIntegers += 1;
        this.entries.read(first + atWord, (words, at) =>
          this.#sum(row, { words, at: at + ENTRY.identity, sizeBytes }),
        );
      },
      left: (row) => {
        if (scan.hasLongInteger(row)) this.longIntegers += 1;
        this.#takeRow(row);
      },
    });
    return { documents, isBeyond: documents < scan.count };
  }

  #takeRow(row: number): void {
    if ('target' in this.#rows) {
      const { target } = this.#rows;
      if (target.read(row) === 'none') return;
      const { words, sizeBytes, expiry, nameNodes: nodes, nameValues: key } = target;
      this.#add(row, { words, sizeBytes, expiry, key, nodes });
      return;
    }
    const { source } = this.#rows;
    const verdict = source.read(row);
    if (verdict === 'marked') return;
    const { words, sizeBytes, expiry, nameNodes: nodes } = source;
    if (verdict === 'refused') {
      const { reason } = source.refusal;
      this.refused[reason] = (this.refused[reason] ?? 0) + 1;
      words.fill(0, 4);
      words.set(REFUSED, 8);
      this.#add(row, { words, sizeBytes: 0, expiry, key: NO_KEY, nodes });
    } else this.#add(row, { words, sizeBytes, expiry, key: source.key, nodes });
  }

  #add(row: number, { words, sizeBytes, expiry, key, nodes }: RowParts): void {
    const head = this.#head;
    for (let i = 0; i < 4; i += 1) head[i] = words[i] ?? 0;
    hashBytes(new Uint8Array(words.buffer), head, 4);
    const instant = this.#hasInstants ? instantWord(expiry) : undefined;
    this.entries.add(head, { scan: this.#scan, row, nodes, values: key }, instant);
    this.#sum(row, { words: head, at: 0, sizeBytes });
  }

  /** Adds a row to its bucket. The identity is at `words[at]`; the contribution follows it. */
  #sum(row: number, { words, at, sizeBytes }: Summed): void {
    const bucket = bucketOf(words, at);
    this.buckets.add(bucket, { sizeBytes, hash: words, at: at + 4 });
    // A document that is not moved has no copy with which the cross-check could compare it.
    if (sizeBytes === 0 || !isSampled(words, at)) return;
    const identity = words.slice(at, at + 4);
    this.#crossCheck.read(this.#scan.bytes(row, this.#scan.nodes.document), identity, this.#crossHash, 0);
    this.buckets.addCrossCheck(bucket, this.#crossHash, 0);
  }
}

interface Summed {
  readonly words: Uint32Array;
  readonly at: number;
  readonly sizeBytes: number;
}

interface RowParts {
  readonly words: Uint32Array;
  readonly sizeBytes: number;
  readonly expiry: number | undefined;
  readonly key: readonly KeyComponent[];
  readonly nodes: readonly number[];
}
