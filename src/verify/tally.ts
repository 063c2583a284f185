/**
 * What one side has contributed so far: pages in, sums and runs out. What always holds: a page is taken whole or not at
 * all, and between two pages sums, runs and positions belong together.
 */
import { hashBytes } from '../documents/identity.ts';
import { PageError } from '../documents/page-error.ts';
import { latestVersionScan, type PageScan } from '../documents/scan.ts';
import type { KeyComponent } from '../keys/effective-key.ts';
import { bucketOf, Buckets } from './buckets.ts';
import { Guard, isSampled } from './guard.ts';
import { integerAt } from './integer.ts';
import { rowPaths, SourceRows, TargetRows, type RowOptions } from './rows.ts';
import { Runs, shelfOf } from './runs.ts';
import type { SideName } from './sides.ts';

export interface Taken {
  /** Documents up to the fence. */
  readonly documents: number;
  /** There are some beyond it: there is nothing more to read. */
  readonly isBeyond: boolean;
}

/** In the place of a content: a document that cannot be moved, and must have its letter. */
const REFUSED = [0x7265_6675, 0x7365_6400, 0, 0] as const;
const NO_KEY: readonly KeyComponent[] = [];

export class SideTally {
  readonly buckets: Buckets;
  readonly runs = new Runs();
  /** Documents that cannot be moved, by reason. */
  readonly refused: Record<string, number>;
  readonly #scan: PageScan;
  readonly #rows: { readonly source: SourceRows } | { readonly target: TargetRows };
  readonly #guard: Guard;
  /** Identity and contribution, as they stand in a run; then what the guard says. */
  readonly #head = new Uint32Array(12);
  readonly #headBytes = new Uint8Array(this.#head.buffer, 0, 32);

  constructor(
    is: SideName,
    options: RowOptions,
    sums?: { readonly buckets: Buffer; readonly refused: Readonly<Record<string, number>> },
  ) {
    const { plan, ttl } = options.rekey;
    this.buckets = new Buckets(sums?.buckets);
    this.refused = { ...sums?.refused };
    this.#scan = latestVersionScan(rowPaths(options));
    this.#rows =
      is === 'source'
        ? { source: new SourceRows(this.#scan, options) }
        : { target: new TargetRows(this.#scan, options) };
    this.#guard = new Guard(plan, {
      keyPaths: is === 'source' ? plan.sourcePaths : plan.sourcePathsInTarget,
      ttl: ttl.mode === 'restart' ? 'compared' : 'left out',
    });
  }

  /** Takes a page in; a damaged one throws a PageError, and then nothing of it is taken. */
  take(page: Buffer, fenceLsn: number): Taken {
    const scan = this.#scan.scan(page);
    let documents = 0;
    for (let row = 0; row < scan.count; row += 1) {
      const lsn = integerAt(scan, row, scan.nodes.lsn);
      if (lsn === null) throw new PageError('a document has no _lsn', scan.elementStart(row));
      if (lsn <= fenceLsn) documents += 1;
    }
    const isBeyond = documents < scan.count;
    for (let row = 0; row < scan.count; row += 1)
      if (!isBeyond || (integerAt(scan, row, scan.nodes.lsn) ?? 0) <= fenceLsn) this.#takeRow(row);
    return { documents, isBeyond };
  }

  #takeRow(row: number): void {
    if ('target' in this.#rows) {
      const { target } = this.#rows;
      target.read(row);
      this.#add(row, {
        words: target.words,
        sizeBytes: target.sizeBytes,
        key: NO_KEY,
        nodes: target.nameNodes,
      });
      return;
    }
    const { source } = this.#rows;
    const verdict = source.read(row);
    if (verdict === 'marked') return;
    const { words, sizeBytes, nameNodes: nodes } = source;
    if (verdict === 'refused') {
      const { reason } = source.refusal;
      this.refused[reason] = (this.refused[reason] ?? 0) + 1;
      words.fill(0, 4);
      words.set(REFUSED, 8);
      this.#add(row, { words, sizeBytes: 0, key: NO_KEY, nodes });
    } else this.#add(row, { words, sizeBytes, key: source.key, nodes });
  }

  #add(row: number, { words, sizeBytes, key, nodes }: RowParts): void {
    const head = this.#head;
    for (let i = 0; i < 4; i += 1) head[i] = words[i] ?? 0;
    hashBytes(new Uint8Array(words.buffer), head, 4);
    const bucket = bucketOf(head, 0);
    this.buckets.add(bucket, { sizeBytes, hash: head, at: 4 });
    this.runs.add(shelfOf(bucket), this.#headBytes, { scan: this.#scan, row, nodes, values: key });
    // Of a document that is not to be moved there is nothing on the other side.
    if (sizeBytes === 0 || !isSampled(head, 0)) return;
    this.#guard.read(this.#scan.bytes(row, this.#scan.nodes.document), head, head, 8);
    this.buckets.addGuard(bucket, head, 8);
  }
}

interface RowParts {
  readonly words: Uint32Array;
  readonly sizeBytes: number;
  readonly key: readonly KeyComponent[];
  readonly nodes: readonly number[];
}
