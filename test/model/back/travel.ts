/**
 * Owns what happens next on a journey: each turn has a time of its own, with a cutover somewhere in it or at its end.
 */
import { Chance } from '../chance.ts';
import type { Mutation } from '../mutations.ts';
import { randomScenario } from '../scenario.ts';
import { choose, type Budget } from '../scheduler.ts';
import { linesOf, shorten } from '../shrink.ts';
import type { Slot } from '../source.ts';
import type { World } from '../world.ts';
import { Journey, type Itinerary } from './journey.ts';
import type { BackMutation } from './mutations.ts';

export interface Voyage {
  readonly itinerary: Itinerary;
  readonly mutation: Mutation | BackMutation | null;
  readonly trace: readonly string[];
  readonly failure: string;
}

/** A journey is long: each of its turns is shorter than a run that has only one. */
function randomItinerary(chance: Chance): Itinerary {
  const scenario = randomScenario(chance);
  const itinerary: Itinerary = {
    ...scenario,
    lastTurn: chance.one([1, 1, 2]),
    strayMax: chance.below(3) === 0 ? 1 + chance.below(2) : 0,
    loses: chance.below(6) === 0,
    waives: chance.below(4) === 0,
    names: chance.below(4) === 0,
    uniqueKeys: false,
    ttl: chance.below(4) === 0 && scenario.deletes !== 'marker',
    actionsMax: 30 + chance.below(150),
  };
  // Without a draw of its own, so that the seeds of all other rules stay what they are.
  return { ...itinerary, owns: itinerary.names === true };
}

interface Options {
  readonly mutation: Mutation | BackMutation | null;
  readonly itinerary?: Partial<Itinerary>;
}

/** One generated journey, if something is wrong with it. */
export function explore(seed: number, options: Options): Voyage | null {
  const trip = travel(seed, options);
  return trip.failure === null ? null : { ...trip, failure: trip.failure };
}

/** One generated journey, up to its end or to what is wrong. */
export function travel(
  seed: number,
  options: Options,
): Omit<Voyage, 'failure'> & { readonly failure: string | null } {
  const chance = new Chance(seed);
  const itinerary = { ...randomItinerary(chance), ...options.itinerary };
  const { mutation } = options;
  const journey = new Journey(itinerary, mutation);
  const trace: string[] = [];
  const take = (action: string): void => {
    if (journey.failure === null && journey.perform(action)) trace.push(action);
  };
  for (let turn = 0; turn <= itinerary.lastTurn; turn += 1) {
    const isHere = (): boolean => journey.world.turn === turn && journey.failure === null;
    const eager = 2 + chance.below(20);
    const budget = { app: itinerary.appMax, eager, sticky: chance.below(4), task: '' };
    for (let n = 0; n < itinerary.actionsMax && isHere(); n += 1) {
      const action = next(journey, chance, budget);
      if (action === null) continue;
      if (action.startsWith('app')) budget.app -= 1;
      take(action);
    }
    for (const action of ['quiet', 'crash', 'quiet']) if (isHere()) take(action);
    if (turn === itinerary.lastTurn) continue;
    for (const action of ['cutover', 'quiet']) if (isHere()) take(action);
  }
  take('quiet');
  return { itinerary, mutation, trace, failure: journey.failure };
}

function next(journey: Journey, chance: Chance, budget: Budget): string | null {
  const { world, worlds, itinerary } = journey;
  const dice = chance.below(200);
  if (dice < 4) return 'cutover';
  if (dice < 16 && itinerary.strayMax > 0)
    return `stray ${chance.one(['touch', 'delete', 'create'])} ${chance.one(slotsOf(world))}`;
  if (dice < 20 && itinerary.loses) return 'lose';
  if (dice < 30 && itinerary.ttl)
    return `elapse ${chance.one([...slotsOf(world), ...world.scenario.identities])}`;
  const old = worlds.at(-2);
  if (old !== undefined && old.process !== null && dice < 100) {
    const action = choose(old, chance, { ...budget, app: 0 });
    return action === null ? null : `old ${action}`;
  }
  return choose(world, chance, budget);
}

/** Every slot of the closed side that a document may have. */
function slotsOf({ scenario }: World): Slot[] {
  const [first, second] = scenario.keys ?? ['P', 'Q'];
  const ids = new Set(scenario.identities.map((id) => id.slice(1)));
  return [...ids].flatMap((id) => [first + id, second + id]);
}

/** The shortest trace found that still fails. */
export function shortest(voyage: Voyage): Voyage {
  return { ...voyage, ...shorten(voyage, (trace) => replay(voyage, trace)) };
}

export function describeVoyage({ itinerary, mutation, trace, failure }: Voyage): string {
  const on = Object.entries(itinerary).map(([name, value]) => `${name}=${String(value)}`);
  return [
    `${failure}${mutation === null ? '' : ` (without the rule: ${mutation})`}`,
    `  where ${on.join(' ')}`,
    ...linesOf(trace).map((line, at) => `  ${at + 1}. ${line}`),
  ].join('\n');
}

export function replay(
  voyage: Pick<Voyage, 'itinerary' | 'mutation'>,
  trace: readonly string[],
): string | null {
  const journey = new Journey(voyage.itinerary, voyage.mutation);
  for (const action of [...trace, 'quiet']) {
    journey.perform(action);
    if (journey.failure !== null) return journey.failure;
  }
  return null;
}
