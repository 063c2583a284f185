/**
 * A source document becomes a target document: who it is, where it lands, and its bytes with the key put in. The
 * mover writes what this gives, and the verifier expects it; nobody else decides what a target document looks like.
 *
 * It works on the rows of one scan, which it tells what to look for (`rekeyPaths`), and is pure: the same bytes, the
 * same plan and the same time give the same document. Nothing is kept from row to row but reused memory, and keys,
 * by the bytes they come from.
 */
import { IdentityHasher, RowIdentity } from '../documents/identity.ts';
import { decodeNumber, decodeScalar, decodeText, isComposite, isText } from '../documents/scalar.ts';
import type { Scalar } from '../documents/scalar.ts';
import type { Lifetime } from '../documents/ttl.ts';
import type { EnvelopeNodes, PageScan } from '../documents/page-scan.ts';
import { Adder, Edits, spliceDocument } from '../documents/splice.ts';
import type { AddedPath, DocumentOutput } from '../documents/splice.ts';
import { assert } from '../lib/assert.ts';
import { effectiveKey } from '../epk/effective-key.ts';
import type { KeyComponent, KeyKind } from '../epk/effective-key.ts';
import { isSamePath, printPath } from './path.ts';
import { KeyCache, type KnownKey } from './key-cache.ts';
import type { ComputedKey, KeyPlan } from './plan.ts';
import { composite } from './strategies/strategy.ts';
import type { Path, Value } from './strategies/strategy.ts';

/** 2 MB, as the service counts an item (fact SVC-8). */
export const DOCUMENT_BYTES_MAX = 2 * 1024 * 1024;
/** The longest id that the service accepts (fact SVC-2). */
const ID_BYTES_MAX = 1023;
/** A time to live ends here (fact SVC-11). */
const TTL_MAX = 2_147_483_647;

/** Why a document cannot be moved: reasons of dead letters. */
export interface Refusal {
  readonly reason: 'missing-key' | 'invalid-key' | 'key-conflict' | 'too-large' | 'key-too-long' | 'bad-id';
  readonly why: string;
}

/**
 * `restart`: bytes unchanged, the countdown starts again with the copy. `remaining`: `ttl` is written so that the
 * document ends when it would have; `defaultTtl` is the source container's, in seconds, or -1.
 */
export type TtlMode =
  | { readonly mode: 'restart' }
  | { readonly mode: 'remaining'; readonly defaultTtl: number };

export interface RekeyOptions {
  readonly plan: KeyPlan;
  /** How the target hashes its key. */
  readonly kind: KeyKind;
  readonly ttl: TtlMode;
}

/** Every path that a scan must look for, if a `Rekey` or a `Placement` is to read its rows. */
export function rekeyPaths(plan: KeyPlan): readonly Path[] {
  return [
    ...plan.inputs,
    ...plan.sourcePaths,
    ...plan.targetPaths,
    ...plan.additionPaths,
    ...plan.sourcePathsInTarget,
  ];
}

/**
 * What `read` says of a row: `moves` to the target; `refused`, with the reason in `refusal`; or `expired` already, so
 * that there is nothing to move.
 */
export type Verdict = 'moves' | 'refused' | 'expired';

export class Rekey {
  /** Identity and, if it moves, slot of the row read last: four words each. */
  readonly hashes = new Uint32Array(8);
  /** The row's key in the target, level by level, if it moves. */
  key: readonly KeyComponent[] = [];
  /** Why it does not move, if it is refused. */
  refusal: Refusal | undefined;
  /** Of the row written last: the `ttl` that was put in, and where it is in the output. */
  lifetime: Lifetime | undefined;
  readonly #scan: PageScan;
  readonly #plan: KeyPlan;
  readonly #kind: KeyKind;
  readonly #ttl: TtlMode;
  readonly #hasher = new IdentityHasher();
  readonly #inputs: readonly number[];
  readonly #identity: RowIdentity;
  /** Of a plan that only reads, slots need no decoding either. */
  readonly #slot: RowIdentity | undefined;
  readonly #adder: Adder | undefined;
  readonly #additionPaths: readonly Path[];
  /** One for each added path, and `ttl` behind them. */
  readonly #added: Array<Scalar | undefined>;
  readonly #edits = new Edits();
  readonly #cache: KeyCache;
  #known: KnownKey | undefined;
  #row = 0;
  #nowTs = 0;

