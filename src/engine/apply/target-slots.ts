/**
 * Everything that is said to the target: conditional writes, and reads of a slot that tell whose document stands in
 * it. What always holds: a slot is never read by a replica that is behind a write of ours, not even behind one whose
 * reply was lost or that another process has sent; after such a reply nothing is read before it can land no more.
 */
import { hashToBytes } from '../../documents/hash.ts';
import { RangeDispatcher } from '../../cosmos/bulk/dispatcher.ts';
import { BatchExecutor, type Decision } from '../../cosmos/bulk/execute.ts';
import { madeText, type OperationOutcome, type OperationText } from '../../cosmos/bulk/operation.ts';
import { failureOf } from '../../cosmos/bulk/point-reads.ts';
import { BatchBody } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { reckonAnew, shifted } from '../../documents/ttl.ts';
import { replyScan, type PageScan, type ReplyNodes } from '../../documents/page-scan.ts';
import { effectiveKey } from '../../epk/effective-key.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { Placement, Rekey, rekeyPaths } from '../../keys/rekey.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Side } from '../../cosmos/side.ts';
import type { ServiceTime } from '../progress/service-time.ts';
import type { Timing } from '../../spec/timing.ts';
import type { Held, UniqueKeys } from './unique-keys.ts';
import type { Version } from '../tail/source-version.ts';
import { idOf, textsAt, type Slot, type SourceIdentity } from './identity.ts';

/** Whose document stands in a slot. */
export interface Found {
  readonly identity: SourceIdentity;
  /** To insist on, in a write. */
  readonly etag: string;
  /** It is no copy of anything: what its properties say of its key is not where it stands. */
  readonly foreign: boolean;
  /** Of the target's unique keys. */
  readonly held: Held;
}

/** What the target decided; with the document, where one was read. */
export type SlotReply = Decision<Found>;

/** How a write ended that was sent. */
export type Written = 'ok' | 'conflict' | 'changed' | 'missing' | 'ambiguous' | Refusing;

/** The document cannot be there, whoever else is. */
export interface Refusing {
  readonly reason: 'too-large' | 'partition-full' | 'rejected';
  readonly code: string;
}

interface Parts {
  readonly side: Side;
  readonly plan: KeyPlan;
  readonly unique: UniqueKeys;
  readonly clock: Clock;
  readonly timing: Timing;
  readonly serviceTime: ServiceTime;
  readonly signal: AbortSignal;
}

/** A document for the target. */
type Document = Pick<Version, 'body' | 'lifetime'>;

/** No document has it, so a write that insists on it is refused, and its reply tells how far the range has come. */
const NO_ETAG = '"cosmig"';

export class TargetSlots {
  readonly dispatcher: RangeDispatcher<SlotReply>;
  readonly #parts: Parts;
  readonly #executor: BatchExecutor<Found>;
  #inDoubt = 0;
  readonly #body = new BatchBody(new ByteOutput());

  constructor(parts: Parts) {
    this.#parts = parts;
    const { side, plan, unique, clock } = parts;
    const replies = replyScan(rekeyPaths(plan));
    const owners = new Owners(replies, { plan, unique, side });
    this.#executor = new BatchExecutor({ side, replies, keep: (row, etag) => owners.read(row, etag) });
    this.dispatcher = new RangeDispatcher({ side, executor: this.#executor, clock });
  }

  async create(slot: Slot, document: Document): Promise<Written> {
    return this.#write(
      slot,
      this.#writing(document, (body) => body.create(slot.key)),
    );
  }

  async replace(
    slot: Slot,
    document: Document,
    { identity, etag }: Pick<Found, 'identity' | 'etag'>,
  ): Promise<Written> {
    return this.#write(
      slot,
      this.#writing(document, (body) => body.replace(slot.key, { id: idOf(identity), ifMatch: etag })),
    );
  }

  async remove(slot: Slot, { identity, etag }: Pick<Found, 'identity' | 'etag'>): Promise<Written> {
    return this.#write(slot, this.#delete(slot, idOf(identity), etag));
  }

  /** Who is in a slot; `id` as JSON text. */
  async read(slot: Slot, id: Buffer): Promise<Found | null> {
    const text = this.#operation((body) => body.read(slot.key, { id }));
    const outcome = await this.#send(slot, text, this.#delete(slot, id, NO_ETAG));
    if (outcome.is !== 'done') throw failureOf(outcome);
    return outcome.value.document ?? null;
  }

  /** How many wait until their writes have landed, or never will. */
  get writesInDoubt(): number {
    return this.#inDoubt;
  }

