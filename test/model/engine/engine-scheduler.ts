/**
 * Owns the order of everything that happens in a run of the engine: what the application does, which request is answered
 * how, when time passes, when the process dies. A seed makes the run.
 */
import { act, randomAppAction } from '../application.ts';
import { Chance } from '../chance.ts';
import { judgeWorld } from '../oracle.ts';
import { canMerge, randomScenario, type Scenario } from '../scenario.ts';
import type { Lag } from '../source.ts';
import { suspectsIn, viewOf } from './engine-view.ts';
import { LATE_MS, type Abandoned, type Waiting, type WireFate } from './memory-service.ts';
import { World } from './world.ts';

export interface EngineFinding {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly trace: readonly string[];
  readonly failure: string;
}

// A convergence takes some hundred steps; an engine that needs more makes no progress.
const STEPS_MAX = 5000;

/** One generated run; null if every promise held. */
export async function exploreEngine(
  seed: number,
  changes: Partial<Scenario> = {},
): Promise<EngineFinding | null> {
  const chance = new Chance(seed);
  const scenario = { ...randomScenario(chance), ...changes };
  using world = new World(scenario);
  const run = new EngineRun(world, chance);
  await run.play();
  await run.finish();
  const { failure } = world;
  return failure === null ? null : { seed, scenario, trace: run.trace, failure };
}

export function describeEngineFinding({ seed, scenario, trace, failure }: EngineFinding): string {
  const on = Object.entries(scenario).map(([name, value]) => `${name}=${String(value)}`);
  const lines = trace.map((line, n) => `  ${n + 1}. ${line}`);
  return [`${failure} (seed ${seed})`, `  where ${on.join(' ')}`, ...lines].join('\n');
}

export class EngineRun {
  readonly trace: string[] = [];
  readonly #world: World;
  readonly #chance: Chance;
  readonly #startMs: number;
  readonly #eager: number;
  #appLeft: number;

  constructor(world: World, chance: Chance) {
    this.#world = world;
    this.#chance = chance;
    this.#startMs = world.timers.nowMs;
    this.#eager = 2 + chance.below(20);
    this.#appLeft = world.scenario.appMax;
  }

  /** Random actions. */
  async play(): Promise<void> {
    const { scenario, timers } = this.#world;
    for (let n = 0; n < scenario.actionsMax && this.#world.failure === null; n += 1) {
      await timers.whenIdle();
      this.#world.reap();
      await this.#act();
    }
  }

  /** At rest; again after a crash; and, where deletes need it, after a sweep. */
  async finish(): Promise<void> {
    const world = this.#world;
    await this.quiet();
    this.perform('crash');
    await this.quiet();
    const { process } = world;
    const isDue = process?.ledger.leases.live().some(({ sweepPending }) => sweepPending) === true;
    if (world.failure !== null || (world.scenario.deletes !== 'reconcile' && !isDue)) return;
    this.perform('sweep');
    if (await this.converge()) this.#judge({ reconciled: true });
  }

  /** The application pauses, faults end, the engine comes to rest, and the oracle looks. */
  async quiet(): Promise<void> {
    this.trace.push('quiet');
    if (await this.converge()) this.#judge({ reconciled: false });
  }

  /** Runs until the engine has nothing to do. `until` ends it earlier. */
  async converge(until: () => boolean = () => false): Promise<boolean> {
    const world = this.#world;
    const { service, source, scenario, timers } = world;
    for (const id of scenario.identities) if (source.awaitsPurge(id)) source.delete(id);
    world.start();
    service.polls = 0;
    for (let n = 0; n < STEPS_MAX; n += 1) {
      await timers.whenIdle();
      if (world.failure !== null) return false;
      if (until()) return true;
      if (world.process?.hasEnded === true) {
        world.reap();
        world.start();
        continue;
      }
      const [request] = service.waiting;
      const [late] = service.abandoned;
      if (request !== undefined) service.meet(request, 'ok', 0);
      else if (world.process?.isAtRest === true) {
        if (late === undefined) return true;
        service.settle(late, 'lands');
        service.polls = 0;
      } else this.tick(() => 'lands');
    }
    world.failure ??= 'the engine never comes to rest';
    return false;
  }

