/** Owns what one fault run of a cutover varies: the migration, who stops the writers, and where it is killed. */
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import type { Strike } from './cutover-child.ts';
import { pick } from '../seed.ts';
import { scenarioOf, type Scenario } from '../migration/scenario.ts';

/** How a process ends before it has ended by itself. */
export type Blow =
  | { readonly by: 'strike'; readonly strike: Strike }
  /** A hook ends the process that has called it, before it has done its own work or after. */
  | { readonly by: 'hook'; readonly hook: Hook; readonly when: 'before' | 'after' }
  | { readonly by: 'time'; readonly afterMs: number };

export const HOOKS = ['fence', 'commit', 'abort'] as const;
export type Hook = (typeof HOOKS)[number];

/** One cutover of a run. */
export interface Attempt {
  readonly blow: Blow;
  /** A hook that ends with an exit code of its own, so that the way leads back. */
  readonly fails?: 'fence';
  /** Once both sides were found equal, a cutover may be tried again without. */
  readonly proves: boolean;
  /** The verify before the cutover, and the tail alongside it. */
  readonly verifyBlow: Blow | null;
  readonly tailBlow: Blow | null;
  /** What the operator does about writers that are still stopped when the cutover is dead. */
  readonly letsWritersOn: boolean;
  /** What status names is done, before the next attempt. */
  readonly isFollowed: boolean;
}

export interface CutoverPlan {
  readonly scenario: Scenario;
  /** Documents collide; their letters are waived in a window without writes. */
  readonly inWindow: boolean;
  readonly copyBlow: Blow | null;
  readonly attempts: readonly Attempt[];
}

/** The migration of a seed. What makes letters is left out, since a cutover waits until there are none. */
export function scenarioOfCutover(seed: number): Scenario {
  const scenario = scenarioOf(seed);
  const collides = seed % 4 === 0;
  return {
    ...scenario,
    isDistinct: !collides,
    missingKey: 'keep',
    misfits: false,
    giants: false,
    strangers: false,
    uniqueKeys: collides && scenario.uniqueKeys,
    ballast: Math.min(80, scenario.ballast),
    // Without a source key it cannot be known whose a copy is, and such documents become dead letters.
    sourceKeys: scenario.sourceKeys.filter((key) => key !== undefined),
    pageBytes: 40_000,
    writesPerSecond: 30,
    faults: scenario.faults === 'storm' ? 'some' : scenario.faults,
  };
}

export function planOf(seed: number): CutoverPlan {
  const random = seededRandom(seed ^ 0xc07);
  const scenario = scenarioOfCutover(seed);
  return {
    scenario,
    inWindow: scenario.isDistinct !== true,
    copyBlow: random.below(3) === 0 ? strikeOf(random, ['commit', 'reply'], 30) : null,
    attempts: Array.from({ length: 2 + random.below(3) }, (_none, at) => attemptOf(random, at === 0)),
  };
}

/** Lines of the journal that a cutover writes. */
const EVENTS = ['phase ready', 'phase fencing', 'phase drained', 'phase proven', 'phase committed'];

function attemptOf(random: Random, isFirst: boolean): Attempt {
  const fails = random.below(6) === 0;
  return {
    blow: fails ? abortBlow(random) : cutoverBlow(random),
    ...(fails ? { fails: 'fence' as const } : {}),
    proves: isFirst || random.below(4) === 0,
    verifyBlow: random.below(2) === 0 ? verifyBlow(random) : null,
    tailBlow: random.below(3) === 0 ? strikeOf(random, ['commit', 'reply'], 40) : null,
    letsWritersOn: random.below(2) === 0,
    isFollowed: random.below(3) === 0,
  };
}

function cutoverBlow(random: Random): Blow {
  switch (random.below(5)) {
    case 0: {
      const at = pick(random, ['journal', 'journalled'] as const);
      return { by: 'strike', strike: { at, event: pick(random, EVENTS), passing: 1 } };
    }
    case 1:
      return {
        by: 'hook',
        hook: pick(random, ['fence', 'commit'] as const),
        when: pick(random, ['before', 'after'] as const),
      };
    case 2:
      return { by: 'time', afterMs: 500 + random.below(6_000) };
    default:
      return strikeOf(random, ['reply', 'reply', 'commit', 'verify-commit'], 25, [
        '',
        ...EVENTS,
        'phase fencing',
        'phase drained',
      ]);
  }
}

function abortBlow(random: Random): Blow {
  if (random.below(2) === 0)
    return { by: 'hook', hook: 'abort', when: pick(random, ['before', 'after'] as const) };
  const at = pick(random, ['journal', 'journalled'] as const);
  return { by: 'strike', strike: { at, event: 'phase tailing', passing: 1 } };
}

function verifyBlow(random: Random): Blow {
  return random.below(3) === 0
    ? { by: 'time', afterMs: 800 + random.below(3_000) }
    : strikeOf(random, ['verify-commit', 'reply'], 30);
}

function strikeOf(
  random: Random,
  moments: ReadonlyArray<Strike['at']>,
  passingMax: number,
  events: readonly string[] = [''],
): Blow {
  const strike = {
    at: pick(random, moments),
    event: pick(random, events),
    passing: 1 + random.below(passingMax),
  };
  return { by: 'strike', strike };
}

export function shownBlow(blow: Blow): string {
  switch (blow.by) {
    case 'time':
      return `after ${blow.afterMs} ms`;
    case 'hook':
      return `${blow.when} the work of on-${blow.hook}`;
    case 'strike': {
      const { at, event, passing } = blow.strike;
      return `${at}${event === '' ? '' : ` (${event})`} #${passing}`;
    }
  }
}
