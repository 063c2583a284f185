/**
 * A create on the fast path. It is an operation for the target, and also the document's turn in the sequencer. The object
 * is small, and is used again for the same entry of a later page.
 */
import type { OperationEnd, RangeOperation } from '../../cosmos/bulk/operation.ts';
import { must } from '../../lib/assert.ts';
import type { SlotReply } from '../apply/target-slots.ts';
import { Turn } from '../unit/sequencer.ts';
import type { CopiedPage } from './copied-page.ts';
import type { CopyPage } from './copy-page.ts';

/** The page of the copy that has begun an operation, and gets its outcome. */
export type Owner = Pick<CopyPage, 'nowTs' | 'ended'>;

export class CopyOperation extends Turn implements RangeOperation<SlotReply> {
  readonly #page: CopiedPage;
  readonly #entry: number;
  #owner: Owner | undefined;

  constructor(page: CopiedPage, entry: number) {
    super(undefined);
    this.#page = page;
    this.#entry = entry;
  }

  begin(owner: Owner): void {
    this.#owner = owner;
    this.renew();
  }

  get sizeBytes(): number {
    return this.#page.operationBytes(this.#entry);
  }

  writeTo(body: Buffer, at: number): void {
    this.#page.writeOperation(this.#entry, body, at, this.#begun().nowTs);
  }

  get effectiveKey(): string {
    return this.#page.effectiveKeys[this.#entry] ?? '';
  }

  get isRead(): boolean {
    return false;
  }

  complete(outcome: OperationEnd<SlotReply>): void {
    this.#begun().ended(this.#entry, this, outcome);
  }

  #begun(): Owner {
    return must(this.#owner, 'an operation that is sent has begun');
  }
}
