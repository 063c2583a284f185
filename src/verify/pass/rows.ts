/**
 * Rows of a scan as both sides are compared by: who a document is, where it should be, and the content it should have
 * there. Of the source that is what Rekey would write; of the target it is what stands there. What always holds: the
 * two are equal, word for word, when the mover has done what it should.
 */
import { ByteOutput } from '../../documents/byte-output.ts';
import type { EntryNodes } from '../../documents/comparison-entries.ts';
import { hashContentBytes } from '../../documents/identity.ts';
import { decodeScalar, isComposite } from '../../documents/scalar.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { Edits, spliceDocument } from '../../documents/splice.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import {
  DOCUMENT_BYTES_MAX,
  Placement,
  Rekey,
  rekeyPaths,
  type Refusal,
  type RekeyOptions,
} from '../../keys/rekey.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import { must } from '../../lib/assert.ts';
import { markingTs, ownTtl, sourceExpiry, targetExpiry, TTL_MARK } from './expiry.ts';

export interface RowOptions {
  readonly rekey: RekeyOptions;
  /** A property that marks a deleted document. */
  readonly marker: Path | null;
}

/** What a scan must look for. */
export function rowPaths({ rekey, marker }: RowOptions): readonly Path[] {
  return marker === null ? rekeyPaths(rekey.plan) : [...rekeyPaths(rekey.plan), marker];
}

/** `moves`: it should be in the target. */
export type SourceVerdict = 'moves' | 'refused' | 'marked';

/** What a row has been read as: identity, slot and content, four words each. */
export const ROW_WORDS = 12;
const CONTENT = 8;

/** A text of so many bytes is a key for every target. */
const PLAIN_KEY_BYTES_MAX = 100;
/** No document is so small: all rows are left over. */
const NONE_BYTES_MAX = 0;

export class SourceRows {
  readonly words = new Uint32Array(ROW_WORDS);
  /** Of the target document, in bytes. */
  sizeBytes = 0;
  /** When it expires, where that is compared. */
  expiry: number | undefined;
  /** Where the values of its name are. */
  readonly nameNodes: readonly number[];
  /** How rows are read many at a time: those of which nothing has to be worked out. */
  readonly entryNodes: EntryNodes;
  readonly #scan: PageScan;
  readonly #options: RowOptions;
  readonly #rekey: Rekey;
  readonly #marker: number | undefined;
  readonly #out = new ByteOutput();
  /** What is written is what stands there, without the system properties. */
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

  /** The key in the target, if it has one. */
  get key(): readonly KeyComponent[] {
    return this.#rekey.key;
  }

  /** Why it cannot be moved. */
  get refusal(): Refusal {
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

  /** The target document of the row read last, which moves; it stands until the next one is asked for. */
  body(): Buffer {
    this.#out.clear();
    this.#rekey.write(this.#out);
    return this.#out.view();
  }

  /** Whether a document says of itself that it is deleted: its marker is there and is not false, null, 0 or "". */
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

  /** A row's document as it is compared; it stands until the next one is asked for. */
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
