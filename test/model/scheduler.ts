/**
 * Owns time: which of all the things that could happen next does. An action is a line of text; a trace
 * is a list of them, and replaying skips what is no longer valid, so that a trace can be shrunk.
 */
import { act, randomAppAction } from './application.ts';
import { Chance } from './chance.ts';
import { reconcile } from './mover/reconcile.ts';
import { isRunnable, type Task } from './mover/task.ts';
import type { Mutation } from './mutations.ts';
import type { Fate, Request } from './network.ts';
import { judgeWorld } from './oracle.ts';
import { canMerge, randomScenario, type Scenario } from './scenario.ts';
import type { Lag } from './source.ts';
import { World } from './world.ts';

export interface Trial {
  readonly scenario: Scenario;
  readonly mutation: Mutation | null;
  /** Also insist on what must hold at every step, not only at quiet moments. */
  readonly steps: boolean;
}

export interface Finding extends Trial {
  readonly trace: readonly string[];
  readonly failure: string;
}

// A convergence of three documents takes some hundred steps; who needs more goes round in circles.
const STEPS_MAX = 5_000;

export function replay(trial: Trial, trace: readonly string[]): string | null {
  const world = new World(trial.scenario, trial.mutation);
  for (const action of trace) {
    perform(world, action);
    const failure = failureOf(world, trial);
    if (failure !== null) return failure;
  }
  return finish(world, trial);
}

/** One generated run. */
export function explore(
  seed: number,
  options: { mutation: Mutation | null; steps: boolean; scenario?: Partial<Scenario> },
): Finding | null {
  const chance = new Chance(seed);
  const scenario = { ...randomScenario(chance), ...options.scenario };
  const trial = { scenario, mutation: options.mutation, steps: options.steps };
  const world = new World(scenario, options.mutation);
  const trace: string[] = [];
  const seen = (failure: string): Finding => ({ ...trial, trace, failure });
  const budget = {
    app: scenario.appMax,
    eager: 2 + chance.below(20),
    sticky: chance.below(4),
    task: '',
  };
  for (let n = 0; n < scenario.actionsMax; n += 1) {
    const action = choose(world, chance, budget);
    if (action === null || !perform(world, action)) continue;
    if (action.startsWith('app')) budget.app -= 1;
    trace.push(action);
    const failure = failureOf(world, trial);
    if (failure !== null) return seen(failure);
  }
  const failure = finish(world, trial);
  return failure === null ? null : seen(failure);
}

function failureOf(world: World, { steps }: Trial): string | null {
  return world.failure ?? (steps ? world.breach : null);
}

export interface Budget {
  app: number;
  /** How many of a hundred actions are the application's. */
  readonly eager: number;
  /** Of four steps, how many continue the task of the step before. */
  readonly sticky: number;
  task: string;
}

export function choose(world: World, chance: Chance, budget: Budget): string | null {
  const { scenario, network, process } = world;
  const dice = chance.below(100);
  const early = world.ledger.leases.length === 0 && process === null && world.crashes === 0;
  const before = early && budget.app > scenario.appMax - scenario.appFirst;
  if (before || (dice < budget.eager && budget.app > 0)) return `app ${randomAppAction(chance, scenario)}`;
  const rare = chance.below(100);
  if (rare < 2 && process !== null && scenario.crashesMax > world.crashes) return 'crash';
  if (rare === 2 && scenario.resizing) return chance.one(['split 0', 'split 0', 'split 2', 'merge 0']);
  if (rare === 3 && scenario.foreign) return chance.one(['foreign P7', 'foreign Q7']);
  if (rare === 5 && scenario.retention) return chance.one(['forget 0', 'forget 1', 'forget 2']);
  if (rare === 6 && (scenario.renames || scenario.deletes === 'reconcile')) return 'sweep';
  if (rare === 4 && chance.below(3) === 0) return 'quiet';
  if (process === null) return dice < 60 ? 'start' : lateAction(chance, network.abandoned);
  if (dice < 40 && network.waiting.length > 0) {
    const fates: Fate[] = ['ok', 'ok', 'ok'];
    if (scenario.networkTrouble) fates.push('reply-lost', 'timed-out', 'throttled');
    return `net ${chance.one(fates)} ${nameOf(chance.one(network.waiting))}`;
  }
  if (dice < 44 && network.abandoned.length > 0) return lateAction(chance, network.abandoned);
  return taskAction(world, chance, budget);
}

