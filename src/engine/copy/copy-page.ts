/**
 * A page of the copy in flight. Nearly every document is new to the target and unknown to the ledger. Such a document
 * takes the fast path: one create, which is finished when the reply is 201. A document that gets another reply, or that
 * the ledger may know already, takes the slow path: the apply rule, in the turn that it already has.
 */
import type { OperationEnd } from '../../cosmos/bulk/operation.ts';
import { unreachable } from '../../lib/assert.ts';
import { apply, type CopiedTurn } from '../apply/apply.ts';
import { decided, type SlotReply } from '../apply/target-slots.ts';
import type { RunContext } from '../context.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';
import type { CopiedPage } from './copied-page.ts';
import type { CopyOperation } from './copy-operation.ts';

interface CopyPageParts {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly copied: CopiedPage;
}

export class CopyPage {
  readonly #parts: CopyPageParts;

  constructor(parts: CopyPageParts) {
    this.#parts = parts;
  }

  /** Makes the INTENT durable, then sends every document. */
  async begin(): Promise<void> {
    const { context, unit, copied } = this.#parts;
    const { sequencer, pending, slots, signal } = context;
    const { count, others, indexId, parts, outcomes } = copied;
    unit.count('documentsRead', copied.documents);
    unit.count('documentsSkipped', copied.present);
    unit.count('longIntegers', copied.longIntegers);
    unit.expect(count + others.length);
    if (count > 0) await unit.begin([], { indexId, parts, outcomes });
    for (let entry = 0; entry < count; entry += 1) {
      while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
      const operation = copied.operation(entry, this);
      const words = copied.wordsOf(entry);
      const hashAt = copied.hashAt(entry);
      sequencer.admit(operation, words, hashAt, 2);
      // If a document has to wait for its locks, or may have a row, it is perhaps not new.
      if (operation.state !== 'held' || pending.filter.mayHave(words, hashAt))
        this.#takeSlowPath(entry, { turn: operation });
      else slots.dispatcher.add(operation);
    }
    for (const change of others) unit.start(async () => apply({ context, unit, change }));
  }

  /** The service's time in seconds. */
  get nowTs(): number {
    return this.#parts.context.serviceTime.nowTs();
  }

  /** Called when an operation of the fast path has ended. */
  ended(entry: number, operation: CopyOperation, outcome: OperationEnd<SlotReply>): void {
    const { context, unit } = this.#parts;
    switch (outcome.is) {
      case 'done':
        if (outcome.value.status !== 201)
          return this.#takeSlowPath(entry, { turn: operation, written: decided(outcome.value) });
        unit.landed(entry);
        unit.count('documentsWritten');
        context.sequencer.release(operation);
        return unit.complete();
      case 'ambiguous':
        return this.#takeSlowPath(entry, { turn: operation, written: 'ambiguous' });
      case 'not-done':
        // The run has ended and reports the reason itself.
        return;
      default:
        return unreachable(outcome);
    }
  }

  #takeSlowPath(entry: number, begun: CopiedTurn): void {
    const { context, unit, copied } = this.#parts;
    unit.start(async () => {
      const change = copied.change(entry);
      if (begun.written === 'ambiguous') await context.slots.waitOutTimeout();
      unit.claimed(change.identity.hash, change.version.slot.hash);
      await apply({ context, unit, change, onLive: () => unit.landed(entry) }, begun);
    });
  }
}
