/**
 * Turns a source document into its target document: identity, slot, and the bytes with the new key. Invariant: the
 * mover writes and the verifier expects exactly what this module returns; no other code decides what a target
 * document looks like.
 *
 * The module reads the rows of a scan that looks for `rekeyPaths`, and is pure: the same bytes, plan and time give
 * the same document. Between rows it keeps only reusable memory and a cache of keys.
 */
import { IdentityHasher, RowIdentity } from '../documents/identity.ts';
import { decodeNumber, decodeText, isText, keyStart, keyText } from '../documents/scalar.ts';
import type { Scalar } from '../documents/scalar.ts';
import type { Lifetime } from '../documents/ttl.ts';
import type { EnvelopeNodes, PageScan } from '../documents/page-scan.ts';
import { Adder, Edits, spliceDocument, type AddedPath, type DocumentOutput } from '../documents/splice.ts';
import { assert, must } from '../lib/assert.ts';
import { effectiveKey, type KeyComponent, type KeyKind } from '../epk/effective-key.ts';
import { isSamePath, printPath } from './path.ts';
import { KeyCache } from './key-cache.ts';
import type { ComparedForms, MovedKey, MovePlan, OwnProperties } from './move-plan.ts';
import { putValues, DerivedRemoval } from './removal.ts';
import { valueAt, valuesAt } from './row-inputs.ts';
import type { Path } from './strategies/strategy.ts';

/** The service's limit for an item: 2 MB (fact SVC-8). */
export const DOCUMENT_BYTES_MAX = 2 * 1024 * 1024;
/** The longest id that the service accepts (fact SVC-2). */
const ID_BYTES_MAX = 1023;
/** The longest time to live in seconds (fact SVC-11). */
const TTL_MAX = 2_147_483_647;

/** The reason why a document cannot be moved, which becomes the reason of its dead letter. */
export interface DocumentRefusal {
  readonly reason: 'missing-key' | 'invalid-key' | 'key-conflict' | 'too-large' | 'key-too-long' | 'bad-id';
  readonly why: string;
}

/** Returns a count of zero for each reason. */
export function noRefusals(): Record<DocumentRefusal['reason'], number> {
  return {
    'missing-key': 0,
    'invalid-key': 0,
    'key-conflict': 0,
    'too-large': 0,
    'key-too-long': 0,
    'bad-id': 0,
  };
}

/**
 * What becomes of a time to live. `restart`: the bytes are unchanged, and the countdown starts again with the copy.
 * `remaining`: `ttl` is rewritten so that the copy expires with the original; `defaultTtl` is that of the source
 * container in seconds, or -1.
 */
export type TtlMode =
  | { readonly mode: 'restart' }
  | { readonly mode: 'remaining'; readonly defaultTtl: number };

export interface RekeyOptions {
  readonly plan: MovePlan;
  /** How the target hashes its key. */
  readonly kind: KeyKind;
  readonly ttl: TtlMode;
  /** In which forms documents of both sides are compared; absent: in the form that `Rekey` writes. */
  readonly compared?: ComparedForms;
  /** For a move back: what documents had of their own; absent: nothing. */
  readonly own?: OwnProperties | undefined;
}

/** Returns the paths that a scan must look for, so that a `Rekey` or a `Placement` can read its rows. */
export function rekeyPaths(plan: MovePlan): readonly Path[] {
  return [
    ...plan.inputs,
    ...(plan.identity?.inputs ?? []),
    ...plan.sourcePaths,
    ...plan.targetPaths,
    ...plan.additionPaths,
    ...plan.sourcePathsInTarget,
  ];
}

/**
 * The result of `read`: the row `moves` to the target; it is `refused`, with the reason in `refusal`; or it has
 * `expired`.
 */
export type RowFate = 'moves' | 'refused' | 'expired';

interface KnownKey {
  readonly computed: MovedKey;
  /** Effective key of this key; undefined until it is needed. */
  effectiveKey: string | undefined;
}

/** What all documents share that have the same values in the inputs of the plan. */
export interface SharedKey {
  readonly key: readonly KeyComponent[];
  readonly effectiveKey: string;
  /** The JSON text of the members that are added at the end of the document; empty if there are none. */
  readonly added: string;
}