  constructor(scan: PageScan, { plan, kind, ttl }: RekeyOptions) {
    this.#scan = scan;
    this.#plan = plan;
    this.#kind = kind;
    this.#ttl = ttl;
    this.#inputs = plan.inputs.map((path) => scan.nodeAt(path));
    this.#cache = new KeyCache(scan, this.#inputs);
    const nodesAt = (paths: readonly Path[]): number[] => paths.map((path) => scan.nodeAt(path));
    this.#identity = new RowIdentity(scan, scan.nodes.id, nodesAt(plan.sourcePaths));
    this.#slot =
      plan.additionPaths.length > 0
        ? undefined
        : new RowIdentity(scan, scan.nodes.id, nodesAt(plan.targetPaths));
    this.#additionPaths = plan.additionPaths;
    const replaced = new Set(plan.replacedPaths.map((path) => JSON.stringify(path)));
    const added: AddedPath[] = plan.additionPaths.map((path) => ({
      path,
      from: keptFrom(plan, path),
      onPresent: replaced.has(JSON.stringify(path)) ? 'replace' : 'keep',
    }));
    if (ttl.mode === 'remaining') added.push({ path: ['ttl'], onPresent: 'replace-or-leave' });
    this.#adder = added.length === 0 ? undefined : new Adder(scan, added);
    this.#added = added.map(() => undefined);
  }

  /** Reads a row of the last scan; `nowTs` is the service's time in seconds, for documents that expire. */
  read(row: number, nowTs: number): Verdict {
    this.#row = row;
    this.#nowTs = nowTs;
    this.#edits.clear();
    this.#identity.read(row, this.hashes, 0);

    this.refusal = this.#refusedId() ?? this.#readKey();
    if (this.refusal !== undefined) return 'refused';
    this.#hashSlot(row);

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

  /** Where the key of the row read last lands in the hash space of the target. */
  effectiveKey(): string {
    const place = this.#known?.place ?? effectiveKey(this.#kind, this.key);
    if (this.#known !== undefined) this.#known.place = place;
    return place;
  }

  /** Writes the target document of the row read last, which moves. */
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
    // What is added stands before the last brace, and `ttl` comes last.
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

  #refuse(reason: Refusal['reason'], why: string): 'refused' {
    this.refusal = { reason, why };
    return 'refused';
  }

  #refusedId(): Refusal | undefined {
    const { nodes, page } = this.#scan;
    const start = this.#scan.start(this.#row, nodes.id);
    if (start === 0 || !isText(page, start)) return { reason: 'bad-id', why: 'id is not a text' };
    const end = this.#scan.end(this.#row, nodes.id);
    const writtenBytes = end - start - 2;
    if (writtenBytes === 0) return { reason: 'bad-id', why: 'id is empty' };
    // Escapes only make it longer, so what is written short enough is short enough.
    if (writtenBytes <= ID_BYTES_MAX || Buffer.byteLength(decodeText(page, start, end)) <= ID_BYTES_MAX)
      return undefined;
    return { reason: 'bad-id', why: `id is longer than ${ID_BYTES_MAX} bytes` };
  }

