/**
 * Finds out which document is in a slot. Invariant: the identity is computed from the content of the document that was
 * read, never taken from what the ledger expects in the slot.
 */
import { hashToBytes } from '../../documents/hash.ts';
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import type { Side } from '../../cosmos/side.ts';
import type { MovePlan } from '../../keys/move-plan.ts';
import { Placement } from '../../keys/placement.ts';
import { Rekey } from '../../keys/rekey.ts';
import type { SourceIdentity } from './identity.ts';
import type { UniqueKeys, UniqueValues } from './unique-keys.ts';

/** The document in a slot. */
export interface Occupant {
  readonly identity: SourceIdentity;
  /** The etag that a conditional write requires. */
  readonly etag: string;
  /**
   * Whether the key computed from the content differs from the key of the slot: then cosmig has not written the
   * document.
   */
  readonly foreign: boolean;
  readonly uniqueValues: UniqueValues;
  /** The document itself, in turns after the first one; null in the first. */
  readonly document: Buffer | null;
}

interface OwnerParts {
  readonly plan: MovePlan;
  readonly unique: UniqueKeys;
  readonly side: Pick<Side, 'facts'>;
  /** Whether documents are kept, to notice that another process has changed them. */
  readonly keeps: boolean;
}

/** Reads the identity of a target document from its content. */
export class SlotOwners {
  readonly #replies: PageScan<ReplyNodes>;
  readonly #placement: Placement;
  readonly #unique: UniqueKeys;
  readonly #keeps: boolean;
  /**
   * Computes the target key from the content; undefined if a derived value replaces a part of the source key, because
   * the target document then lacks what the key is made of, and in a move back, in which `Placement` computes.
   */
  readonly #rekey: Rekey | undefined;

  constructor(replies: PageScan<ReplyNodes>, { plan, unique, side, keeps }: OwnerParts) {
    this.#keeps = keeps;
    this.#replies = replies;
    this.#unique = unique;
    this.#placement = new Placement(replies, plan);
    const ttl = { mode: 'restart' } as const;
    this.#rekey =
      plan.replacedPaths.length > 0 || plan.back !== undefined
        ? undefined
        : new Rekey(replies, { plan, kind: side.facts.keyKind, ttl });
  }

  read(row: number, etag: string): Occupant {
    const { hashes } = this.#placement;
    const isCopy = this.#placement.read(row);
    const name = this.#placement.name();
    const bytes = this.#replies.bytes(row, this.#replies.nodes.document);
    const uniqueValues = this.#unique.valuesOf(bytes);
    return {
      identity: { hash: hashToBytes(hashes), name },
      etag,
      foreign: !isCopy || this.#isForeign(row),
      uniqueValues,
      // The bytes are those of the reply, which are used again.
      document: this.#keeps ? Buffer.from(bytes) : null,
    };
  }

  #isForeign(row: number): boolean {
    if (this.#rekey === undefined) return false;
    if (this.#rekey.read(row, 0) === 'refused') return true;
    const { hashes } = this.#rekey;
    return [4, 5, 6, 7].some((i) => hashes[i] !== this.#placement.hashes[i]);
  }
}