export class Rekey {
  /**
   * A row without a value at any of these nodes has a target document that is made of its own bytes and a SharedKey.
   * Undefined: no row is that simple.
   */
  readonly emptyNodes: readonly number[] | undefined;
  /** Eight 32-bit words: four of the last read row's identity and, if the row moves, four of its slot. */
  readonly hashes = new Uint32Array(8);
  /** The target key of the row read last, level by level, if the row moves. */
  key: readonly KeyComponent[] = [];
  /** The reason, if the last read row is refused. */
  refusal: DocumentRefusal | undefined;
  /** The `ttl` in the last written row, and its offset in the output. */
  lifetime: Lifetime | undefined;
  readonly #scan: PageScan;
  readonly #plan: MovePlan;
  readonly #kind: KeyKind;
  readonly #ttl: TtlMode;
  readonly #hasher = new IdentityHasher();
  readonly #inputs: readonly number[];
  readonly #identity: RowIdentity;
  /** Reads slots without decoding values; undefined for a plan that derives values. */
  readonly #slot: RowIdentity | undefined;
  readonly #adder: Adder | undefined;
  /** Takes properties out, in a move back; the adder then adds only `ttl`. */
  readonly #removal: DerivedRemoval | undefined;
  readonly #additionPaths: readonly Path[];
  /** The value for each path that is added or taken out. */
  readonly #additions: Array<Scalar | undefined>;
  /** The values for the adder; the last one is that for `ttl`, if it is rewritten. */
  readonly #added: Array<Scalar | undefined>;
  readonly #edits = new Edits();
  readonly #cache: KeyCache<KnownKey>;
  #known: KnownKey | undefined;
  #row = 0;
  #nowTs = 0;