function taskAction(world: World, chance: Chance, budget: Budget): string | null {
  const tasks = [...(world.process?.tasks.values() ?? [])].filter(isRunnable);
  if (tasks.length === 0) return null;
  const same = tasks.find(({ name }) => name === budget.task);
  const task = same !== undefined && chance.below(4) < budget.sticky ? same : chance.one(tasks);
  budget.task = task.name;
  const lags = world.scenario.lag && task.pause.reads === true;
  return `task ${task.name} ${lags ? chance.one([0, 0, 1, 2]) : 0}`;
}

function lateAction(chance: Chance, requests: readonly Request[]): string | null {
  if (requests.length === 0) return null;
  return `late ${chance.one(['lands', 'lands', 'never'])} ${nameOf(chance.one(requests))}`;
}

function nameOf({ write }: Request): string {
  return `${write.kind}-${write.id}>${write.slot}`;
}

/** False when the action is not possible now. */
export function perform(world: World, action: string): boolean {
  const [verb, ...rest] = action.split(' ');
  const [first = '', second = ''] = rest;
  switch (verb) {
    case 'start':
      return world.start();
    case 'crash':
      return world.crashes < world.scenario.crashesMax && world.crash();
    case 'task':
      return resume(world, first, second);
    case 'net':
      return meet(world, first, second);
    case 'late':
      return land(world, first, second);
    case 'app':
      return act(world.source, world.scenario, rest.join(' '));
    case 'split':
      return world.source.split(Number(first));
    case 'merge':
      return canMerge(world.scenario) && world.source.merge(Number(first));
    case 'forget':
      return world.source.forget(Number(first));
    case 'foreign':
      return intrude(world, first);
    case 'sweep':
      return sweep(world);
    case 'quiet':
      return quiet(world);
    default:
      throw new Error(`unknown action ${action}`);
  }
}

function resume(world: World, name: string, lag: string): boolean {
  const task = world.process?.tasks.get(name);
  if (task === undefined || !isRunnable(task)) return false;
  world.process?.resume(task, Number(lag) as Lag);
  return true;
}

function meet({ network }: World, fate: string, name: string): boolean {
  const request = network.waiting.find((one) => nameOf(one) === name);
  if (request === undefined) return false;
  network.meet(request, fate as Fate);
  return true;
}

function land({ network }: World, fate: string, name: string): boolean {
  const request = network.abandoned.find((one) => nameOf(one) === name);
  if (request === undefined) return false;
  network.settle(request, fate === 'lands' ? 'lands' : 'never');
  return true;
}

/** Deletes are looked for while the application and the tail go on; settling comes first here too. */
function sweep({ process }: World): boolean {
  if (process === null || !process.tasks.has('promote')) return false;
  reconcile(process);
  return true;
}

function intrude(world: World, slot: string): boolean {
  if (world.target.now.has(slot)) return false;
  world.target.intrude(slot);
  world.foreign.add(slot);
  return true;
}

/** The application pauses, faults end, and the mover runs until it has nothing to do. */
export function converge(world: World): boolean {
  for (const id of world.scenario.identities) if (world.source.awaitsPurge(id)) world.source.delete(id);
  world.start();
  const { network } = world;
  let turn = 0;
  for (let n = 0; n < STEPS_MAX; n += 1) {
    const [request] = network.waiting;
    const tasks = [...(world.process?.tasks.values() ?? [])].filter(isRunnable);
    const [late] = network.abandoned;
    if (request !== undefined) network.meet(request, 'ok');
    else if (tasks.length > 0) world.process?.resume(tasks[turn++ % tasks.length] as Task, 0);
    else if (late !== undefined) network.settle(late, 'lands');
    else return true;
  }
  world.failure = 'the mover never comes to rest';
  return false;
}

export function quiet(world: World): true {
  if (converge(world)) judge(world, { reconciled: false });
  return true;
}

function judge(world: World, how: { reconciled: boolean }): void {
  const stuck = [...(world.process?.tasks.keys() ?? [])].find((name) => /\/|^run$/.test(name));
  if (stuck !== undefined) world.failure ??= `${stuck} waits for ever`;
  if (world.ledger.leases.some(({ phase }) => phase !== 'tail')) world.failure ??= 'the copy never ends';
  world.failure ??= judgeWorld(world, how);
}

/** Quiet at last; then again after a crash; then, where deletes need it, after a reconcile. */
function finish(world: World, trial: Trial): string | null {
  quiet(world);
  world.crash();
  if (failureOf(world, trial) === null) quiet(world);
  const { deletes, renames } = trial.scenario;
  if (failureOf(world, trial) === null && (renames || deletes === 'reconcile') && world.process !== null) {
    reconcile(world.process);
    if (converge(world)) judge(world, { reconciled: true });
  }
  return failureOf(world, trial);
}
