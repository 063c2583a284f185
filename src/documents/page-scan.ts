/**
 * Finds the documents of a page, and wanted values in each of them, without parsing the page.
 *
 * A scanner is created once for a shape of page and the paths to find. `scan` reads every byte once. Invariant: it
 * refuses what JSON.parse refuses, naming the byte, and understands everything else as JSON.parse does: names are
 * compared unescaped, of a repeated name the last one counts, and a path through an array or a scalar finds
 * nothing. It allocates nothing for a document. Results are valid until the next scan.
 */
import { isUtf8 } from 'node:buffer';
import { assert, must } from '../lib/assert.ts';
import { ROW_HEAD, scanKernel } from './wasm-kernel.ts';
import type { AskedOfRows, KernelEntries, PackedNodes } from './wasm-kernel.ts';
import { nameTree, want, wanted } from './name-tree.ts';
import type { NameTree, Wanted } from './name-tree.ts';
import { NOT_UTF8, PageError } from './page-error.ts';
import { SYSTEM_PROPERTIES } from './system-properties.ts';

/** A property path as its steps. */
type Path = readonly string[];

/** Nodes of a document, by which a `PageScan` is asked for values. */
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

/** Nodes around a document in the all-versions feed (fact SVC-18). */
export interface EnvelopeNodes {
  readonly operationType: number;
  readonly lsn: number;
  readonly crts: number;
  readonly timeToLiveExpired: number;
  /** The identity of a deleted document: its id, and for each level of the key the nodes that may have its value. */
  readonly deletedId: number;
  readonly deletedKey: ReadonlyArray<readonly number[]>;
  /** The same two in `previous`, if the service sends one. */
  readonly previousId: number;
  readonly previousKey: readonly number[];
}

/** Nodes around a document in the reply to a batch; the document is its `resourceBody`. */
export interface ReplyNodes {
  readonly statusCode: number;
  readonly subStatusCode: number;
  readonly requestCharge: number;
  readonly eTag: number;
  readonly retryAfterMilliseconds: number;
}

/** The result of the last scan: a row for each element of the page. An offset of 0 means that a value is missing. */
export class PageScan<Around = unknown> {
  /** The document in each row. */
  readonly nodes: DocumentNodes;
  /** The nodes around it. */
  readonly around: Around;
  /** A page of a feed, or an array of outcomes. */
  readonly shape: 'feed' | 'array';
  /** The names that it looks for. */
  readonly tree: NameTree;
  /** The last scanned page. */
  page: Buffer = Buffer.alloc(0);
  /** The number of its rows. */
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
    readonly around: (nodeOf: (value: Wanted) => number) => Around;
  }) {
    const { shape, root, document, paths } = parts;
    document.document = true;
    for (const name of SYSTEM_PROPERTIES) want(document, [name]).system = true;
    want(document, ['id']);
    want(document, ['ttl']);
    for (const path of paths) {
      assert(path.length > 0, 'a path has a step');
      want(document, path);
    }
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

  /** The node of a path that was wanted, or of a prefix of one. */
  nodeAt(path: Path): number {
    return must(this.#paths.get(keyOf(path)), 'only paths that were asked for are looked up');
  }

  /** Reads a page; throws a PageError if it is damaged. Earlier results are dropped in any case. */
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
   * Whether a row has a document. A delete or an outcome without one may omit it, or have null or an empty object.
   */
  hasDocument(row: number): boolean {
    let at = this.start(row, this.nodes.document);
    if (at === 0 || this.page[at] !== 0x7b) return false;
    do at += 1;
    while ((this.page[at] ?? 0) <= 0x20);
    return this.page[at] !== 0x7d;
  }

  /** The offset of a row's value in the page; 0 if it is missing. */
  start(row: number, node: number): number {
    return this.#rows[row * this.#stride + ROW_HEAD + 2 * node] ?? 0;
  }

  /** The offset after a row's value; 0 if it is missing. */
  end(row: number, node: number): number {
    return this.#rows[row * this.#stride + ROW_HEAD + 2 * node + 1] ?? 0;
  }

  /** The bytes of a row's value, in the page; empty if it is missing. */
  bytes(row: number, node: number): Buffer {
    return this.page.subarray(this.start(row, node), this.end(row, node));
  }

  /** The start of the row's element, which includes the document. */
  elementStart(row: number): number {
    return this.#rows[row * this.#stride] ?? 0;
  }

  /**
   * The cuts that remove the system properties from a row's document, with one comma each: those from `firstCut` up
   * to and excluding `lastCut`, in ascending order.
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
   * The identity hash of a row's values at the nodes; false if they must be decoded (identity.ts does that). Must
   * be called before another scan, as `hashContent`.
   */
  hashIdentity(row: number, nodes: PackedNodes, out: Uint32Array, at: number): boolean {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'identities are hashed before another page is scanned');
    return kernel.hashIdentity(row, nodes, out, at);
  }

  /**
   * Writes the content hash of a row's document, its bytes without the system properties, as four words to
   * `out[at]`. It reads the kernel's memory, so it must be called before another scan.
   */
  hashContent(row: number, out: Uint32Array, at: number): void {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'contents are hashed before another page is scanned');
    const { document } = this.nodes;
    kernel.hashKept(row, this.start(row, document), this.end(row, document), out, at);
  }

  /** Entries of the rows up to a fence (comparison-entries.ts); valid until the next call of any kind. */
  digest(asked: AskedOfRows, fenceLsn: number): KernelEntries {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'entries are made before another page is scanned');
    return kernel.digest(asked, fenceLsn);
  }
}

