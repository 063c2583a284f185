/**
 * Finds out which document is in a slot. Invariant: the identity is rebuilt from the content of the document that was read,
 * never from what the ledger expects there.
 */
import { hashToBytes } from '../../documents/hash.ts';
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import type { Side } from '../../cosmos/side.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { Placement, Rekey } from '../../keys/rekey.ts';
import { textsAt, type SourceIdentity } from './identity.ts';
import type { UniqueKeys, UniqueValues } from './unique-keys.ts';

/** The document in a slot. */
export interface Occupant {
  readonly identity: SourceIdentity;
  /** A conditional write insists on it. */
  readonly etag: string;
  /** The key computed from its content is not the key of its slot: cosmig has not written it. */
  readonly foreign: boolean;
  readonly uniqueValues: UniqueValues;
}

interface OwnerParts {
  readonly plan: KeyPlan;
  readonly unique: UniqueKeys;
  readonly side: Pick<Side, 'facts'>;
}

/** Reads the identity of a target document from its content. */
export class SlotOwners {
  readonly #replies: PageScan<ReplyNodes>;
  readonly #placement: Placement;
  readonly #name: readonly number[];
  readonly #unique: UniqueKeys;
  /** Computes the key again from the content; undefined where the old key was overwritten. */
  readonly #rekey: Rekey | undefined;

  constructor(replies: PageScan<ReplyNodes>, { plan, unique, side }: OwnerParts) {
    this.#replies = replies;
    this.#unique = unique;
    this.#placement = new Placement(replies, plan);
    this.#name = [replies.nodes.id, ...plan.sourcePathsInTarget.map((path) => replies.nodeAt(path))];
    const ttl = { mode: 'restart' } as const;
    this.#rekey =
      plan.replacedPaths.length > 0 ? undefined : new Rekey(replies, { plan, kind: side.facts.keyKind, ttl });
  }

  read(row: number, etag: string): Occupant {
    const { hashes } = this.#placement;
    this.#placement.read(row);
    const name = textsAt(this.#replies, row, this.#name);
    const uniqueValues = this.#unique.valuesOf(this.#replies.bytes(row, this.#replies.nodes.document));
    return {
      identity: { hash: hashToBytes(hashes), name },
      etag,
      foreign: this.#isForeign(row),
      uniqueValues,
    };
  }

  #isForeign(row: number): boolean {
    if (this.#rekey === undefined) return false;
    if (this.#rekey.read(row, 0) === 'refused') return true;
    const { hashes } = this.#rekey;
    return [4, 5, 6, 7].some((i) => hashes[i] !== this.#placement.hashes[i]);
  }
}
