/**
 * What is compared of a row: identity, slot and content. For a source document, slot and content are what Rekey would
 * write; for a target document, what is stored. Invariant: the two are equal, word for word, when the document was moved
 * correctly.
 */
import { hashContentBytes } from '../../documents/hash.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import type { EntryNodes } from '../../documents/comparison-entries.ts';
import { decodeScalar, isComposite } from '../../documents/scalar.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { Edits, spliceDocument } from '../../documents/splice.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import {
  DOCUMENT_BYTES_MAX,
  Placement,
  Rekey,
  rekeyPaths,
  type DocumentRefusal,
  type RekeyOptions,
} from '../../keys/rekey.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { must } from '../../lib/assert.ts';
import { markingTs, ownTtl, sourceExpiry, targetExpiry, TTL_MARK } from './expiry.ts';

export interface RowOptions {
  readonly rekey: RekeyOptions;
  /** The property that marks a document as deleted. */
  readonly marker: Path | null;
}

/** The paths that a scan must find. */
export function rowPaths({ rekey, marker }: RowOptions): readonly Path[] {
  return marker === null ? rekeyPaths(rekey.plan) : [...rekeyPaths(rekey.plan), marker];
}

/** `moves`: the document should be in the target. `marked`: it is marked as deleted. */
export type SourceVerdict = 'moves' | 'refused' | 'marked';

/** Words of a row: identity, slot and content, four each. */
export const ROW_WORDS = 12;
const CONTENT = 8;

/** A string of up to this length is a valid key value in every container. */
const PLAIN_KEY_BYTES_MAX = 100;
/** Smaller than any document, so the kernel leaves every row to this class. */
const NONE_BYTES_MAX = 0;

export class SourceRows {
  readonly words = new Uint32Array(ROW_WORDS);
  /** Size of the target document. */
  sizeBytes = 0;
  /** When the document expires, where that is compared. */
  expiry: number | undefined;
  /** Scan nodes of the values that name a document. */
  readonly nameNodes: readonly number[];
  /** For the kernel, which reads those rows in bulk that need no computation. */
  readonly entryNodes: EntryNodes;
  readonly #scan: PageScan;
  readonly #options: RowOptions;
  readonly #rekey: Rekey;
  readonly #marker: number | undefined;
  readonly #out = new ByteOutput();
  /** The target document is the source document without its system properties. */
  readonly #isCarried: boolean;

  constructor(scan: PageScan, options: RowOptions) {
    const { plan, ttl } = options.rekey;
    this.#scan = scan;
    this.#options = options;
    this.#rekey = new Rekey(scan, options.rekey);
    this.#marker = options.marker === null ? undefined : scan.nodeAt(options.marker);
    this.#isCarried = plan.additionPaths.length === 0 && ttl.mode === 'restart';
    this.nameNodes = [scan.nodes.id, ...plan.sourcePaths.map((path) => scan.nodeAt(path))];
    const slot = plan.targetPaths.map((path) => scan.nodeAt(path));
    this.entryNodes = {
      identity: this.nameNodes,
      slot: [scan.nodes.id, ...slot],
      name: [...this.nameNodes, ...slot],
      stop: this.#marker,
      plainKeyBytesMax: PLAIN_KEY_BYTES_MAX,
      documentBytesMax: this.#isCarried ? DOCUMENT_BYTES_MAX : NONE_BYTES_MAX,
    };
  }

  /** The target key; empty where it has none. */
  get key(): readonly KeyComponent[] {
    return this.#rekey.key;
  }

  /** Why the document cannot be moved. */
  get refusal(): DocumentRefusal {
    return must(this.#rekey.refusal, 'what is refused has a reason');
  }

  read(row: number): SourceVerdict {
    const { words } = this;
    const rekey = this.#rekey;
    this.expiry = sourceExpiry(this.#scan, row, this.#options.rekey.ttl);
    const verdict = rekey.read(row, markingTs(this.expiry));
    words.set(rekey.hashes);
    words.fill(0, CONTENT);
    this.sizeBytes = 0;
    if (this.#isMarked(row)) return 'marked';
    if (verdict === 'refused') return 'refused';
    if (this.#isCarried) {
      this.#scan.hashContent(row, words, CONTENT);
      this.sizeBytes = keptBytes(this.#scan, row);
    } else {
      const body = this.body();
      hashContentBytes(body, words, CONTENT);
      this.sizeBytes = body.length;
    }
    return 'moves';
  }

  /** The target document of the row read last, which must move; valid until the next call. */
  body(): Buffer {
    this.#out.clear();
    this.#rekey.write(this.#out);
    return this.#out.view();
  }

  /** Whether the document is marked as deleted: its marker exists and is not false, null, 0 or "". */
  #isMarked(row: number): boolean {
    if (this.#marker === undefined) return false;
    const [start, end] = [this.#scan.start(row, this.#marker), this.#scan.end(row, this.#marker)];
    if (start === 0) return false;
    return isComposite(this.#scan.page, start) || Boolean(decodeScalar(this.#scan.page, start, end));
  }
}

export class TargetRows {
  readonly words = new Uint32Array(ROW_WORDS);
  sizeBytes = 0;
  expiry: number | undefined;
  readonly nameNodes: readonly number[];
  readonly entryNodes: EntryNodes;
  readonly #scan: PageScan;
  readonly #options: RowOptions;
  readonly #placement: Placement;
  readonly #edits = new Edits();
  readonly #out = new ByteOutput();

  constructor(scan: PageScan, options: RowOptions) {
    const { plan, ttl } = options.rekey;
    const { id } = scan.nodes;
    this.#scan = scan;
    this.#options = options;
    this.#placement = new Placement(scan, plan);
    const identity = plan.sourcePathsInTarget.map((path) => scan.nodeAt(path));
    const slot = plan.targetPaths.map((path) => scan.nodeAt(path));
    this.nameNodes = [id, ...identity, ...slot];
    this.entryNodes = {
      identity: [id, ...identity],
      slot: [id, ...slot],
      name: this.nameNodes,
      stop: undefined,
      plainKeyBytesMax: undefined,
      documentBytesMax: ttl.mode === 'restart' ? DOCUMENT_BYTES_MAX : NONE_BYTES_MAX,
    };
  }

  read(row: number): void {
    const { words } = this;
    const { ttl } = this.#options.rekey;
    this.#placement.read(row);
    words.set(this.#placement.hashes);
    this.expiry = targetExpiry(this.#scan, row, ttl);
    if (ttl.mode === 'restart') {
      this.#scan.hashContent(row, words, CONTENT);
      this.sizeBytes = keptBytes(this.#scan, row);
      return;
    }
    const body = this.body(row);
    hashContentBytes(body, words, CONTENT);
    this.sizeBytes = body.length;
  }

  /** The document of a row as it is compared; valid until the next call. */
  body(row: number): Buffer {
    const scan = this.#scan;
    this.#edits.clear();
    if (this.#options.rekey.ttl.mode === 'remaining' && ownTtl(scan, row) !== undefined)
      this.#edits.add(scan.start(row, scan.nodes.ttl), scan.end(row, scan.nodes.ttl), String(TTL_MARK));
    this.#out.clear();
    spliceDocument(this.#out, scan, row, this.#edits);
    return this.#out.view();
  }
}

/** The size of a row's document without the system properties. */
function keptBytes(scan: PageScan, row: number): number {
  const { document } = scan.nodes;
  let size = scan.end(row, document) - scan.start(row, document);
  for (let cut = scan.firstCut(row); cut < scan.lastCut(row); cut += 1)
    size -= scan.cutEnd(cut) - scan.cutStart(cut);
  return size;
}
