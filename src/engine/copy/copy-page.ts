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
import { CopyRun } from './copy-run.ts';

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
    const { count, others, indexId, parts, outcomes } = copied;
    unit.count('documentsRead', copied.documents);
    unit.count('documentsSkipped', copied.present);
    unit.count('longIntegers', copied.longIntegers);
    unit.expect(count + others.length);
    if (count > 0) await unit.begin([], { indexId, parts, outcomes });
    await this.#sendAll();
    for (const change of others) unit.start(async () => apply({ context, unit, change }));
  }

  /** Sends the documents that are certainly new in runs, and each other one by itself. */
  async #sendAll(): Promise<void> {
    const { context, copied } = this.#parts;
    const { sequencer, signal } = context;
    const { packed } = copied;
    for (let entry = 0; entry < copied.count; entry += 1) {
      while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
      if (entry < packed.count) {
        const locked = sequencer.lockAll(copied.hashesOf(entry, packed.count));
        this.#sendRuns(entry, entry + locked);
        entry += locked;
      }
      if (entry < copied.count) this.#sendAlone(entry);
    }
  }

  /** Sends packed documents whose locks are held, in runs to their ranges. */
  #sendRuns(from: number, to: number): void {
    const { copied, context } = this.#parts;
    const { filter } = context.pending;
    const { words } = copied.packed;
    const { rangeIndexes } = copied;
    let first = from;
    for (let entry = from; entry < to; entry += 1) {
      const isNew = !filter.mayHave(words, copied.packed.hashAt(entry));
      if (isNew && rangeIndexes[entry] === rangeIndexes[first]) continue;
      this.#sendRun(first, entry);
      first = entry;
      if (isNew) continue;
      this.#takeSlowPath(entry, { turn: this.adopt(entry) });
      first += 1;
    }
    this.#sendRun(first, to);
  }

  #sendRun(from: number, to: number): void {
    const { copied, context } = this.#parts;
    const { dispatcher } = context.slots;
    if (from === to) return;
    const run = new CopyRun(copied, this, from, to);
    const range = copied.ranges[copied.rangeIndexes[from] ?? -1];
    // After a split the ranges are others than those by which the page was packed.
    if (range !== undefined && copied.ranges === context.targetSide.ranges.list)
      dispatcher.addRun(range.id, run);
    else for (const operation of run.operations()) dispatcher.add(operation);
  }

  /**
   * Takes the locks of a document, and sends its create. If it has to wait for them, or may have a row, it is perhaps
   * not new.
   */
  #sendAlone(entry: number): void {
    const { context, copied } = this.#parts;
    const operation = copied.operation(entry, this);
    const [words, hashAt] = [copied.wordsOf(entry), copied.hashAt(entry)];
    context.sequencer.admit(operation, words, hashAt, 2);
    if (operation.state !== 'held' || context.pending.filter.mayHave(words, hashAt))
      this.#takeSlowPath(entry, { turn: operation });
    else context.slots.dispatcher.add(operation);
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

  /** Called when the documents of a run, from `from` up to and excluding `to`, were created. */
  created(from: number, to: number): void {
    const { context, unit, copied } = this.#parts;
    unit.landedAll(from, to);
    unit.count('documentsWritten', to - from);
    context.sequencer.unlockAll(copied.hashesOf(from, to));
    unit.complete(to - from);
  }

  /** Called when a document needs an operation of its own, which then holds its locks. */
  adopt(entry: number): CopyOperation {
    const { context, copied } = this.#parts;
    const operation = copied.operation(entry, this);
    context.sequencer.adopt(operation, copied.packed.words, copied.packed.hashAt(entry));
    return operation;
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
