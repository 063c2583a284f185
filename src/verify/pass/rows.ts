/**
 * Reads what a comparison needs of a document: hashes of its identity, slot and content. For a source document, slot
 * and content are those that Rekey would write; for a target document, those that are stored. Invariant: if a document
 * was moved correctly, all words of the hashes are equal on both sides.
 */
import { hashContentBytes } from '../../documents/hash.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import type { EntryNodes } from '../../documents/comparison-entries.ts';
import { decodeScalar, isComposite } from '../../documents/scalar.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { Edits, spliceDocument } from '../../documents/splice.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { Placement } from '../../keys/placement.ts';
import { FormEdits } from '../../keys/removal.ts';
import {
  DOCUMENT_BYTES_MAX,
  Rekey,
  rekeyPaths,
  type DocumentRefusal,
  type RekeyOptions,
} from '../../keys/rekey.ts';
import { valuesAt } from '../../keys/row-inputs.ts';
import { composite, type Path } from '../../keys/strategies/strategy.ts';
import { must } from '../../lib/assert.ts';
import { markingTs, ownTtl, sourceExpiry, targetExpiry, TTL_MARK } from './expiry.ts';

export interface RowOptions {
  readonly rekey: RekeyOptions;
  /** The path of the property that marks a document as deleted; null: deletes are not found by a marker. */
  readonly marker: Path | null;
  /** The default TTL of the target in seconds; -1: on, without a default; null: off. */
  readonly targetTtl: number | null;
  /**
   * Whether copies must live for ever because their originals do: `--ttl remaining`, with TTL off in the source and on
   * in the target. The mover writes each `ttl` unchanged in that case. Absent: no.
   */
  readonly isEndless?: boolean;
}

/** Returns whether copies must expire with their originals, so that the instants of expiry are compared. */
export function comparesInstants({ rekey, isEndless = false }: RowOptions): boolean {
  if (rekey.compared?.ignoresTtl === true) return false;
  return rekey.ttl.mode === 'remaining' || isEndless;
}

/** Returns the paths that the scan must find in each document. */
export function rowPaths({ rekey, marker }: RowOptions): readonly Path[] {
  const { compared } = rekey;
  const forms = compared === undefined ? [] : [...compared.source.inputs, ...compared.target.inputs];
  return [...rekeyPaths(rekey.plan), ...forms, ...(marker === null ? [] : [marker])];
}

/**
 * `moves`: the document should be in the target. `refused`: the document cannot be moved. `marked`: the document is
 * marked as deleted, so it should not be in the target.
 */
export type SourceVerdict = 'moves' | 'refused' | 'marked';

/** Words of 32 bits for a row: four each for the hashes of identity, slot and content. */
export const ROW_WORDS = 12;
const CONTENT = 8;

/** Texts that have at most this many bytes together are a valid key in every container. */
const PLAIN_KEY_BYTES_MAX = 100;
/**
 * The `documentBytesMax` with which the kernel makes no entries: every document is larger, so the kernel leaves all
 * rows to this module.
 */
const NONE_BYTES_MAX = 0;

export class SourceRows {
  readonly words = new Uint32Array(ROW_WORDS);
  /** The size of the target document that Rekey would write; 0: it would write none. */
  sizeBytes = 0;
  /** When the document expires, in seconds since the epoch; undefined: never, or expiry is not compared. */
  expiry: number | undefined;
  /** The scan nodes of the id and the levels of the source key. */
  readonly nameNodes: readonly number[];
  /** The nodes from which the kernel makes entries, for all rows of a page that need no computation by this class. */
  readonly entryNodes: EntryNodes;
  readonly #scan: PageScan;
  readonly #options: RowOptions;
  readonly #rekey: Rekey;
  readonly #marker: number | undefined;
  /** Brings the document into the form in which it is compared; undefined: it is compared as Rekey would write it. */
  readonly #form: FormEdits | undefined;
  readonly #edits = new Edits();
  readonly #out = new ByteOutput();
  #row = 0;
  /** Whether the target document is just the source document without its system properties. */
  readonly #isCarried: boolean;

  constructor(scan: PageScan, options: RowOptions) {
    const { plan, ttl, compared } = options.rekey;
    this.#scan = scan;
    this.#options = options;
    this.#rekey = new Rekey(scan, options.rekey);
    this.#form = compared && new FormEdits(scan, compared, 'source');
    this.#marker = options.marker === null ? undefined : scan.nodeAt(options.marker);
    this.#isCarried = plan.additionPaths.length === 0 && ttl.mode === 'restart' && compared === undefined;
    // An entry of the kernel has no instant, and the kernel does not look for what is missing in the source key.
    const isForKernel = this.#isCarried && !comparesInstants(options) && plan.back?.refusesMissing !== true;
    this.nameNodes = [scan.nodes.id, ...plan.sourcePaths.map((path) => scan.nodeAt(path))];
    const slot = plan.targetPaths.map((path) => scan.nodeAt(path));
    this.entryNodes = {
      identity: this.nameNodes,
      slot: [scan.nodes.id, ...slot],
      name: [...this.nameNodes, ...slot],
      stop: this.#marker,
      plainKeyBytesMax: PLAIN_KEY_BYTES_MAX,
      documentBytesMax: isForKernel ? DOCUMENT_BYTES_MAX : NONE_BYTES_MAX,
    };
  }

