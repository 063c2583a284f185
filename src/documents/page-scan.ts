/**
 * Finds the documents of a page, and the values at some paths of each document, without parsing the page.
 *
 * A PageScan is created once for a shape of page and the paths to find. `scan` reads every byte once. Invariant: `scan`
 * refuses a page that JSON.parse refuses, with the offset of the wrong byte, and finds the same values as JSON.parse:
 * names are compared without their escapes, the last value of a repeated name counts, and a path through an array or a
 * scalar finds nothing. `scan` allocates no memory for a document. Its results are valid until the next scan.
 */
import { isUtf8 } from 'node:buffer';
import { assert, must } from '../lib/assert.ts';
import { mapRows, type MappedRows } from './kernel/map-kernel.ts';
import { ROW_HEAD, scanKernel } from './kernel/scan-kernel.ts';
import type {
  AskedOfKeys,
  AskedOfRows,
  KernelColumns,
  KernelEntries,
  PackedNodes,
} from './kernel/scan-kernel.ts';
import { nameTree, want, wanted, type NameTree, type Wanted } from './name-tree.ts';
import { NOT_UTF8, PageError } from './page-error.ts';
import { STORED_PROPERTIES, SYSTEM_PROPERTIES } from './system-properties.ts';

/** A property path: the names of the properties from the top of a document. */
type Path = readonly string[];

/** The nodes of values in a document. A caller passes a node to `PageScan` to get the value of a row. */
export interface DocumentNodes {
  readonly document: number;
  readonly id: number;
  readonly ttl: number;
  readonly rid: number;
  readonly self: number;
  readonly etag: number;
  readonly attachments: number;
  readonly ts: number;
  readonly lsn: number;
}

/**
 * In the all-versions feed, each document is inside an object with other values (fact SVC-18). These are the nodes of
 * those values.
 */
export interface EnvelopeNodes {
  readonly operationType: number;
  readonly lsn: number;
  readonly crts: number;
  readonly previousLsn: number;
  readonly timeToLiveExpired: number;
  /**
   * The id of a deleted document. For each level of the document's key, `deletedKey` lists the nodes at which the value
   * may be.
   */
  readonly deletedId: number;
  readonly deletedKey: ReadonlyArray<readonly number[]>;
  /** The id and the key of the document in `previous`, if the service sends this property. */
  readonly previousId: number;
  readonly previousKey: readonly number[];
}

/**
 * In the reply to a batch, each document is inside an outcome, as its `resourceBody`. These are the nodes of the
 * outcome's other values.
 */
export interface ReplyNodes {
  readonly statusCode: number;
  readonly subStatusCode: number;
  readonly requestCharge: number;
  readonly eTag: number;
  readonly retryAfterMilliseconds: number;
}

/**
 * Scans pages of one shape, and returns the values that the last scan has found. There is a row for each element of the
 * page's array: a document, or an object around a document. An offset of 0 means that a value is missing.
 */
export class PageScan<Around = unknown> {
  /** The nodes of the document in each row. */
  readonly nodes: DocumentNodes;
  /** The nodes of the values around the document in each row. */
  readonly around: Around;
  /** `feed`: an object with an array of documents. `array`: an array of outcomes. */
  readonly shape: 'feed' | 'array';
  /** The names that the scan looks for. */
  readonly tree: NameTree;
  /** The last scanned page. */
  page: Buffer = Buffer.alloc(0);
  /** The number of rows of the last scanned page. */
  count = 0;
  readonly #stride: number;
  readonly #paths: ReadonlyMap<string, number>;
  #rows = new Int32Array(0);
  #cuts = new Int32Array(0);
  #generation = 0;

  constructor(parts: {
    readonly shape: 'feed' | 'array';
    readonly root: Wanted;
    readonly document: Wanted;
    readonly paths: readonly Path[];
    /** The properties of the service, which are left out of the document. */
    readonly cut: readonly string[];
    /** Asks for the values around the document (`want`), and returns their nodes. */
    readonly around: (nodeOf: (value: Wanted) => number) => Around;
  }) {
    const { shape, root, document, paths, cut } = parts;
    document.document = true;
    for (const name of SYSTEM_PROPERTIES) want(document, [name]).system = cut.includes(name);
    want(document, ['id']);
    want(document, ['ttl']);
    for (const path of paths) {
      assert(path.length > 0, 'a path has a step');
      want(document, path);
    }
    // The first call asks for the values around the document, from which the tree is made. The second call gets their
    // nodes.
    parts.around(() => 0);
    const { tree, nodeOf } = nameTree(root);
    const node = (value: Wanted): number => must(nodeOf.get(value), 'every value wanted has its node');
    const property = (name: string): number => node(want(document, [name]));
    this.nodes = {
      document: node(document),
      id: property('id'),
      ttl: property('ttl'),
      rid: property('_rid'),
      self: property('_self'),
      etag: property('_etag'),
      attachments: property('_attachments'),
      ts: property('_ts'),
      lsn: property('_lsn'),
    };
    this.around = parts.around(node);
    this.shape = shape;
    this.tree = tree;
    this.#stride = ROW_HEAD + 2 * tree.count;
    const prefixes = paths.flatMap((path) => path.map((_step, i) => path.slice(0, i + 1)));
    const known = [...[...SYSTEM_PROPERTIES, 'id', 'ttl'].map((name) => [name]), ...prefixes];
    this.#paths = new Map(known.map((path) => [keyOf(path), node(want(document, path))]));
  }

