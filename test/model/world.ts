/**
 * Owns everything there is in one run: source, target, network, the ledger that survives and the process
 * that does not. The watch sees each write and commit and keeps the first breach of a step invariant.
 */
import type { Mutation } from './mutations.ts';
import { Ledger } from './mover/ledger.ts';
import { Process } from './mover/process.ts';
import { run } from './mover/run.ts';
import { Network } from './network.ts';
import type { Scenario } from './scenario.ts';
import { Source, type Slot } from './source.ts';
import { Target, type Write } from './target.ts';

export class World {
  readonly scenario: Scenario;
  readonly mutation: Mutation | null;
  readonly source: Source;
  readonly target: Target;
  readonly network: Network;
  readonly ledger: Ledger;
  process: Process | null = null;
  /** Slots with a foreign document. */
  readonly foreign = new Set<Slot>();
  breach: string | null = null;
  /** What was wrong at a quiet moment. */
  failure: string | null = null;
  crashes = 0;
  #order = 0;

  constructor(scenario: Scenario, mutation: Mutation | null) {
    this.scenario = scenario;
    this.mutation = mutation;
    this.ledger = new Ledger({ losesPower: scenario.powerLoss });
    this.source = new Source(scenario.ranges);
    this.target = new Target(scenario.uniqueKeys);
    this.network = new Network(this.target, (write) => this.#watchWrite(write));
  }

  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  start(): boolean {
    if (this.process !== null) return false;
    this.process = new Process(this);
    this.process.spawn('run', run(this.process));
    return true;
  }

  crash(): boolean {
    if (this.process === null) return false;
    this.crashes += 1;
    this.process = null;
    this.network.abandonAll();
    this.ledger.losePower();
    return true;
  }

  watchCommit({ open, contiguous }: { open: number; contiguous: boolean }): void {
    if (open > 0) this.#break('a page was committed before its last outcome');
    if (!contiguous) this.#break('a position moved past an uncommitted page');
  }

  #watchWrite({ kind, slot, id, ifMatch, moving }: Write): void {
    if (kind !== 'create' && ifMatch === null) this.#break(`an unconditional ${kind} of ${id} at ${slot}`);
    const elsewhere = [...this.target.now].some(([other, copy]) => other !== slot && copy.owner === id);
    const there = this.target.now.get(slot);
    if (moving && !elsewhere && there?.owner === id && there.etag === ifMatch)
      this.#break(`${id} left ${slot} before its new copy was there`);
  }

  #break(what: string): void {
    this.breach ??= what;
  }
}
