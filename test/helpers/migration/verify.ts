/** A comparison of the two containers of a `Move`. */
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { loadSpec } from '../../../src/spec/load.ts';
import { verify, type VerifyParts } from '../../../src/verify/verify.ts';
import type { Verdict } from '../../../src/verify/verdict.ts';
import type { Move, MoveOptions, Order } from './move.ts';

const QUICK = { requestTimeoutMs: 1000, gapMs: 60, checkpointMs: 0, pageSize: 100 };

/** Many at once; one after the other takes its time. */
export async function putAll(move: Move, orders: readonly Order[]): Promise<void> {
  await Promise.all(orders.map(async (order) => move.put(order)));
}

/** What the command line would say. */
export function optionsOf(
  move: Move,
  flags: NonNullable<MoveOptions['flags']> = {},
): Readonly<Record<string, readonly string[]>> {
  return {
    source: ['shop/orders'],
    target: ['shop/by-tenant'],
    ledger: [move.ledgerPath],
    ...(flags['derive'] === undefined ? { partitionKey: ['/tenantId'] } : {}),
    ...flags,
  };
}

export async function verifyMove(
  move: Move,
  parts: Partial<VerifyParts> & { readonly flags?: MoveOptions['flags'] } = {},
): Promise<Verdict> {
  const { flags, timing, ...others } = parts;
  const { spec, connections } = loadSpec({
    options: optionsOf(move, flags),
    env: { COSMIG_SOURCE_CONNECTION_STRING: move.connectionString },
    clock: systemClock,
  });
  return verify({
    spec,
    connections,
    level: 'digest',
    fresh: false,
    // Two looks are enough where nothing is in flight; on a slow machine they take their time.
    deadlineMs: 30_000,
    clock: systemClock,
    random: seededRandom(7),
    log: createLog({ level: 'debug', format: 'text', clock: systemClock, write: () => undefined }),
    signal: new AbortController().signal,
    timing: { ...QUICK, ...timing },
    ...others,
  });
}