  /** Sets the key and the values to add, or says why there is no key. */
  #readKey(): Refusal | undefined {
    this.#known = this.#cache.find(this.#row) ?? this.#cache.remember(this.#computeKey());
    const { computed } = this.#known;
    if (computed.kind === 'refused') return computed;
    this.key = computed.values;
    if (this.#additionPaths.length > 0) {
      this.#added.fill(undefined);
      for (const { path, value } of computed.additions) {
        const index = this.#additionPaths.indexOf(path);
        assert(index >= 0, 'a plan adds values at its addition paths');
        this.#added[index] = value;
      }
    }
    return undefined;
  }

  #computeKey(): ComputedKey {
    const values: Value[] = [];
    for (const node of this.#inputs) values.push(this.#valueAt(node));
    return this.#plan.compute(values);
  }

  #valueAt(node: number): Value {
    const scan = this.#scan;
    const start = scan.start(this.#row, node);
    if (start === 0) return undefined;
    if (isComposite(scan.page, start)) return composite;
    return decodeScalar(scan.page, start, scan.end(this.#row, node));
  }

  /** Seconds until the document expires in the source; undefined when it never does, or keeps its `ttl` as it is. */
  #secondsLeft(defaultTtl: number, nowTs: number): number | undefined {
    const { nodes } = this.#scan;
    const own = this.#valueAt(nodes.ttl);
    const ttl = own === undefined ? defaultTtl : own;
    // What the service would not take as a time to live is none: it stays as it is.
    if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl <= 0 || ttl > TTL_MAX) return undefined;
    const start = this.#scan.start(this.#row, nodes.ts);
    if (start === 0 || isText(this.#scan.page, start)) return undefined;
    return decodeNumber(this.#scan.page, start, this.#scan.end(this.#row, nodes.ts)) + ttl - nowTs;
  }

  /** Size of the target document; of one that is far from too large, a bound that is as good. */
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

/** The source key path whose old value is kept at `path`, if that is what is added there. */
function keptFrom({ sourcePaths, sourcePathsInTarget }: KeyPlan, path: Path): Path | undefined {
  const level = sourcePathsInTarget.findIndex((kept) => isSamePath(kept, path));
  return level < 0 ? undefined : sourcePaths[level];
}

/**
 * Whose document stands in which slot, read from documents of the target: the source identity that it carries in its
 * source key properties, and the slot that its key says it is in.
 */
export class Placement {
  /** Identity and slot of the row read last: four words each. */
  readonly hashes = new Uint32Array(8);
  readonly #identity: RowIdentity;
  readonly #slot: RowIdentity;

  constructor(scan: PageScan, plan: KeyPlan) {
    const nodesAt = (paths: readonly Path[]): number[] => paths.map((path) => scan.nodeAt(path));
    this.#identity = new RowIdentity(scan, scan.nodes.id, nodesAt(plan.sourcePathsInTarget));
    this.#slot = new RowIdentity(scan, scan.nodes.id, nodesAt(plan.targetPaths));
  }

  read(row: number): void {
    this.#identity.read(row, this.hashes, 0);
    this.#slot.read(row, this.hashes, 4);
  }
}

/** Who was deleted: the identity that a delete of the all-versions feed tells of, in whatever shape it does. */
export class Deletion {
  readonly #scan: PageScan<EnvelopeNodes>;
  readonly #hasher = new IdentityHasher();

  /** The scan was made with the plan's source paths as key paths. */
  constructor(scan: PageScan<EnvelopeNodes>) {
    this.#scan = scan;
  }

  /**
   * Puts the row's identity at `out[at]`. False when it cannot be rebuilt: a level that is not told may have been
   * missing in the document, or may be told in a shape that is not known.
   */
  read(row: number, out: Uint32Array, at: number): boolean {
    const nodes = this.#nodesOf(row);
    if (nodes === undefined) return false;
    this.#hasher.clear();
    for (const node of nodes)
      this.#hasher.addRaw(this.#scan.page, this.#scan.start(row, node), this.#scan.end(row, node));
    this.#hasher.finish(out, at);
    return true;
  }

  /** The id and the levels of the key, as they stand in the page; of a row that `read` could rebuild. */
  name(row: number): (string | null)[] {
    const scan = this.#scan;
    return (this.#nodesOf(row) ?? []).map((node) =>
      scan.start(row, node) === 0
        ? null
        : scan.page.toString('utf8', scan.start(row, node), scan.end(row, node)),
    );
  }

  /** Where the id and the levels are told. */
  #nodesOf(row: number): readonly number[] | undefined {
    const { deletedId, deletedKey, previousId, previousKey } = this.#scan.around;
    const isThere = (node: number): boolean => this.#scan.start(row, node) !== 0;
    // No key value is an object or an array: {} may stand for a missing one, as it does in batches, but nobody says so.
    const isTold = (node: number): boolean =>
      isThere(node) && !isComposite(this.#scan.page, this.#scan.start(row, node));
    const levels = deletedKey.map((places) => places.find(isTold) ?? 0);
    if (isThere(deletedId) && levels.every((node) => node !== 0)) return [deletedId, ...levels];
    // The last image, where one is sent, tells missing levels too.
    return isThere(previousId) ? [previousId, ...previousKey] : undefined;
  }
}
