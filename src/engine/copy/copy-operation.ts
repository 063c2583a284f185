/**
 * A create on the short way: an operation for the writer, and its turn in the sequencer. There are as many as documents,
 * so it is little, and those of a page that is over serve the next one.
 */
import { reckonAnew, type Lifetime } from '../../documents/ttl.ts';
import { must } from '../../lib/assert.ts';
import type { OperationOutcome, RangeOperation } from '../../cosmos/bulk/operation.ts';
import { Turn } from '../unit/sequencer.ts';
import type { SlotReply } from '../apply/target-slots.ts';

/** What the operations of a page have together. */
export interface PageOfOperations {
  readonly places: readonly string[];
  operationBytes(entry: number): number;
  /** When its document ends, as the operation says. */
  lifetime(entry: number): Lifetime | undefined;
  writeOperation(entry: number, body: Buffer, at: number): void;
}

/** Who waits for them. */
export interface Ends {
  /** The service's time in seconds. */
  readonly nowTs: number;
  ended(entry: number, turn: CopyOperation, outcome: OperationOutcome<SlotReply>): void;
}

const BEGUN = 'an operation that is sent has begun';

export class CopyOperation extends Turn implements RangeOperation<SlotReply> {
  readonly #page: PageOfOperations;
  readonly #entry: number;
  #ends: Ends | undefined;

  constructor(page: PageOfOperations, entry: number) {
    super(undefined);
    this.#page = page;
    this.#entry = entry;
  }

  /** As if it were new. */
  begin(ends: Ends): void {
    this.#ends = ends;
    this.renew();
  }

  get sizeBytes(): number {
    return this.#page.operationBytes(this.#entry);
  }

  writeTo(body: Buffer, at: number): void {
    const page = this.#page;
    page.writeOperation(this.#entry, body, at);
    const lifetime = page.lifetime(this.#entry);
    if (lifetime === undefined) return;
    const { nowTs } = must(this.#ends, BEGUN);
    reckonAnew(body.subarray(at, at + this.sizeBytes), lifetime, nowTs);
  }

  get effectiveKey(): string {
    return this.#page.places[this.#entry] ?? '';
  }

  get isRead(): boolean {
    return false;
  }

  complete(outcome: OperationOutcome<SlotReply>): void {
    must(this.#ends, BEGUN).ended(this.#entry, this, outcome);
  }
}
