/**
 * Reads from a target document of which source document it is a copy. Invariant: the identity comes from the content
 * of the document only.
 */
import { IdentityHasher, RowIdentity } from '../documents/identity.ts';
import type { PageScan } from '../documents/page-scan.ts';
import { decodeScalar, keyStart, keyText } from '../documents/scalar.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { KeyCache } from './key-cache.ts';
import type { MovePlan } from './move-plan.ts';
import type { ComputedKey, KeyPlan } from './plan.ts';
import { valuesAt } from './row-inputs.ts';

/**
 * Reads documents of the target. The source key, which the document has or from which it is computed, gives the source
 * identity, and the target key gives the slot.
 */
export class Placement {
  /** Eight 32-bit words: four of the last read row's identity, then four of its slot. */
  readonly hashes = new Uint32Array(8);
  readonly #scan: PageScan;
  readonly #computed: ComputedIdentity | undefined;
  readonly #identity: RowIdentity;
  readonly #slot: RowIdentity;
  readonly #keyNodes: readonly number[];
  #row = 0;

  constructor(scan: PageScan, plan: MovePlan) {
    this.#scan = scan;
    this.#identity = new RowIdentity(scan, plan.sourcePathsInTarget);
    this.#slot = new RowIdentity(scan, plan.targetPaths);
    this.#keyNodes = plan.sourcePathsInTarget.map((path) => scan.nodeAt(path));
    this.#computed = plan.identity === undefined ? undefined : new ComputedIdentity(scan, plan.identity);
  }

  /**
   * Reads a row of the last scan. Returns false if it cannot be a copy, since a source document with its key would be
   * refused. It then gets an identity that differs from those of all source documents.
   */
  read(row: number): boolean {
    this.#row = row;
    this.#slot.read(row, this.hashes, 4);
    if (this.#computed !== undefined) return this.#computed.read(row, this.hashes);
    this.#identity.read(row, this.hashes, 0);
    return true;
  }

  /** Returns the source key of the row read last. Precondition: `read` returned true for it. */
  get key(): readonly KeyComponent[] {
    if (this.#computed !== undefined) return this.#computed.key;
    const scan = this.#scan;
    return this.#keyNodes.map((node) => {
      const start = keyStart(scan, this.#row, node);
      return start === 0 ? undefined : decodeScalar(scan.page, start, scan.end(this.#row, node));
    });
  }

  /** Whether the source key of the row read last has all of its levels. Precondition: `read` returned true for it. */
  get hasWholeKey(): boolean {
    if (this.#computed !== undefined) return !this.#computed.key.includes(undefined);
    for (const node of this.#keyNodes) if (keyStart(this.#scan, this.#row, node) === 0) return false;
    return true;
  }

  /** Returns the id and the levels of the source key of the row read last, as JSON texts; null for a missing level. */
  name(): (string | null)[] {
    const scan = this.#scan;
    const id = keyText(scan, this.#row, scan.nodes.id);
    if (this.#computed === undefined)
      return [id, ...this.#keyNodes.map((node) => keyText(scan, this.#row, node))];
    return [id, ...this.#computed.key.map((value) => (value === undefined ? null : JSON.stringify(value)))];
  }
}

/** What is hashed after the key of a document that cannot be a copy. No source document has the same hash. */
const NO_COPY = 'no copy';

/** Computes the identity of a document whose key must be derived. */
class ComputedIdentity {
  key: readonly KeyComponent[] = [];
  readonly #scan: PageScan;
  readonly #plan: KeyPlan;
  readonly #inputs: readonly number[];
  readonly #keyNodes: readonly number[];
  readonly #cache: KeyCache<ComputedKey>;
  readonly #hasher = new IdentityHasher();

  constructor(scan: PageScan, plan: KeyPlan) {
    this.#scan = scan;
    this.#plan = plan;
    this.#inputs = plan.inputs.map((path) => scan.nodeAt(path));
    this.#keyNodes = plan.sourcePaths.map((path) => scan.nodeAt(path));
    this.#cache = new KeyCache(scan, this.#inputs);
  }

  read(row: number, out: Uint32Array): boolean {
    const scan = this.#scan;
    const { id } = scan.nodes;
    const computed = this.#cache.find(row) ?? this.#cache.remember(this.#compute(row));
    const hasher = this.#hasher;
    hasher.clear();
    hasher.addRaw(scan.page, scan.start(row, id), scan.end(row, id));
    this.key = computed.kind === 'key' ? computed.values : [];
    for (const value of this.key) hasher.add(value);
    if (computed.kind === 'refused') {
      // The document's own key distinguishes it from others with the same id.
      for (const node of this.#keyNodes) hasher.addRaw(scan.page, scan.start(row, node), scan.end(row, node));
      hasher.add(NO_COPY);
    }
    hasher.finish(out, 0);
    return computed.kind === 'key';
  }

  #compute(row: number): ComputedKey {
    return this.#plan.compute(valuesAt(this.#scan, row, this.#inputs));
  }
}
