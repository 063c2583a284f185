/**
 * Owns everything there is in one run: source, target, network, the ledger that survives and the process
 * that does not. The watch sees each write and commit and keeps the first breach of a step invariant.
 */
import type { Commit } from './back/commit.ts';
import type { BackMutation } from './back/mutations.ts';
import type { Mutation } from './mutations.ts';
import { Ledger } from './mover/ledger.ts';
import { Process } from './mover/process.ts';
import { run } from './mover/run.ts';
import { Network } from './network.ts';
import type { Scenario } from './scenario.ts';
import { Source, type Identity, type Slot } from './source.ts';
import { refusalOf, Target, type Receiver, type Write } from './target.ts';

/** The containers of one turn, which have a past of their own. */
export interface Sides {
  readonly source: Source;
  readonly target: Receiver;
  readonly turn: number;
  readonly before: Commit | null;
  /** Documents of the closed side that the turn before has left out: no copy of them may be expected. */
  readonly leftOut: ReadonlySet<Slot>;
  /** Documents of the source whose counterpart differs, as the operator knows. */
  readonly excused: ReadonlySet<Identity>;
}

export class World {
  readonly scenario: Scenario;
  readonly mutation: Mutation | BackMutation | null;
  readonly source: Source;
  readonly target: Receiver;
  /** 0 is a migration's first turn; odd ones go back. */
  readonly turn: number;
  /** The commit of the turn before. */
  readonly before: Commit | null;
  readonly network: Network;
  readonly ledger: Ledger;
  process: Process | null = null;
  /** Slots with a foreign document. */
  readonly foreign = new Set<Slot>();
  breach: string | null = null;
  readonly leftOut: ReadonlySet<Slot>;
  /** Documents whose copies may differ, until the application writes them. */
  readonly excused: Set<Identity>;
  /** The application has stopped for the cutover. */
  fenced = false;
  /** The ledger of this turn was lost after it had begun: it is not begun again. */
  refused = false;
  /** What strangers have written in the target, by etag. */
  readonly strangers = new Set<number>();
  /** The turn is over. */
  committed: Commit | null = null;
  /** What was wrong at a quiet moment. */
  failure: string | null = null;
  crashes = 0;
  #order = 0;

  constructor(scenario: Scenario, mutation: Mutation | BackMutation | null, sides?: Sides) {
    this.scenario = scenario;
    this.mutation = mutation;
    this.ledger = new Ledger({ losesPower: scenario.powerLoss });
    this.source = sides?.source ?? new Source(scenario.ranges);
    this.target = sides?.target ?? new Target(scenario.uniqueKeys);
    this.turn = sides?.turn ?? 0;
    this.before = sides?.before ?? null;
    this.leftOut = sides?.leftOut ?? new Set();
    this.excused = new Set(sides?.excused);
    this.network = new Network(this.target, (write) => this.#watchWrite(write));
  }

  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** No process starts any longer. */
  get isOver(): boolean {
    return this.committed !== null || this.refused || this.ledger.unsafe !== null;
  }

  get hasUnknown(): boolean {
    return this.turn > 0 && this.scenario.foreign;
  }

  isLeftOut(slot: Slot): boolean {
    const etag = this.target.now.get(slot)?.etag;
    const { notOurs, spare } = this.ledger;
    return etag !== undefined && (notOurs.get(slot) === etag || spare.get(slot) === etag);
  }

  start(): boolean {
    if (this.process !== null || this.isOver) return false;
    this.process = new Process(this);
    this.process.spawn('run', run(this.process));
    return true;
  }

  crash(): boolean {
    if (this.process === null) return false;
    this.crashes += 1;
    this.fenced = false;
    this.process = null;
    this.network.abandonAll();
    this.ledger.losePower();
    return true;
  }

  /** The mover ends by itself, and has nothing on the way. */
  stop(): void {
    this.process = null;
    this.network.abandonAll();
  }

  watchCommit({ open, contiguous }: { open: number; contiguous: boolean }): void {
    if (open > 0) this.#break('a page was committed before its last outcome');
    if (!contiguous) this.#break('a position moved past an uncommitted page');
  }

  #watchWrite(write: Write): void {
    const { kind, slot, id, ifMatch, moving } = write;
    if (kind !== 'create' && ifMatch === null) this.#break(`an unconditional ${kind} of ${id} at ${slot}`);
    const elsewhere = [...this.target.now].some(([other, copy]) => other !== slot && copy.owner === id);
    const there = this.target.now.get(slot);
    if (there !== undefined && this.strangers.has(there.etag) && refusalOf(write, there) === 'ok')
      this.failure ??= `what a stranger has written in ${slot} is gone`;
    if (moving && !elsewhere && there?.owner === id && there.etag === ifMatch)
      this.#break(`${id} left ${slot} before its new copy was there`);
  }

  #break(what: string): void {
    this.breach ??= what;
  }
}