  /** Returns the node of a path that was given to the constructor, or of a prefix of such a path. */
  nodeAt(path: Path): number {
    return must(this.#paths.get(keyOf(path)), 'only paths that were asked for are looked up');
  }

  /** Reads a page, and drops the results of the scan before. Throws a PageError if the page is damaged. */
  scan(page: Uint8Array): this {
    this.count = 0;
    this.page = Buffer.from(page.buffer, page.byteOffset, page.byteLength);
    if (!isUtf8(page)) throw new PageError(NOT_UTF8, invalidAt(page));
    const kernel = scanKernel();
    const { count, rows, cuts } = kernel.scan(this.shape, this.tree, page);
    if (this.#rows.length < rows.length) this.#rows = new Int32Array(rows.length * 2);
    if (this.#cuts.length < cuts.length) this.#cuts = new Int32Array(cuts.length * 2);
    this.#rows.set(rows);
    this.#cuts.set(cuts);
    this.#generation = kernel.generation;
    this.count = count;
    return this;
  }

  /**
   * Returns whether a row has a document. A delete, or an outcome without a document, may omit the property for the
   * document, or have null or an empty object there.
   */
  hasDocument(row: number): boolean {
    let at = this.start(row, this.nodes.document);
    if (at === 0 || this.page[at] !== 0x7b) return false;
    do at += 1;
    while ((this.page[at] ?? 0) <= 0x20);
    return this.page[at] !== 0x7d;
  }

  /** Returns the offset in the page at which a row's value starts; 0 if the value is missing. */
  start(row: number, node: number): number {
    return this.#rows[row * this.#stride + ROW_HEAD + 2 * node] ?? 0;
  }

  /** Returns the offset in the page after a row's value; 0 if the value is missing. */
  end(row: number, node: number): number {
    return this.#rows[row * this.#stride + ROW_HEAD + 2 * node + 1] ?? 0;
  }

  /**
   * Returns whether a row has an integer beyond 2^53: a number without fraction and exponent that, as a double, may
   * equal its neighbours.
   */
  hasLongInteger(row: number): boolean {
    return this.#rows[row * this.#stride + ROW_HEAD + 1] === 1;
  }

  /** Returns the bytes of a row's value without a copy; empty if the value is missing. */
  bytes(row: number, node: number): Buffer {
    return this.page.subarray(this.start(row, node), this.end(row, node));
  }

  /**
   * Returns the offset in the page at which a row's element starts: the document, or the object around the document.
   */
  elementStart(row: number): number {
    return this.#rows[row * this.#stride] ?? 0;
  }

  /**
   * Returns the number of the row's first cut. A cut is a part of the page that has system properties of the document
   * and their commas. The cuts of a row are those from `firstCut` up to and excluding `lastCut`, in ascending order.
   */
  firstCut(row: number): number {
    return this.#rows[row * this.#stride + 2] ?? 0;
  }

  lastCut(row: number): number {
    return this.#rows[row * this.#stride + 3] ?? 0;
  }

  cutStart(cut: number): number {
    return this.#cuts[2 * cut] ?? 0;
  }

  cutEnd(cut: number): number {
    return this.#cuts[2 * cut + 1] ?? 0;
  }

  /**
   * Writes the identity hash of a row's values at the nodes as four words to `out[at]`. Returns false if a value must
   * be decoded first, which identity.ts does. Precondition: no other page has been scanned since, because this reads
   * the kernel's memory.
   */
  hashIdentity(row: number, nodes: PackedNodes, out: Uint32Array, at: number): boolean {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'identities are hashed before another page is scanned');
    return kernel.hashIdentity(row, nodes, out, at);
  }

  /**
   * Writes the content hash of a row's document as four words to `out[at]`: the hash of its bytes without the system
   * properties. Precondition: no other page has been scanned since, because this reads the kernel's memory.
   */
  hashContent(row: number, out: Uint32Array, at: number): void {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'contents are hashed before another page is scanned');
    const { document } = this.nodes;
    kernel.hashKept(row, this.start(row, document), this.end(row, document), out, at);
  }

  /**
   * Makes entries of the rows up to a fence (comparison-entries.ts). They are valid until the next call of any method.
   */
  digest(asked: AskedOfRows, fenceLsn: number): KernelEntries {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'entries are made before another page is scanned');
    return kernel.digest(asked, fenceLsn);
  }

