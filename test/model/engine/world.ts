/**
 * Owns everything there is in one run of the engine: source, target and application of the model, the account in front
 * of them, time, the ledger's file that survives, and the process that does not.
 */
import type { CutoverOptions } from '../../../src/engine/cutover/contract.ts';
import type { Scenario } from '../scenario.ts';
import { Source, type Slot } from '../source.ts';
import { Target, type Write } from '../target.ts';
import { EngineProcess } from './engine-process.ts';
import { LedgerFiles } from './ledger-files.ts';
import { MemoryService } from './memory-service.ts';
import { specFor } from './settings.ts';
import { RangeIds } from './source-replies.ts';
import type { TargetSide } from './target-replies.ts';
import { VirtualTimers } from './virtual-timers.ts';
import type { Json } from './wire.ts';

export class World implements Disposable {
  readonly scenario: Scenario;
  readonly source: Source;
  readonly ranges: RangeIds;
  readonly target: TargetSide;
  readonly service: MemoryService;
  readonly timers = new VirtualTimers();
  readonly files: LedgerFiles;
  process: EngineProcess | null = null;
  /** Whether deletes in AVAD name their documents, as they do for most key values. */
  namesDeletes = true;
  /** Slots with a foreign document. */
  readonly foreign = new Set<Slot>();
  /** What was wrong, as soon as something was. */
  failure: string | null = null;
  crashes = 0;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.source = new Source(scenario.ranges);
    this.ranges = new RangeIds(this);
    const model = new Target(scenario.uniqueKeys);
    this.target = { model, documents: new Map<number, Json>(), watch: (write) => this.#watch(write) };
    this.service = new MemoryService(this);
    this.files = new LedgerFiles(specFor(scenario.deletes), { losesPower: scenario.powerLoss });
  }

  start(): boolean {
    if (this.process !== null) return false;
    this.process = new EngineProcess(this);
    return true;
  }

  /** Clears away a process that has ended by itself. */
  reap(): void {
    if (this.process?.hasEnded !== true) return;
    this.process.kill();
    this.process = null;
    this.timers.forget();
  }

  /** The next process is a cutover. */
  cutOver(options: CutoverOptions): void {
    this.crash();
    this.process = new EngineProcess(this, options);
  }

  /** The process ends between two turns of its event loop; it never runs again. */
  crash(): boolean {
    if (this.process === null) return false;
    this.crashes += 1;
    this.process.kill();
    this.process = null;
    this.timers.forget();
    this.service.abandonAll();
    return true;
  }

  /** Another process writes a document that no source document became. */
  intrude(slot: Slot, document: Json): boolean {
    if (this.target.model.now.has(slot)) return false;
    this.overwrite(slot, document);
    return true;
  }

  /** Another process overwrites a copy with a document of its own. */
  overwrite(slot: Slot, document: Json = {}): void {
    const { model, documents } = this.target;
    model.intrude(slot);
    const etag = model.now.get(slot)?.etag ?? 0;
    documents.set(etag, { id: slot.slice(1), key: slot.slice(0, 1), stranger: true, ...document });
    this.foreign.add(slot);
  }

  [Symbol.dispose](): void {
    this.crash();
    this.timers[Symbol.dispose]();
    this.files[Symbol.dispose]();
  }

  #watch({ kind, slot, id, ifMatch }: Write): void {
    if (kind !== 'create' && ifMatch === null)
      this.failure ??= `an unconditional ${kind} of ${id} at ${slot}`;
  }
}
