/** The trouble of a fault run: rules for the emulator, and levers that are pulled while the mover works. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../../src/lib/random.ts';
import type { Admin, FaultEffect, FaultOp, FaultRule } from '../../../helpers/emulator/admin.ts';
import { pick } from '../seed.ts';
import { NETWORK_TROUBLES, type NetworkPlan } from '../../../helpers/emulator/rough-network.ts';
import { SHORT_TTL_SECONDS, type Scenario } from './scenario.ts';

/** So many ranges a container is split into. */
export const RANGES_MAX = 7;

/** Where the trouble is made. */
export interface Stage {
  readonly scenario: Scenario;
  readonly admin: Admin;
  /** DB/COLL of both sides. */
  readonly source: string;
  readonly target: string;
  readonly random: Random;
}

/** What replies and requests meet. The application shares batches and reads with the mover. */
export function rulesOf({ faults, lateMs, requestTimeoutMs }: Scenario): FaultRule[] {
  if (faults === 'none') return [];
  const strength = faults === 'storm' ? 1 : 0.4;
  const rule = (op: FaultOp, chance: number, effect: FaultEffect): FaultRule => ({
    match: { op },
    probability: chance * strength,
    effect,
  });
  const writes: FaultRule[] = (['batch', 'create', 'upsert', 'replace', 'delete'] as const).flatMap((op) => [
    rule(op, 0.012, { reset: 'after' }),
    rule(op, 0.008, { reset: 'before' }),
    rule(op, 0.006, { body: 'truncated' }),
    rule(op, 0.004, { body: 'html' }),
    rule(op, 0.02, { status: 429, substatus: 3200, retryAfterMs: 20 }),
    rule(op, 0.005, { status: 408 }),
    rule(op, 0.006, { status: 449 }),
    rule(op, 0.006, { status: 503 }),
    rule(op, 0.004, { status: 410, substatus: 1002 }),
    rule(op, 0.006, { delayMs: lateMs, delayAt: 'before' }),
    rule(op, 0.006, { delayMs: lateMs, delayAt: 'after' }),
    rule(op, 0.006, { delayMs: 120, delayAt: 'before' }),
  ]);
  return [
    ...writes,
    // Replies that come when the client has given up, or never: the write was done or was not.
    {
      match: { op: 'batch', coll: 'target' },
      probability: 0.002,
      effect: { delayMs: requestTimeoutMs + 400, delayAt: 'after' },
    },
    // The preflight is as patient as an operator's default.
    {
      match: { op: 'batch', coll: 'target' },
      after: 40,
      probability: 0.005,
      times: 2,
      effect: { hang: 'before' },
    },
    rule('read-feed', 0.004, { delayMs: requestTimeoutMs + 400 }),
    ...([1000, 1002, 1007, 1008] as const).map((substatus) =>
      rule('read-feed', 0.01, { status: 410, substatus }),
    ),
    rule('read-feed', 0.02, { reset: 'before' }),
    rule('read-feed', 0.02, { reset: 'after' }),
    rule('read-feed', 0.02, { body: 'truncated' }),
    rule('read-feed', 0.01, { body: 'empty' }),
    rule('read-feed', 0.01, { body: 'html' }),
    rule('read-feed', 0.02, { status: 429, substatus: 3200, retryAfterMs: 15 }),
    rule('read-feed', 0.01, { status: 408 }),
    rule('read-feed', 0.01, { status: 503 }),
    rule('read-feed', 0.02, { delayMs: 150 }),
    rule('pkranges', 0.05, { status: 503 }),
    rule('pkranges', 0.05, { reset: 'before' }),
    rule('pkranges', 0.05, { pkranges: 'stale' }),
    rule('pkranges', 0.03, { pkranges: 'incomplete' }),
  ];
}

/** Of the longest time that a request may be late. The faults above may delay the same request too. */
export const NETWORK_LATE_SHARE = 0.2;

/** What happens to connections of the mover. */
export function networkOf({ network }: Scenario): NetworkPlan {
  if (network === 'none') return {};
  const chance = network === 'storm' ? 0.005 : 0.001;
  const all = Object.fromEntries(NETWORK_TROUBLES.map((trouble) => [trouble, chance]));
  return { ...all, refuse: 30 * chance };
}

export interface Levers {
  splits: number;
  merges: number;
  clockMs: number;
}

/** Pulls levers until it is asked to stop. */
export async function pullLevers(stage: Stage, levers: Levers, signal: AbortSignal): Promise<void> {
  const { scenario, admin, random } = stage;
  while (!signal.aborted) {
    await delay(200 + random.below(900), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    // Where lifetimes are rewritten, a jump between reading and writing would be the mover's fault.
    if (scenario.ttl === 'restart' && random.below(3) === 0)
      await moveClock(stage, levers, 1 + random.below(20));
    if (scenario.replicaLagMs > 0 && random.below(4) === 0)
      await admin.account({
        replicaLagMs: pick(random, [0, scenario.replicaLagMs, scenario.replicaLagMs * 2]),
      });
    // A range that is never at rest cannot be read at all.
    if (scenario.resizes && random.below(4) === 0) await resize(stage, levers);
  }
}

/** Time passes for the service, by so many seconds. */
export async function moveClock({ admin }: Stage, levers: Levers, seconds: number): Promise<void> {
  levers.clockMs += seconds * 1_000;
  await admin.clock(levers.clockMs);
}

/** Every document that is meant to expire has. */
export async function letExpire(stage: Stage, levers: Levers): Promise<void> {
  if (stage.scenario.ttl === 'none') return;
  await moveClock(stage, levers, SHORT_TTL_SECONDS + 30);
  for (const path of [stage.source, stage.target]) await stage.admin.purgeExpired(path);
}

async function resize({ scenario, admin, random, source, target }: Stage, levers: Levers): Promise<void> {
  const path = pick(random, [source, target]);
  const ranges = await admin.ranges(path);
  const at = random.below(ranges.length);
  const [low, high] = ranges.slice(at, at + 2);
  // The service refuses merges where all versions are recorded.
  if (scenario.deletes !== 'avad' && low !== undefined && high !== undefined && random.below(2) === 0) {
    if (await pulled(admin.merge(path, [low.id, high.id]))) levers.merges += 1;
  } else if (low !== undefined && ranges.length < RANGES_MAX) {
    const durationMs = pick(random, [0, 60, 250]);
    if (await pulled(admin.split(path, { rangeId: low.id, durationMs }))) levers.splits += 1;
  }
}

/** Whether a lever found its range: a slow split may have ended since we looked. */
async function pulled(lever: Promise<void>): Promise<boolean> {
  try {
    await lever;
    return true;
  } catch (error) {
    if (error instanceof Error && /There is no range|split|merge/.test(error.message)) return false;
    throw error;
  }
}