  /** The target key of the row read last, unless `read` returned `refused`: then it may be that of an earlier row. */
  get key(): readonly KeyComponent[] {
    return this.#rekey.key;
  }

  /** Why the document of the row read last cannot be moved. */
  get refusal(): DocumentRefusal {
    return must(this.#rekey.refusal, 'what is refused has a reason');
  }

  read(row: number): SourceVerdict {
    const { words } = this;
    const rekey = this.#rekey;
    this.#row = row;
    const expiry = sourceExpiry(this.#scan, row, this.#options.rekey.ttl);
    this.expiry = comparesInstants(this.#options) ? expiry : undefined;
    const verdict = rekey.read(row, markingTs(expiry));
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

  /**
   * Returns the document of the row read last in the form in which it is compared. Precondition: `read` returned `moves`
   * for the row. Valid until the next call.
   */
  body(): Buffer {
    this.#out.clear();
    if (this.#form === undefined) {
      this.#rekey.write(this.#out);
      return this.#out.view();
    }
    this.#edits.clear();
    this.#form.plan(this.#row, this.#edits);
    spliceDocument(this.#out, this.#scan, this.#row, this.#edits);
    return this.#out.view();
  }

  /** Returns whether a document is marked as deleted: the marker exists and is not false, null, 0 or "". */
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
  /** The nodes of the values that name the document: the id and, unless they are computed, both its keys. */
  readonly nameNodes: readonly number[];
  readonly entryNodes: EntryNodes;
  readonly #scan: PageScan;
  readonly #options: RowOptions;
  readonly #placement: Placement;
  /** The nodes of the target key, if the source key is computed. */
  readonly #slotNodes: readonly number[] | undefined;
  readonly #form: FormEdits | undefined;
  readonly #edits = new Edits();
  readonly #out = new ByteOutput();
  #row = 0;

  constructor(scan: PageScan, options: RowOptions) {
    const { plan, compared } = options.rekey;
    const { id } = scan.nodes;
    this.#scan = scan;
    this.#options = options;
    this.#placement = new Placement(scan, plan);
    const identity = plan.sourcePathsInTarget.map((path) => scan.nodeAt(path));
    const slot = plan.targetPaths.map((path) => scan.nodeAt(path));
    const isComputed = plan.identity !== undefined;
    this.#form = compared && new FormEdits(scan, compared, 'target');
    this.#slotNodes = isComputed ? slot : undefined;
    this.nameNodes = isComputed ? [id] : [id, ...identity, ...slot];
    const isForKernel = !isComputed && this.#form === undefined && !comparesInstants(options);
    this.entryNodes = {
      identity: [id, ...identity],
      slot: [id, ...slot],
      name: this.nameNodes,
      stop: undefined,
      plainKeyBytesMax: undefined,
      documentBytesMax: isForKernel ? DOCUMENT_BYTES_MAX : NONE_BYTES_MAX,
    };
  }

  /** The values that name the row read last, after those at `nameNodes`. */
  get nameValues(): readonly KeyComponent[] {
    if (this.#slotNodes === undefined) return [];
    const slot = valuesAt(this.#scan, this.#row, this.#slotNodes);
    return [...this.#placement.key, ...slot.map((value) => (value === composite ? undefined : value))];
  }

  /** Returns `none` for a document that cannot be a copy: nothing in the source corresponds to it. */
  read(row: number): 'copy' | 'none' {
    const { words } = this;
    const { targetTtl, rekey } = this.#options;
    const { ttl } = rekey;
    this.#row = row;
    const is = this.#placement.read(row) ? 'copy' : 'none';
    words.set(this.#placement.hashes);
    this.expiry = comparesInstants(this.#options) ? targetExpiry(this.#scan, row, targetTtl) : undefined;
    if (ttl.mode === 'restart' && this.#form === undefined) {
      this.#scan.hashContent(row, words, CONTENT);
      this.sizeBytes = keptBytes(this.#scan, row);
      return is;
    }
    const body = this.body(row);
    hashContentBytes(body, words, CONTENT);
    this.sizeBytes = body.length;
    return is;
  }

  /** Returns the document of a row in the form in which it is compared. Valid until the next call. */
  body(row: number): Buffer {
    const scan = this.#scan;
    this.#edits.clear();
    this.#form?.plan(row, this.#edits);
    const { ttl, compared } = this.#options.rekey;
    const marksTtl = ttl.mode === 'remaining' && compared?.ignoresTtl !== true;
    if (marksTtl && ownTtl(scan, row) !== undefined)
      this.#edits.add(scan.start(row, scan.nodes.ttl), scan.end(row, scan.nodes.ttl), String(TTL_MARK));
    this.#out.clear();
    spliceDocument(this.#out, scan, row, this.#edits);
    return this.#out.view();
  }
}

/** Returns the size in bytes of a row's document without the system properties. */
function keptBytes(scan: PageScan, row: number): number {
  const { document } = scan.nodes;
  let size = scan.end(row, document) - scan.start(row, document);
  for (let cut = scan.firstCut(row); cut < scan.lastCut(row); cut += 1)
    size -= scan.cutEnd(cut) - scan.cutStart(cut);
  return size;
}