  /** Makes segments of the rows up to a fence (kernel/map-kernel.ts). */
  mapRows(asked: Uint32Array, fenceLsn: number): MappedRows {
    assert(scanKernel().generation === this.#generation, 'a page is mapped before another one is scanned');
    return mapRows(asked, fenceLsn);
  }

  /** Computes the keys of the rows up to a fence. The columns are valid until the next call of any method. */
  rowKeys(asked: AskedOfKeys, fenceLsn: number): KernelColumns {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'keys are computed before another page is scanned');
    return kernel.rowKeys(asked, fenceLsn);
  }
}

/** Creates the scan for pages of the latest-version feed, whose elements are the documents. */
export function latestVersionScan(paths: readonly Path[]): PageScan {
  const root = wanted();
  const cut = SYSTEM_PROPERTIES;
  return new PageScan({ shape: 'feed', root, document: root, paths, cut, around: () => undefined });
}

/** Creates the scan for pages of a query, whose elements are the documents as they are stored. */
export function queryScan(paths: readonly Path[]): PageScan {
  const root = wanted();
  const cut = STORED_PROPERTIES;
  return new PageScan({ shape: 'feed', root, document: root, paths, cut, around: () => undefined });
}

/**
 * Creates the scan for pages of the all-versions feed. `keyPaths` are the key paths of the source: in a delete, the key
 * values have these paths as their names.
 */
export function allVersionsScan(paths: readonly Path[], keyPaths: readonly Path[]): PageScan<EnvelopeNodes> {
  const root = wanted();
  const document = want(root, ['current']);
  const inMetadata = (...path: string[]): Wanted => want(root, ['metadata', ...path]);
  // The name of a level in a delete is its path without the first slash. Whether a nested path is one name or nested
  // objects is not documented, so the scan looks for both.
  const deletedKey = keyPaths.map((path) => [
    inMetadata('partitionKey', path.join('/')),
    inMetadata('partitionKey', ...path),
  ]);
  const around = (nodeOf: (value: Wanted) => number): EnvelopeNodes => ({
    operationType: nodeOf(inMetadata('operationType')),
    lsn: nodeOf(inMetadata('lsn')),
    crts: nodeOf(inMetadata('crts')),
    previousLsn: nodeOf(inMetadata('previousImageLSN')),
    timeToLiveExpired: nodeOf(inMetadata('timeToLiveExpired')),
    deletedId: nodeOf(inMetadata('id')),
    deletedKey: deletedKey.map((nodes) => nodes.map(nodeOf)),
    previousId: nodeOf(want(root, ['previous', 'id'])),
    previousKey: keyPaths.map((path) => nodeOf(want(root, ['previous', ...path]))),
  });
  return new PageScan({ shape: 'feed', root, document, paths, cut: SYSTEM_PROPERTIES, around });
}

/** Creates the scan for replies to batches: arrays of outcomes, which have the document if the operation returns it. */
export function replyScan(paths: readonly Path[]): PageScan<ReplyNodes> {
  const root = wanted();
  const document = want(root, ['resourceBody']);
  const around = (nodeOf: (value: Wanted) => number): ReplyNodes => ({
    statusCode: nodeOf(want(root, ['statusCode'])),
    subStatusCode: nodeOf(want(root, ['subStatusCode'])),
    requestCharge: nodeOf(want(root, ['requestCharge'])),
    eTag: nodeOf(want(root, ['eTag'])),
    retryAfterMilliseconds: nodeOf(want(root, ['retryAfterMilliseconds'])),
  });
  return new PageScan({ shape: 'array', root, document, paths, cut: STORED_PROPERTIES, around });
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}

/** Returns the offset of the first byte that is not UTF-8. Precondition: the page has such a byte. */
function invalidAt(page: Uint8Array): number {
  let at = 0;
  while (at < page.length) {
    const lead = page[at] ?? 0;
    const size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size > 1 && !isUtf8(page.subarray(at, at + size))) return at;
    at += size;
  }
  return at;
}
