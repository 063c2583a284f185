/**
 * A page of the copy under way. Nearly every document is created, for the first time, and nothing is known of it: it
 * takes the short way, an operation that is done when it is answered by 201. Whatever meets anything else goes the
 * long way, through the apply rule, under the locks it has.
 */
import { unreachable } from '../../lib/assert.ts';
import { apply, type Held } from '../apply/apply.ts';
import type { FlatPage } from './flat-page.ts';
import type { CopyOperation, Ends } from './copy-operation.ts';
import type { OperationOutcome } from '../../cosmos/bulk/operation.ts';
import type { RunContext } from '../context.ts';
import { PageWork } from '../unit/page-work.ts';
import { decided, type SlotReply } from '../apply/target-slots.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';

interface CopyPageParts {
  readonly context: RunContext;
  readonly unit: UnitOfWork;
  readonly copied: FlatPage;
  readonly indexId: number;
}

export class CopyPage extends PageWork implements Ends {
  readonly #parts: CopyPageParts;
  /** Documents of the short way that have landed. */
  #written = 0;

  constructor(parts: CopyPageParts) {
    super(parts.context, parts.unit);
    this.#parts = parts;
  }

  override get outcomes(): Float64Array {
    const { outcomes, count } = this.#parts.copied;
    return outcomes.subarray(0, count);
  }

  /** INTENT, and then every document on its way. */
  override async begin(): Promise<void> {
    const { context, unit, copied, indexId } = this.#parts;
    const { sequencer, pending, slots, signal } = context;
    const { count, hashes, others, parts } = copied;
    unit.count('documentsRead', copied.documents);
    this.expect(count + others.length);
    if (count > 0) await unit.begin([], { indexId, parts });
    for (let entry = 0; entry < count; entry += 1) {
      while (!sequencer.hasRoom) await sequencer.whenRoom(signal);
      const turn = copied.operation(entry, this);
      sequencer.admit(turn, hashes, entry * 8, 2);
      // Who waits for others, or may have a row, is not new.
      if (turn.state !== 'held' || pending.filter.mayHave(hashes, entry * 8)) this.#contest(entry, { turn });
      else slots.dispatcher.add(turn);
    }
    for (const change of others) this.start(async () => apply({ context, unit, change }));
  }

  /** The service's time in seconds. */
  get nowTs(): number {
    return Math.floor(this.#parts.context.serviceMs() / 1000);
  }

  override async whenDone(): Promise<void> {
    await super.whenDone();
    this.#parts.unit.count('documentsWritten', this.#written);
    this.#written = 0;
  }

  /** An operation of the short way has ended. */
  ended(entry: number, turn: CopyOperation, outcome: OperationOutcome<SlotReply>): void {
    switch (outcome.is) {
      case 'done':
        if (outcome.value.status !== 201)
          return this.#contest(entry, { turn, written: decided(outcome.value) });
        this.#land(entry);
        this.#written += 1;
        this.#parts.context.sequencer.release(turn);
        return this.complete();
      case 'ambiguous':
        return this.#contest(entry, { turn, written: 'ambiguous' });
      case 'not-done':
        // The run is over, and says why itself.
        return;
      default:
        return unreachable(outcome);
    }
  }

  #contest(entry: number, held: Held): void {
    const { context, unit, copied, indexId } = this.#parts;
    this.start(async () => {
      const change = copied.change(entry, indexId);
      if (held.written === 'ambiguous') await context.slots.settle();
      const { slot } = change.version ?? { slot: null };
      // The segment has claimed it.
      if (slot !== null) unit.claimed(change.identity.hash, slot.hash);
      await apply({ context, unit, change, onLive: () => this.#land(entry) }, held);
    });
  }

  /** Our copy is where the segment says. */
  #land(entry: number): void {
    const { context, copied } = this.#parts;
    copied.outcomes[entry] = context.ledger.pages.nextSequence();
  }
}