  /** Waits until a write whose reply was lost has landed, or never will. */
  async waitOutTimeout(): Promise<void> {
    const { clock, timing, signal } = this.#parts;
    this.#inDoubt += 1;
    try {
      await clock.sleep(timing.requestTimeoutMs, signal);
    } finally {
      this.#inDoubt -= 1;
    }
    this.#executor.giveUpSessions();
  }

  async #write(slot: Slot, text: OperationText): Promise<Written> {
    const outcome = await this.#send(slot, text);
    switch (outcome.is) {
      case 'done':
        return decided(outcome.value);
      case 'ambiguous':
        this.#parts.signal.throwIfAborted();
        await this.waitOutTimeout();
        return 'ambiguous';
      case 'not-done':
        throw outcome.cause;
    }
  }

  /** Sends a write, or the read that comes with a probe. */
  async #send(slot: Slot, text: OperationText, probe?: OperationText): Promise<OperationOutcome<SlotReply>> {
    return new Promise((complete) => {
      this.dispatcher.add({
        ...text,
        effectiveKey: effectiveKey(this.#parts.side.facts.keyKind, slot.key),
        isRead: probe !== undefined,
        probe,
        complete,
      });
    });
  }

  #delete(slot: Slot, id: Buffer, ifMatch: string): OperationText {
    return this.#operation((body) => body.delete(slot.key, { id, ifMatch }));
  }

  /** An operation that writes a document; if that ends, with what is left of its life when it is sent. */
  #writing({ body: document, lifetime }: Document, begin: (body: BatchBody) => void): OperationText {
    let before = 0;
    const text = this.#operation((body) => {
      begin(body);
      before = body.out.length - 1;
      body.out.putBytes(document);
      body.end();
    });
    if (lifetime === undefined) return text;
    const { sizeBytes } = text;
    const writeTo = (body: Buffer, at: number): void => {
      text.writeTo(body, at);
      reckonAnew(
        body.subarray(at, at + sizeBytes),
        shifted(lifetime, -before),
        this.#parts.serviceTime.nowTs(),
      );
    };
    return { sizeBytes, writeTo };
  }

  /** One operation of a body, in memory of its own. */
  #operation(write: (body: BatchBody) => void): OperationText {
    this.#body.clear();
    write(this.#body);
    return madeText(Uint8Array.prototype.slice.call(this.#body.out.view(), 1));
  }
}

export function decided({
  status,
  substatus,
}: Pick<SlotReply, 'status' | 'substatus'>): Exclude<Written, 'ambiguous'> {
  if (status < 300) return 'ok';
  const code = substatus === 0 ? String(status) : `${status}/${substatus}`;
  switch (status) {
    case 404:
      return 'missing';
    case 409:
      return 'conflict';
    case 412:
      return 'changed';
    case 413:
      return { reason: 'too-large', code };
    case 403:
      return { reason: 'partition-full', code };
    default:
      return { reason: 'rejected', code };
  }
}

/** Reads from documents of the target whose they are. */
class Owners {
  readonly #replies: PageScan<ReplyNodes>;
  readonly #placement: Placement;
  readonly #name: readonly number[];
  readonly #unique: UniqueKeys;
  /** What the key would be by what the document says; nothing where the old key was written over. */
  readonly #rekey: Rekey | undefined;

  constructor(
    replies: PageScan<ReplyNodes>,
    { plan, unique, side }: Pick<Parts, 'plan' | 'unique' | 'side'>,
  ) {
    this.#replies = replies;
    this.#unique = unique;
    this.#placement = new Placement(replies, plan);
    this.#name = [replies.nodes.id, ...plan.sourcePathsInTarget.map((path) => replies.nodeAt(path))];
    const ttl = { mode: 'restart' } as const;
    this.#rekey =
      plan.replacedPaths.length > 0 ? undefined : new Rekey(replies, { plan, kind: side.facts.keyKind, ttl });
  }

  read(row: number, etag: string): Found {
    const { hashes } = this.#placement;
    this.#placement.read(row);
    const name = textsAt(this.#replies, row, this.#name);
    const held = this.#unique.heldBy(this.#replies.bytes(row, this.#replies.nodes.document));
    return { identity: { hash: hashToBytes(hashes), name }, etag, foreign: this.#isForeign(row), held };
  }

  #isForeign(row: number): boolean {
    if (this.#rekey === undefined) return false;
    if (this.#rekey.read(row, 0) === 'refused') return true;
    const { hashes } = this.#rekey;
    return [4, 5, 6, 7].some((i) => hashes[i] !== this.#placement.hashes[i]);
  }
}