/** A page of the latest-version feed, or of a query: the documents themselves. */
export function latestVersionScan(paths: readonly Path[]): PageScan {
  const root = wanted();
  return new PageScan({ shape: 'feed', root, document: root, paths, around: () => undefined });
}

/**
 * A page of the all-versions feed; `keyPaths` are the key paths of the source, which a delete uses to name its key.
 */
export function allVersionsScan(paths: readonly Path[], keyPaths: readonly Path[]): PageScan<EnvelopeNodes> {
  const root = wanted();
  const document = want(root, ['current']);
  const inMetadata = (...path: string[]): Wanted => want(root, ['metadata', ...path]);
  // A level is named without its slash. How a nested path is named is unknown, so both forms are looked for.
  const deletedKey = keyPaths.map((path) => [
    inMetadata('partitionKey', path.join('/')),
    inMetadata('partitionKey', ...path),
  ]);
  const around = (nodeOf: (value: Wanted) => number): EnvelopeNodes => ({
    operationType: nodeOf(inMetadata('operationType')),
    lsn: nodeOf(inMetadata('lsn')),
    crts: nodeOf(inMetadata('crts')),
    timeToLiveExpired: nodeOf(inMetadata('timeToLiveExpired')),
    deletedId: nodeOf(inMetadata('id')),
    deletedKey: deletedKey.map((places) => places.map(nodeOf)),
    previousId: nodeOf(want(root, ['previous', 'id'])),
    previousKey: keyPaths.map((path) => nodeOf(want(root, ['previous', ...path]))),
  });
  for (const name of ['operationType', 'lsn', 'crts', 'timeToLiveExpired', 'id', 'partitionKey'])
    inMetadata(name);
  want(root, ['previous', 'id']);
  for (const path of keyPaths) want(root, ['previous', ...path]);
  return new PageScan({ shape: 'feed', root, document, paths, around });
}

/** The reply to a batch: an array of outcomes, with the document where one was asked for. */
export function replyScan(paths: readonly Path[]): PageScan<ReplyNodes> {
  const root = wanted();
  const document = want(root, ['resourceBody']);
  const names = ['statusCode', 'subStatusCode', 'requestCharge', 'eTag', 'retryAfterMilliseconds'] as const;
  for (const name of names) want(root, [name]);
  const around = (nodeOf: (value: Wanted) => number): ReplyNodes => ({
    statusCode: nodeOf(want(root, ['statusCode'])),
    subStatusCode: nodeOf(want(root, ['subStatusCode'])),
    requestCharge: nodeOf(want(root, ['requestCharge'])),
    eTag: nodeOf(want(root, ['eTag'])),
    retryAfterMilliseconds: nodeOf(want(root, ['retryAfterMilliseconds'])),
  });
  return new PageScan({ shape: 'array', root, document, paths, around });
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}

/** The first byte that is not UTF-8, in a page that has one. */
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
