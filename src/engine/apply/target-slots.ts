/**
 * Everything that is said to the target: conditional writes, and reads of a slot that tell whose document stands in
 * it. What always holds: a slot is never read by a replica that is behind a write of ours, not even behind one whose
 * reply was lost or that another process has sent; after such a reply nothing is read before it can land no more.
 */
import { Writer } from '../../cosmos/bulk/dispatcher.ts';
import { BatchBody } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { reckonAnew, shifted } from '../../documents/ttl.ts';
import { replyScan, type PageScan, type ReplyNodes } from '../../documents/page-scan.ts';
import { effectiveKey } from '../../epk/effective-key.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { Placement, Rekey, rekeyPaths } from '../../keys/rekey.ts';
import { must } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { hashToBytes } from '../../state/segments/segment.ts';
import { textOf, type Batch, type Batched } from '../../cosmos/bulk/batcher.ts';
import type { Operation, Outcome, Reply } from '../../cosmos/bulk/operation.ts';
import { LaneSend, type Decision, type SideOperation } from '../../cosmos/bulk/execute.ts';
import type { Side } from '../../cosmos/side.ts';
import type { Timing } from '../../spec/timing.ts';
import type { Held, UniqueKeys } from './unique-keys.ts';
import type { Version } from '../tail/source-version.ts';
import { idOf, textsAt, toWords, type Slot, type SourceIdentity } from './identity.ts';

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
export interface SlotReply extends Decision {
  readonly found?: Found;
}

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
  /** The service's time in seconds. */
  readonly serviceTs: () => number;
  readonly signal: AbortSignal;
}

/** What is written, as bytes. */
type Text = Pick<Batched, 'sizeBytes' | 'writeTo'>;
/** A document for the target. */
type Document = Pick<Version, 'body' | 'lifetime'>;

/** No document has it, so a write that insists on it is refused, and its reply tells how far the range has come. */
const NO_ETAG = '"cosmig"';

export class TargetSlots {
  readonly writer: Writer<SlotReply>;
  readonly #parts: Parts;
  readonly #lane: LaneSend<SlotReply>;
  /** Ranges of which we know how far our own writes have brought them. */
  readonly #known = new Set<string>();
  /** How often a lost write has had its time to land: what was known before is too old. */
  #doubts = 0;
  #settling = 0;
  readonly #body = new BatchBody(new ByteOutput());

