/** Owns one run of the engine: it settles, copies, and follows the feeds until it is killed. */
import { Account } from '../../../src/cosmos/account/client.ts';
import type { CutoverOptions } from '../../../src/engine/cutover/contract.ts';
import { cutOver } from '../../../src/engine/cutover/cutover.ts';
import { repairEach, type Suspect } from '../../../src/engine/letters/repair.ts';
import { runLeases, type LeasesParts } from '../../../src/engine/leases/run-leases.ts';
import { work, type Goal } from '../../../src/engine/run.ts';
import { packsPages } from '../../helpers/migration/packing.ts';
import { CanceledError } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import type { Ledger } from '../../../src/state/ledger.ts';
import { containersFor, ENDPOINT, KEY, specFor, TIMING } from './settings.ts';
import type { World } from './world.ts';

export class EngineProcess {
  readonly ledger: Ledger;
  /** The parts of the copy, then those of the tail; null before they exist. */
  copy: LeasesParts | null = null;
  tail: LeasesParts | null = null;
  /** Why the run has failed, which it never may. */
  failure: unknown = null;
  /** Whether the run has ended because it was asked to. */
  hasEnded = false;
  /** Repairs that are not finished. */
  repairs = 0;
  readonly #world: World;
  readonly #account: Account;
  readonly #drain = new AbortController();
  /** Never aborted. A signal of its own, since the run leaves its listeners there. */
  readonly #never = new AbortController().signal;
  #isDead = false;

  /** With `cutover` the process is one of that command; without, it copies and tails. */
  constructor(world: World, cutover?: CutoverOptions) {
    this.#world = world;
    const { scenario, timers, files } = world;
    this.ledger = files.open(scenario.deletes, timers.nowMs);
    this.#account = new Account(
      { endpoint: ENDPOINT, key: KEY },
      { httpClient: world.service.client(), clock: timers.clock },
    );
    const ran = cutover === undefined ? this.#run() : this.#cutOver(cutover);
    ran.catch((error: unknown) => this.#fail(error));
  }

  /** Whether the copy is over, and nothing is in flight but the polls of the tail. */
  get isAtRest(): boolean {
    const { tail, ledger } = this;
    if (tail === null || this.repairs > 0 || this.#world.service.waiting.length > 0) return false;
    const { tasks, slots, source } = tail.context;
    const idle = tasks.running + slots.dispatcher.unfinished + source.reads.dispatcher.unfinished === 0;
    const leases = ledger.leases.live();
    const polled = this.#world.service.polls > 2 * leases.length;
    return idle && polled && leases.every(({ phase }) => phase === 'tail');
  }

  /** Repairs what a comparison would find, and tries every letter again. */
  sweep(suspects: readonly Suspect[]): boolean {
    if (this.tail === null) return false;
    const { context, reading } = this.tail;
    const repair = async (): Promise<void> => {
      await repairEach(context, suspects, reading);
      await context.promoter.retryAll('all', reading);
      this.repairs -= 1;
    };
    this.repairs += 1;
    repair().catch((error: unknown) => this.#fail(error));
    return true;
  }

  /** The operator presses Ctrl-C. */
  stop(): void {
    this.#drain.abort(new CanceledError('SIGINT'));
  }

  /** The process never runs again, since nothing answers it. Its file is not used again either. */
  kill(): void {
    this.#isDead = true;
    this.#account[Symbol.dispose]();
    this.ledger.close();
  }

  async #run(): Promise<void> {
    const { phase } = this.ledger.migration.read();
    this.ledger.runs.begin({ command: 'model', pid: 1, nowMs: this.#world.timers.nowMs });
    for (const goal of phase === 'new' || phase === 'copying'
      ? (['copy', 'tail'] as const)
      : (['tail'] as const))
      await this.#work(goal, async (leases) => {
        this[goal] = leases;
        await runLeases(goal, leases);
      });
  }

  async #cutOver(options: CutoverOptions): Promise<void> {
    await this.#work('catch-up', async (leases) => void (await cutOver(leases, options)));
  }

  async #work(goal: Goal, body: (leases: LeasesParts) => Promise<void>): Promise<void> {
    const { scenario, timers } = this.#world;
    const { clock } = timers;
    await work(
      goal,
      {
        spec: specFor(scenario.deletes),
        clock,
        random: seededRandom(7),
        log: createLog({ level: 'error', format: 'text', clock, write: () => {} }),
        drain: this.#drain.signal,
        abort: this.#never,
        timing: TIMING,
        packsPages,
        ledger: this.ledger,
        containers: containersFor(scenario),
        accounts: { source: this.#account, target: this.#account },
      },
      body,
    );
  }

  #fail(error: unknown): void {
    if (this.#isDead) return;
    // A run that was stopped is over when its pages in flight are finished.
    if (this.#drain.signal.aborted && error === this.#drain.signal.reason) {
      this.hasEnded = true;
      return;
    }
    this.failure = error;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#world.failure ??= `the run has failed: ${text}`;
  }
}
