/**
 * Hashes lists of values of a row, each list once, however many candidates ask for it: `/tenantId` and
 * `/tenantId,/userId` share a level, and all candidates share the id.
 */
import { IdentityHasher } from '../../documents/identity.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { packNodes, type PackedNodes } from '../../documents/wasm-kernel.ts';

/** The words of a hash. */
const WORDS = 4;

export class RowHashes {
  /**
   * The hashes of all lists; each is valid after `read` was called for its list. The words are signed, because V8
   * allocates memory for a larger number whenever it is passed on.
   */
  words = new Int32Array(0);
  #out = new Uint32Array(0);
  readonly #scan: PageScan;
  readonly #hasher = new IdentityHasher();
  readonly #lists: Array<{ readonly nodes: readonly number[]; readonly packed: PackedNodes }> = [];
  /** The row of which each list was hashed last. */
  #rows = new Int32Array(0);

  constructor(scan: PageScan) {
    this.#scan = scan;
  }

  /** Returns the number of a list of nodes. Called before the first row is read. */
  listOf(nodes: readonly number[]): number {
    const known = this.#lists.findIndex((list) => list.nodes.join() === nodes.join());
    if (known >= 0) return known;
    this.#lists.push({ nodes, packed: packNodes(nodes) });
    this.#out = new Uint32Array(WORDS * this.#lists.length);
    this.words = new Int32Array(this.#out.buffer);
    this.#rows = new Int32Array(this.#lists.length).fill(-1);
    return this.#lists.length - 1;
  }

  /** Forgets the hashes of the last page. */
  nextPage(): void {
    this.#rows.fill(-1);
  }

  /** Hashes a list of a row; returns where its words begin in `words`. */
  read(row: number, list: number): number {
    const at = list * WORDS;
    if (this.#rows[list] === row) return at;
    this.#rows[list] = row;
    const found = this.#lists[list];
    if (found === undefined || this.#scan.hashIdentity(row, found.packed, this.#out, at)) return at;
    const scan = this.#scan;
    this.#hasher.clear();
    for (const node of found.nodes)
      this.#hasher.addRaw(scan.page, scan.start(row, node), scan.end(row, node));
    this.#hasher.finish(this.#out, at);
    return at;
  }
}