  constructor(parts: Parts) {
    this.#parts = parts;
    const { side, plan, unique, clock, timing } = parts;
    const replies = replyScan(rekeyPaths(plan));
    const owners = new Owners(replies, { plan, unique, side });
    this.#lane = new LaneSend({
      side,
      replies,
      timeoutMs: timing.requestTimeoutMs,
      read: ({ status, substatus }, row, etag = '') => ({ status, substatus, found: owners.read(row, etag) }),
      plain: ({ status, substatus }) => ({ status, substatus }),
    });
    this.writer = new Writer({
      send: async (range, batch, signal) => this.#send(range, batch, signal),
      ranges: side.ranges,
      governor: side.governor,
      clock,
      patience: side.patience,
    });
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
    return this.#write(slot, textOf(this.#delete(slot, idOf(identity), etag)));
  }

  /** Who is in a slot; `id` as JSON text. */
  async read(slot: Slot, id: Buffer): Promise<Found | null> {
    const text = textOf(this.#operation((body) => body.read(slot.key, { id })));
    const outcome = await this.#exchange(slot, text, { probe: this.#delete(slot, id, NO_ETAG) });
    if (outcome.is !== 'done') throw failureOf(outcome);
    return outcome.value.found ?? null;
  }

  /** How many wait until their writes have landed, or never will. */
  get settling(): number {
    return this.#settling;
  }

  /** Waits until a write whose reply was lost has landed, or never will. */
  async settle(): Promise<void> {
    const { clock, timing, signal } = this.#parts;
    this.#settling += 1;
    try {
      await clock.sleep(timing.requestTimeoutMs, signal);
    } finally {
      this.#settling -= 1;
    }
    this.#known.clear();
    this.#doubts += 1;
  }

  async #write(slot: Slot, text: Text): Promise<Written> {
    const outcome = await this.#exchange(slot, text);
    switch (outcome.is) {
      case 'done':
        return decided(outcome.value);
      case 'ambiguous':
        this.#parts.signal.throwIfAborted();
        await this.settle();
        return 'ambiguous';
      case 'not-done':
        throw outcome.cause;
    }
  }

  async #exchange(
    slot: Slot,
    text: Text,
    read?: { readonly probe: Uint8Array },
  ): Promise<Outcome<SlotReply>> {
    const words = new Uint32Array(4);
    toWords(slot.hash, words, 0);
    return new Promise((resolve) => {
      const operation: SlotOperation = {
        ...text,
        slot: words,
        slotAt: 0,
        place: effectiveKey(this.#parts.side.kind, slot.key),
        reads: read !== undefined,
        probe: read?.probe,
        complete: resolve,
      };
      this.writer.add(operation);
    });
  }

  async #send(
    range: string,
    batch: Batch<Operation<SlotReply>>,
    signal: AbortSignal,
  ): Promise<Reply<SlotReply>> {
    const asking = batch.operations.find(isProbing);
    if (asking !== undefined && !this.#known.has(range)) {
      const probe: SlotOperation = {
        ...asking,
        ...textOf(must(asking.probe, 'a read has its probe')),
        reads: false,
      };
      const doubts = this.#doubts;
      const sizeBytes = probe.sizeBytes + 2;
      const reply = await this.#lane.send(range, { operations: [probe], sizeBytes }, signal);
      const [result] = 'is' in reply.results ? [reply.results] : reply.results;
      // Nothing was read yet: the whole batch comes again.
      if (result !== undefined && result.is !== 'done') return { ...reply, results: notYet(result) };
      // One that is refused for its id was not looked up, and tells nothing.
      const isTold = result?.is === 'done' && result.value.status !== 400;
      if (isTold && doubts === this.#doubts) this.#known.add(range);
    }
    return this.#lane.send(range, batch, signal);
  }

  #delete(slot: Slot, id: Buffer, ifMatch: string): Uint8Array {
    return this.#operation((body) => body.delete(slot.key, { id, ifMatch }));
  }

  /** An operation that writes a document; if that ends, with what is left of its life when it is sent. */
  #writing({ body: document, lifetime }: Document, begin: (body: BatchBody) => void): Text {
    let before = 0;
    const text = textOf(
      this.#operation((body) => {
        begin(body);
        before = body.out.length - 1;
        body.out.putBytes(document);
        body.end();
      }),
    );
    if (lifetime === undefined) return text;
    const { sizeBytes } = text;
    const writeTo = (body: Buffer, at: number): void => {
      text.writeTo(body, at);
      reckonAnew(body.subarray(at, at + sizeBytes), shifted(lifetime, -before), this.#parts.serviceTs());
    };
    return { sizeBytes, writeTo };
  }

  /** One operation of a body, in memory of its own. */
  #operation(write: (body: BatchBody) => void): Uint8Array {
    this.#body.clear();
    write(this.#body);
    return Uint8Array.prototype.slice.call(this.#body.out.view(), 1);
  }
}

interface SlotOperation extends SideOperation<SlotReply> {
  /** A write to the same slot that is bound to be refused. */
  readonly probe: Uint8Array | undefined;
}

function isProbing(operation: Operation<SlotReply>): operation is SlotOperation {
  return 'probe' in operation && operation.probe !== undefined;
}

/** A probe that was refused for another reason, or lost: it is no matter whether it was done, so it is not in doubt. */
function notYet(
  result: Exclude<Reply<SlotReply>['results'], readonly unknown[]>,
): Extract<Reply<SlotReply>['results'], { is: 'refused' }> {
  if (result.is === 'refused') return result;
  const trouble = {
    kind: 'transient',
    status: 0,
    substatus: 0,
    what: 'the target did not answer',
    chargeRu: 0,
  } as const;
  return { is: 'refused', kind: 'transient', trouble: { ...trouble, cause: result.cause } };
}

function failureOf(outcome: Exclude<Outcome<SlotReply>, { is: 'done' }>): Error {
  return outcome.cause instanceof Error
    ? outcome.cause
    : new Error('a read was not answered', { cause: outcome.cause });
}

export function decided({ status, substatus }: Decision): Exclude<Written, 'ambiguous'> {
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
      plan.replacedPaths.length > 0 ? undefined : new Rekey(replies, { plan, kind: side.kind, ttl });
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