  constructor(scan: PageScan, { plan, kind, ttl, own }: RekeyOptions) {
    this.#scan = scan;
    this.#plan = plan;
    this.#kind = kind;
    this.#ttl = ttl;
    this.#inputs = plan.inputs.map((path) => scan.nodeAt(path));
    this.#cache = new KeyCache(scan, this.#inputs);
    this.#identity = new RowIdentity(scan, plan.sourcePaths);
    this.#slot = plan.additionPaths.length > 0 ? undefined : new RowIdentity(scan, plan.targetPaths);
    this.#additionPaths = plan.additionPaths;
    const added = plan.back === undefined ? addedPaths(plan) : [];
    if (ttl.mode === 'remaining') added.push({ path: ['ttl'], onPresent: 'replace-or-leave' });
    this.#adder = added.length === 0 ? undefined : new Adder(scan, added);
    this.#added = added.map(() => undefined);
    this.#additions = plan.back === undefined ? this.#added : plan.additionPaths.map(() => undefined);
    if (plan.back !== undefined) this.#removal = new DerivedRemoval(scan, plan, own);
    const expireByDefault = ttl.mode === 'remaining' && ttl.defaultTtl > 0;
    const isSimple = this.#removal === undefined && !expireByDefault && this.#membersToAdd() !== undefined;
    this.emptyNodes = isSimple ? (this.#adder?.nodes ?? []) : undefined;
  }

  /** Reads a row of the last scan. `nowTs`, the service's time in seconds, decides what has expired. */
  read(row: number, nowTs: number): RowFate {
    this.#row = row;
    this.#nowTs = nowTs;
    this.#edits.clear();
    this.#identity.read(row, this.hashes, 0);

    this.refusal = this.#refusedId() ?? this.#readKey();
    if (this.refusal !== undefined) return 'refused';
    this.#hashSlot(row);

    this.#removal?.plan(row, { hashes: this.hashes, values: this.#additions, edits: this.#edits });
    if (this.#adder !== undefined) {
      if (this.#ttl.mode === 'remaining') {
        const left = this.#secondsLeft(this.#ttl.defaultTtl, nowTs);
        if (left !== undefined && left <= 0) return 'expired';
        this.#added[this.#added.length - 1] = left;
      }
      const conflict = this.#adder.plan(row, this.#added, this.#edits);
      if (conflict !== undefined) return this.#refuse('key-conflict', `${printPath(conflict)} is taken`);
    }
    const size = this.#sizeBytes();
    if (size > DOCUMENT_BYTES_MAX)
      return this.#refuse('too-large', `${size} bytes are more than the service stores`);
    return 'moves';
  }

  /**
   * Returns what a row shares with all rows that have the same values in the inputs of the plan; undefined if they are
   * refused. Precondition: the row has no value at any of `emptyNodes`.
   */
  shared(row: number): SharedKey | undefined {
    this.#row = row;
    this.#added.fill(undefined);
    // The caller keeps what it gets, so the cache is not asked.
    this.#known = { computed: this.#computeKey(), effectiveKey: undefined };
    if (this.#takeKey(this.#known.computed) !== undefined) return undefined;
    const added = must(this.#membersToAdd(), 'a simple row gets no value of its own');
    return { key: this.key, effectiveKey: this.effectiveKey(), added };
  }

  #membersToAdd(): string | undefined {
    return this.#adder === undefined ? '' : this.#adder.members(this.#added);
  }

  /** Returns the effective key that the row read last gets in the target. */
  effectiveKey(): string {
    const known = this.#known;
    if (known === undefined) return effectiveKey(this.#kind, this.key);
    return (known.effectiveKey ??= effectiveKey(this.#kind, this.key));
  }

  /** Writes the target document of the row read last. Precondition: `read` returned `moves` for it. */
  write(out: DocumentOutput): void {
    assert(this.refusal === undefined, 'only what moves is written');
    spliceDocument(out, this.#scan, this.#row, this.#edits);
    if (this.#ttl.mode === 'remaining') this.lifetime = this.#writtenLifetime();
  }

  #writtenLifetime(): Lifetime | undefined {
    const left = this.#added.at(-1);
    if (typeof left !== 'number') return undefined;
    const scan = this.#scan;
    const { nodes } = scan;
    const own = scan.start(this.#row, nodes.ttl);
    // Added properties are written before the last brace, and `ttl` after all others.
    const end = this.#edits.endOf(own === 0 ? scan.end(this.#row, nodes.document) - 1 : own);
    return { end, digits: String(left).length, endsTs: this.#nowTs + left };
  }

  #hashSlot(row: number): void {
    if (this.#slot !== undefined) return this.#slot.read(row, this.hashes, 4);
    const { page, nodes } = this.#scan;
    this.#hasher.clear();
    this.#hasher.addRaw(page, this.#scan.start(row, nodes.id), this.#scan.end(row, nodes.id));
    for (const value of this.key) this.#hasher.add(value);
    this.#hasher.finish(this.hashes, 4);
  }

  #refuse(reason: DocumentRefusal['reason'], why: string): 'refused' {
    this.refusal = { reason, why };
    return 'refused';
  }

  #refusedId(): DocumentRefusal | undefined {
    const { nodes, page } = this.#scan;
    const start = this.#scan.start(this.#row, nodes.id);
    if (start === 0 || !isText(page, start)) return { reason: 'bad-id', why: 'id is not a text' };
    const end = this.#scan.end(this.#row, nodes.id);
    const writtenBytes = end - start - 2;
    if (writtenBytes === 0) return { reason: 'bad-id', why: 'id is empty' };
    // Escapes only make a text longer. So if the JSON text of the id is short enough, the id is too.
    if (writtenBytes <= ID_BYTES_MAX || Buffer.byteLength(decodeText(page, start, end)) <= ID_BYTES_MAX)
      return undefined;
    return { reason: 'bad-id', why: `id is longer than ${ID_BYTES_MAX} bytes` };
  }

  /** Sets the key and the values to add, or returns the reason why there is no key. */
  #readKey(): DocumentRefusal | undefined {
    this.#known =
      this.#cache.find(this.#row) ??
      this.#cache.remember({ computed: this.#computeKey(), effectiveKey: undefined });
    return this.#takeKey(this.#known.computed);
  }

  #takeKey(computed: MovedKey): DocumentRefusal | undefined {
    if (computed.kind === 'refused') return computed;
    this.key = computed.values;
    if (this.#additionPaths.length > 0) {
      this.#additions.fill(undefined);
      putValues(computed.additions, this.#additionPaths, this.#additions);
    }
    return undefined;
  }

  #computeKey(): MovedKey {
    return this.#plan.compute(valuesAt(this.#scan, this.#row, this.#inputs));
  }

  /** Returns seconds until expiry in the source; undefined if the document never expires, or keeps its `ttl`. */
  #secondsLeft(defaultTtl: number, nowTs: number): number | undefined {
    const { nodes } = this.#scan;
    const own = valueAt(this.#scan, this.#row, nodes.ttl);
    const ttl = own === undefined ? defaultTtl : own;
    // A value that the service does not accept as a time to live stays unchanged.
    if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl <= 0 || ttl > TTL_MAX) return undefined;
    const start = this.#scan.start(this.#row, nodes.ts);
    if (start === 0 || isText(this.#scan.page, start)) return undefined;
    return decodeNumber(this.#scan.page, start, this.#scan.end(this.#row, nodes.ts)) + ttl - nowTs;
  }

  /** Returns the size of the target document, or an upper bound for it that is below the limit. */
  #sizeBytes(): number {
    const scan = this.#scan;
    const edits = this.#edits;
    const { document } = scan.nodes;
    let size = scan.end(this.#row, document) - scan.start(this.#row, document);
    for (let edit = 0; edit < edits.count; edit += 1)
      size += edits.text(edit).length * 3 + edits.from(edit) - edits.to(edit);
    if (size <= DOCUMENT_BYTES_MAX) return size;
    for (let edit = 0; edit < edits.count; edit += 1) {
      const text = edits.text(edit);
      size += Buffer.byteLength(text) - text.length * 3;
    }
    for (let cut = scan.firstCut(this.#row); cut < scan.lastCut(this.#row); cut += 1)
      size -= scan.cutEnd(cut) - scan.cutStart(cut);
    return size;
  }
}

/** Returns what is added to a document that moves forth. */
function addedPaths(plan: MovePlan): AddedPath[] {
  const { additionPaths, replacedPaths, presentPaths } = plan;
  return additionPaths.map((path) => ({
    path,
    from: keptFrom(plan, path),
    onPresent: isIn(replacedPaths, path) ? 'replace' : isIn(presentPaths, path) ? 'leave' : 'keep',
  }));
}

function isIn(paths: readonly Path[], path: Path): boolean {
  return paths.some((other) => isSamePath(other, path));
}

/** Returns the source key path whose old value is kept at `path` in the target document; undefined if there is none. */
function keptFrom({ sourcePaths, sourcePathsInTarget }: MovePlan, path: Path): Path | undefined {
  const level = sourcePathsInTarget.findIndex((kept) => isSamePath(kept, path));
  return level < 0 ? undefined : sourcePaths[level];
}
/**
 * Reads the identity of a deleted document from a delete in the all-versions feed, in any known shape of deletes. Also
 * reads the identity that a renamed document had before.
 */
export class Deletion {
  readonly #scan: PageScan<EnvelopeNodes>;
  readonly #hasher = new IdentityHasher();

  /** Precondition: the key paths of the scan are the source paths of the plan. */
  constructor(scan: PageScan<EnvelopeNodes>) {
    this.#scan = scan;
  }

  /**
   * Writes the identity of a row to `out[at]`. Returns false if the identity cannot be determined: a level that the
   * delete lacks may have been missing in the document, or the delete may have an unknown shape.
   */
  read(row: number, out: Uint32Array, at: number): boolean {
    return this.#hash(row, this.#nodesOf(row), out, at);
  }

  /** Returns the id and the key levels as JSON texts of the page, for a row whose identity was determined. */
  name(row: number): (string | null)[] {
    return this.#texts(row, this.#nodesOf(row));
  }

  /** Does the same as `read`, but only from the previous image, which a replace may have too. */
  readPrevious(row: number, out: Uint32Array, at: number): boolean {
    return this.#hash(row, this.#previousNodesOf(row), out, at);
  }

  previousName(row: number): (string | null)[] {
    return this.#texts(row, this.#previousNodesOf(row));
  }

  #hash(row: number, nodes: readonly number[] | undefined, out: Uint32Array, at: number): boolean {
    if (nodes === undefined) return false;
    this.#hasher.clear();
    for (const node of nodes)
      this.#hasher.addRaw(this.#scan.page, this.#scan.start(row, node), this.#scan.end(row, node));
    this.#hasher.finish(out, at);
    return true;
  }

  #texts(row: number, nodes: readonly number[] = []): (string | null)[] {
    return nodes.map((node) => keyText(this.#scan, row, node));
  }

  /** Returns the nodes of the id and the levels; undefined if they cannot be determined. */
  #nodesOf(row: number): readonly number[] | undefined {
    const { deletedId, deletedKey } = this.#scan.around;
    const isThere = (node: number): boolean => this.#scan.start(row, node) !== 0;
    // In a batch, {} stands for a missing value. Whether it does in a delete is not documented, so it is not taken as a
    // value.
    const isKeyValue = (node: number): boolean => keyStart(this.#scan, row, node) !== 0;
    const levels = deletedKey.map((nodes) => nodes.find(isKeyValue) ?? 0);
    if (isThere(deletedId) && levels.every((node) => node !== 0)) return [deletedId, ...levels];
    // A previous image, if the feed sends it, also shows which levels were missing.
    return this.#previousNodesOf(row);
  }

  #previousNodesOf(row: number): readonly number[] | undefined {
    const { previousId, previousKey } = this.#scan.around;
    return this.#scan.start(row, previousId) === 0 ? undefined : [previousId, ...previousKey];
  }
}
