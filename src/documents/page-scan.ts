/**
 * A page of documents without parsing it: where its documents are, and in each of them the values somebody asked for.
 *
 * A scanner is made once, for one shape of page and the paths to find. `scan` walks every byte once and refuses what
 * JSON.parse refuses, with the byte where it went wrong; what it accepts means what it means to JSON.parse: names
 * are compared unescaped, of names that stand twice the last one counts, and a path that leads through an array or
 * a scalar finds nothing. Nothing is allocated for a document. What was found stands until the scanner's next scan.
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

/** Numbers of values to ask a `PageScan` for. */
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

/** What stands around a document in the all-versions feed (fact SVC-18). */
export interface EnvelopeNodes {
  readonly operationType: number;
  readonly lsn: number;
  readonly crts: number;
  readonly timeToLiveExpired: number;
  /** Identity of a deleted document: its id, and for each level of the key the places where its value may stand. */
  readonly deletedId: number;
  readonly deletedKey: ReadonlyArray<readonly number[]>;
  /** The same two in `previous`, if the service sends one. */
  readonly previousId: number;
  readonly previousKey: readonly number[];
}

/** What stands around a document in the reply to a batch; the document is its `resourceBody`. */
export interface ReplyNodes {
  readonly statusCode: number;
  readonly subStatusCode: number;
  readonly requestCharge: number;
  readonly eTag: number;
  readonly retryAfterMilliseconds: number;
}

/** What the last scan found: the rows of a page, one for each element. A row's position 0 means there is none. */
export class PageScan<Around = unknown> {
  /** The document in each row. */
  readonly nodes: DocumentNodes;
  /** What stands around it. */
  readonly around: Around;
  /** A feed's page, or an array of outcomes. */
  readonly shape: 'feed' | 'array';
  /** The names it looks for. */
  readonly tree: NameTree;
  /** The page that was scanned last. */
  page: Buffer = Buffer.alloc(0);
  /** How many rows it has. */
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

  /** The number of the value at a path that was asked for, or at a prefix of one. */
  nodeAt(path: Path): number {
    return must(this.#paths.get(keyOf(path)), 'only paths that were asked for are looked up');
  }

  /** Reads a page; throws a PageError when it is damaged. What was found before is gone either way. */
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
   * Whether a row has a document: where a delete or an outcome has none, it may be left out, null, or an empty object.
   */
  hasDocument(row: number): boolean {
    let at = this.start(row, this.nodes.document);
    if (at === 0 || this.page[at] !== 0x7b) return false;
    do at += 1;
    while ((this.page[at] ?? 0) <= 0x20);
    return this.page[at] !== 0x7d;
  }

  /** Where a row's value starts in the page; 0 when it is not there. */
  start(row: number, node: number): number {
    return this.#rows[row * this.#stride + ROW_HEAD + 2 * node] ?? 0;
  }

  /** The position behind it; 0 when it is not there. */
  end(row: number, node: number): number {
    return this.#rows[row * this.#stride + ROW_HEAD + 2 * node + 1] ?? 0;
  }

  /** The bytes of a row's value, in the page; nothing when it is not there. */
  bytes(row: number, node: number): Buffer {
    return this.page.subarray(this.start(row, node), this.end(row, node));
  }

  /** Where the row's element, with all that is around the document, starts and ends. */
  elementStart(row: number): number {
    return this.#rows[row * this.#stride] ?? 0;
  }

  elementEnd(row: number): number {
    return this.#rows[row * this.#stride + 1] ?? 0;
  }

  /**
   * The cuts that take the system properties out of a row's document, with exactly one comma each: those from
   * `firstCut` up to and without `lastCut`, in ascending order.
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
   * The identity hash over a row's values at the nodes; false when the values must be decoded for it (identity.ts
   * does). Like `hashContent`, it is asked for before anybody scans another page.
   */
  hashIdentity(row: number, nodes: PackedNodes, out: Uint32Array, at: number): boolean {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'identities are hashed before another page is scanned');
    return kernel.hashIdentity(row, nodes, out, at);
  }

  /**
   * The content hash of a row's document: its bytes without the system properties, as four words at `out[at]`. It
   * reads the kernel's memory, so it is asked for before anybody scans another page.
   */
  hashContent(row: number, out: Uint32Array, at: number): void {
    const kernel = scanKernel();
    assert(kernel.generation === this.#generation, 'contents are hashed before another page is scanned');
    const { document } = this.nodes;
    kernel.hashKept(row, this.start(row, document), this.end(row, document), out, at);
  }

  /** Entries of the rows up to a fence (comparison-entries.ts); they stand until something else is asked for. */
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

/** A page of the all-versions feed; `keyPaths` are the source's, under which a delete names its key. */
export function allVersionsScan(paths: readonly Path[], keyPaths: readonly Path[]): PageScan<EnvelopeNodes> {
  const root = wanted();
  const document = want(root, ['current']);
  const inMetadata = (...path: string[]): Wanted => want(root, ['metadata', ...path]);
  // One level is named without its slash; how a nested one is named is not known, so look for both.
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

/** The first byte that is not UTF-8; only asked for where there is one. */
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