  async #act(): Promise<void> {
    const { scenario, process, service, crashes, timers } = this.#world;
    const chance = this.#chance;
    const dice = chance.below(100);
    const early = process === null && crashes === 0 && timers.nowMs === this.#startMs;
    const before = early && this.#appLeft > scenario.appMax - scenario.appFirst;
    if (before || (dice < this.#eager && this.#appLeft > 0)) {
      this.#appLeft -= 1;
      this.perform(`app ${randomAppAction(chance, scenario)}`);
      return;
    }
    const rare = chance.below(100);
    if (rare < 2 && process !== null && scenario.crashesMax > crashes) return void this.perform('crash');
    if (rare === 2 && scenario.resizing)
      return void this.perform(chance.one(['split 0', 'split 0', 'split 2', 'merge 0']));
    if (rare === 3 && scenario.foreign) return void this.perform(chance.one(['foreign P7', 'foreign Q7']));
    if (rare === 5 && scenario.retention)
      return void this.perform(chance.one(['forget 0', 'forget 1', 'forget 2']));
    if (rare === 6 && scenario.deletes === 'reconcile') return void this.perform('sweep');
    if (rare === 7) return void this.perform('stop');
    if (rare === 4 && chance.below(3) === 0) return this.quiet();
    if (process === null && dice < 60) return void this.perform('start');
    const late = service.abandoned;
    if ((process === null || dice < 44) && late.length > 0 && chance.below(4) === 0)
      return this.#land(chance.one(late), chance.one(['lands', 'lands', 'never']));
    if (process === null) return;
    if (service.waiting.length === 0 || (dice < 60 && this.mayTick()))
      return this.tick(() => chance.one(['lands', 'lands', 'never']));
    this.#meet(chance.one(service.waiting));
  }

  #meet(request: Waiting): void {
    const { scenario } = this.#world;
    const chance = this.#chance;
    const fates: WireFate[] = ['ok', 'ok', 'ok', 'ok', 'ok'];
    if (scenario.networkTrouble) {
      fates.push('throttled', 'timed-out');
      if (request.writes !== null) fates.push('reply-lost', 'timed-out', 'short');
    }
    const fate = chance.one(fates);
    const lag: Lag = scenario.lag && request.writes === null ? chance.one([0, 0, 1, 2]) : 0;
    this.meet(request, fate, lag);
  }

  meet(request: Waiting, fate: WireFate, lag: Lag): void {
    this.trace.push(`net ${fate} ${lag} ${request.name}`);
    this.#world.service.meet(request, fate, lag);
  }

  #land(late: Abandoned, fate: 'lands' | 'never'): void {
    this.trace.push(`late ${fate} ${late.name}`);
    this.#world.service.settle(late, fate);
  }

  /** Whether the next timer is due before a request that waits is given up. */
  mayTick(): boolean {
    const { service, timers } = this.#world;
    const oldest = service.waiting.reduce((least, { sentMs }) => Math.min(least, sentMs), Infinity);
    return timers.nextMs < oldest + LATE_MS;
  }

  /** Moves time to the next timer. What was given up long ago lands now or never. */
  tick(fateOf: () => 'lands' | 'never'): void {
    const { service, timers } = this.#world;
    timers.tick();
    this.trace.push(`time ${(timers.nowMs - this.#startMs) / 1000}`);
    for (const late of service.abandoned.filter(({ untilMs }) => untilMs <= timers.nowMs))
      this.#land(late, fateOf());
  }

  /** False when the action is not possible now. */
  perform(action: string): boolean {
    this.trace.push(action);
    const world = this.#world;
    const [verb, first = '', ...rest] = action.split(' ');
    switch (verb) {
      case 'start':
        return world.start();
      case 'crash':
        return world.crash();
      case 'stop':
        world.process?.stop();
        return world.process !== null;
      case 'app':
        return act(world.source, world.scenario, [first, ...rest].join(' '));
      case 'split':
        return world.source.split(Number(first));
      case 'merge':
        return canMerge(world.scenario) && world.source.merge(Number(first));
      case 'forget':
        return world.source.forget(Number(first));
      case 'foreign':
        return world.intrude(first, {});
      case 'sweep':
        return world.process?.sweep(suspectsIn(world)) ?? false;
      default:
        throw new Error(`unknown action ${action}`);
    }
  }

  #judge(how: { readonly reconciled: boolean }): void {
    const view = viewOf(this.#world);
    if (view === null) return;
    const judged = how.reconciled ? { ...view, scenario: this.#world.scenario } : view;
    this.#world.failure ??= judgeWorld(judged, how);
  }
}
