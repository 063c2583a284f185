/** Owns a run of the engine whose order a test decides: requests are held until the test answers them. */
import { Chance } from '../../chance.ts';
import type { Scenario } from '../../scenario.ts';
import type { Identity, Lag, Slot } from '../../source.ts';
import { EngineRun } from '../engine-scheduler.ts';
import type { Waiting, WireFate } from '../memory-service.ts';
import { World } from '../world.ts';

/** One range, no trouble but what the test makes. */
const PLAIN: Scenario = {
  identities: ['A7', 'C7'],
  ranges: 1,
  deletes: 'avad',
  lag: false,
  feedKeepsToken: true,
  uniqueKeys: false,
  misfits: false,
  ttl: false,
  batches: false,
  foreign: false,
  renames: false,
  resizing: false,
  retention: false,
  crashesMax: 9,
  powerLoss: false,
  coalesces: true,
  networkTrouble: false,
  appFirst: 0,
  appMax: 0,
  actionsMax: 0,
};

const STEPS_MAX = 2000;

export class Story implements Disposable {
  readonly world: World;
  readonly #run: EngineRun;

  constructor(scenario: Partial<Scenario> = {}) {
    this.world = new World({ ...PLAIN, ...scenario });
    this.#run = new EngineRun(this.world, new Chance(1));
  }

  /** What the application does, or what happens to the process or the ranges. */
  do(...actions: readonly string[]): void {
    for (const action of actions)
      if (!this.#run.perform(action)) throw new Error(`${action} is not possible now`);
  }

  /** Does the actions, and lets the engine finish. Fails when the oracle finds something wrong. */
  async rest(...actions: readonly string[]): Promise<void> {
    this.do(...actions);
    await this.#run.quiet();
    if (this.world.failure !== null) throw new Error(this.world.failure);
  }

  /** Lets everything happen until a request of this name waits. Requests that are held are not answered. */
  async untilWaiting(name: RegExp, ...held: readonly Waiting[]): Promise<Waiting> {
    const found = (): Waiting | undefined =>
      this.world.service.waiting.find((one) => name.test(one.name) && !held.includes(one));
    await this.world.timers.whenIdle();
    for (let n = 0; n < STEPS_MAX; n += 1) {
      const waiting = found();
      if (waiting !== undefined) return waiting;
      await this.step(...held);
    }
    const names = this.world.service.waiting.map((one) => one.name);
    throw new Error(`no request is called ${String(name)}, but ${names.join(', ')}`);
  }

  /** Answers the oldest request that is not held, or lets time pass until something happens. */
  async step(...held: readonly Waiting[]): Promise<void> {
    const { world } = this;
    world.start();
    const request = world.service.waiting.find((one) => !held.includes(one));
    if (request !== undefined) this.#run.meet(request, 'ok', 0);
    else if (this.#run.mayTick()) this.#run.tick(() => 'lands');
    await world.timers.whenIdle();
    if (world.failure !== null) throw new Error(world.failure);
  }

  /** Lets everything happen that can happen while some requests are held. */
  async go(...held: readonly Waiting[]): Promise<void> {
    for (let n = 0; n < 20; n += 1) await this.step(...held);
  }

  /** Lets things happen until the run fails; returns why, and the writes that were sent meanwhile. */
  async untilFailure(): Promise<{ readonly failure: string | null; readonly sent: readonly string[] }> {
    const sent = new Set<string>();
    for (let n = 0; n < 20 && this.world.failure === null; n += 1) {
      for (const name of this.writes) sent.add(name);
      await this.step().catch(() => {});
    }
    return { failure: this.world.failure, sent: [...sent] };
  }

  /** All writes whose client has given up take effect, or never do. */
  endAll(fate: 'lands' | 'never'): void {
    const { service } = this.world;
    for (const late of service.abandoned) service.settle(late, fate);
  }

  async answer(request: Waiting, fate: WireFate = 'ok', lag: Lag = 0): Promise<void> {
    this.#run.meet(request, fate, lag);
    await this.world.timers.whenIdle();
  }

  /** The names of all writes that wait for a reply or may land late. */
  get writes(): readonly string[] {
    const { waiting, abandoned } = this.world.service;
    return [...waiting.filter(({ writes }) => writes !== null), ...abandoned].map(({ name }) => name);
  }

  /** Where copies of a document are. */
  slotsOf(id: Identity): Slot[] {
    return [...this.world.target.model.now].filter(([, { owner }]) => owner === id).map(([slot]) => slot);
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}
