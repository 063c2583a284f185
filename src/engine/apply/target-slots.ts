/**
 * Sends all requests to slots of the target: conditional writes, and reads that find out which document is in a slot.
 * Invariant: a slot is never read from a replica that lacks one of our writes, even if the reply to the write was
 * lost, or an earlier process has sent the write. After a lost reply the slot is not read until the write can no
 * longer take effect.
 */
import { RangeDispatcher } from '../../cosmos/bulk/dispatcher.ts';
import { BatchExecutor, type Decision } from '../../cosmos/bulk/execute.ts';
import {
  madeText,
  type OperationEnd,
  type OperationText,
  type RangeOperation,
} from '../../cosmos/bulk/operation.ts';
import { failureOf } from '../../cosmos/bulk/point-reads.ts';
import { BatchBody } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { refreshTtl, shifted } from '../../documents/ttl.ts';
import { replyScan } from '../../documents/page-scan.ts';
import { effectiveKey } from '../../epk/effective-key.ts';
import type { MovePlan } from '../../keys/move-plan.ts';
import { rekeyPaths } from '../../keys/rekey.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Side } from '../../cosmos/side.ts';
import type { ServiceTime } from '../../cosmos/account/service-time.ts';
import type { RequestNotes } from '../unit/last-request.ts';
import type { Timing } from '../../spec/timing.ts';
import { SlotOwners, type Occupant } from './slot-owner.ts';
import type { UniqueKeys } from './unique-keys.ts';
import type { Version } from '../tail/source-version.ts';
import { idOf, type Slot } from './identity.ts';

/** The target's reply to one operation, with the document if one was read. */
export type SlotReply = Decision<Occupant>;

/** How a write ended. */
export type WriteOutcome = 'ok' | 'conflict' | 'changed' | 'missing' | 'ambiguous' | TargetRefusal;

/** Why the target does not accept a document in any slot. */
export interface TargetRefusal {
  readonly reason: 'too-large' | 'partition-full' | 'rejected';
  readonly code: string;
}

interface Parts {
  readonly side: Side;
  readonly plan: MovePlan;
  readonly unique: UniqueKeys;
  readonly clock: Clock;
  readonly timing: Timing;
  readonly serviceTime: ServiceTime;
  readonly notes: Pick<RequestNotes, 'note'>;
  /** Whether the etags of written documents are wanted. */
  readonly etags: boolean;
  readonly signal: AbortSignal;
}

/** The bytes of a document for the target, and when it expires. */
type Document = Pick<Version, 'body' | 'lifetime'> & {
  /** Called with the etag that the document got, in turns after the first one. */
  readonly onWritten?: (etag: string) => void;
};

/** An operation, and whether an earlier operation for the same document was sent already. */
type SlotOperation = OperationText & Pick<RangeOperation<SlotReply>, 'hasBegun'>;

/** An etag that no document has. A write that requires it is refused, and the reply brings the newest session token. */
const NO_ETAG = '"cosmig"';

export class TargetSlots {
  readonly dispatcher: RangeDispatcher<SlotReply>;
  readonly #parts: Parts;
  readonly #executor: BatchExecutor<Occupant>;
  #inDoubt = 0;
  readonly #body = new BatchBody(new ByteOutput());

  constructor(parts: Parts) {
    this.#parts = parts;
    const { side, plan, unique, clock, notes } = parts;
    const replies = replyScan(rekeyPaths(plan));
    const owners = new SlotOwners(replies, { plan, unique, side, keeps: parts.etags });
    this.#executor = new BatchExecutor({
      side,
      replies,
      keep: (row, etag) => owners.read(row, etag),
      beforeRequest: () => notes.note(),
      ...(parts.etags ? { etags: true } : {}),
    });
    this.dispatcher = new RangeDispatcher({ side, executor: this.#executor, clock });
  }

  async create(slot: Slot, document: Document): Promise<WriteOutcome> {
    return this.#write(
      slot,
      this.#writing(document, (body) => body.create(slot.key)),
      document,
    );
  }

  async replace(
    slot: Slot,
    document: Document,
    { identity, etag }: Pick<Occupant, 'identity' | 'etag'>,
  ): Promise<WriteOutcome> {
    const text = this.#writing(document, (body) =>
      body.replace(slot.key, { id: idOf(identity), ifMatch: etag }),
    );
    return this.#write(slot, { ...text, hasBegun: true }, document);
  }

  async remove(slot: Slot, { identity, etag }: Pick<Occupant, 'identity' | 'etag'>): Promise<WriteOutcome> {
    return this.#write(slot, { ...this.#delete(slot, idOf(identity), etag), hasBegun: true });
  }

  /**
   * Reads the document in a slot; null if the slot is empty. `id` is JSON text. `isFirst`: no operation for this
   * document was sent before, so operations for documents that have begun are sent earlier than this one.
   */
  async read(slot: Slot, id: Buffer, { isFirst = false } = {}): Promise<Occupant | null> {
    const text = this.#operation((body) => body.read(slot.key, { id }));
    const outcome = await this.#send(slot, { ...text, hasBegun: !isFirst }, this.#delete(slot, id, NO_ETAG));
    if (outcome.is !== 'done') throw failureOf(outcome);
    return outcome.value.document ?? null;
  }

  /** How many writes had no reply and may still take effect. */
  get writesInDoubt(): number {
    return this.#inDoubt;
  }

  /** Waits out the request timeout: after that a write whose reply was lost can no longer take effect. */
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

  async #write(
    slot: Slot,
    text: SlotOperation,
    { onWritten }: Pick<Document, 'onWritten'> = {},
  ): Promise<WriteOutcome> {
    const outcome = await this.#send(slot, text);
    switch (outcome.is) {
      case 'done': {
        const { value } = outcome;
        if (value.etag !== undefined && value.status < 300) onWritten?.(value.etag);
        return decided(value);
      }
      case 'ambiguous':
        this.#parts.signal.throwIfAborted();
        await this.waitOutTimeout();
        return 'ambiguous';
      case 'not-done':
        throw outcome.cause;
    }
  }

  /**
   * Sends an operation. A read comes with a probe: a write that the service always refuses, and whose reply has the
   * newest session token.
   */
  async #send(slot: Slot, text: SlotOperation, probe?: OperationText): Promise<OperationEnd<SlotReply>> {
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

  /**
   * Makes an operation that writes a document. If the document expires, its `ttl` is set to the remaining seconds at
   * the moment of sending.
   */
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
      refreshTtl(
        body.subarray(at, at + sizeBytes),
        shifted(lifetime, -before),
        this.#parts.serviceTime.nowTs(),
      );
    };
    return { sizeBytes, writeTo };
  }

  /** Makes one operation, and copies its bytes out of the memory that all operations share. */
  #operation(write: (body: BatchBody) => void): OperationText {
    this.#body.clear();
    write(this.#body);
    return madeText(Uint8Array.prototype.slice.call(this.#body.out.view(), 1));
  }
}

export function decided({
  status,
  substatus,
}: Pick<SlotReply, 'status' | 'substatus'>): Exclude<WriteOutcome, 'ambiguous'> {
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
