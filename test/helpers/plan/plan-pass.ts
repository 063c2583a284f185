/** A pass of a plan over the container `shop/orders` of an emulator. */
import { connect } from '../../../src/cosmos/account/client.ts';
import { readContainer } from '../../../src/cosmos/container/inspect.ts';
import { Patience } from '../../../src/cosmos/load/retry.ts';
import { openSide, type Side } from '../../../src/cosmos/side.ts';
import { must } from '../../../src/lib/assert.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom, type Random } from '../../../src/lib/random.ts';
import { currentCandidate, parseCandidate } from '../../../src/plan/candidates/candidate.ts';
import { readForPlan, type Measured, type PlanPassParts } from '../../../src/plan/reading/plan-pass.ts';
import { uniqueKeysOf } from '../../../src/plan/unique/unique-values.ts';
import { loadSpec } from '../../../src/spec/load.ts';

export interface PassOrder extends Partial<
  Pick<
    PlanPassParts,
    'share' | 'exact' | 'fresh' | 'ruMax' | 'isAccepted' | 'timing' | 'say' | 'onCost' | 'onProgress'
  >
> {
  readonly connectionString: string;
  readonly path: string;
  readonly keys: readonly string[];
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

export async function planPass(order: PassOrder): Promise<Measured> {
  return withSide(order, async (side, random) => {
    const { path, keys, seed: _seed, connectionString: _connection, ...others } = order;
    const { facts } = side;
    return readForPlan({
      side,
      path,
      candidates: [...keys.map((key) => parseCandidate(key)), currentCandidate(facts.keyPaths)],
      show: { name: 'plain', text: showPlainly },
      share: 1,
      readRu: 1.1,
      created: null,
      uniqueKeys: uniqueKeysOf(facts.settings.uniqueKeyPolicy),
      exact: false,
      fresh: false,
      ruMax: null,
      isAccepted: false,
      clock: systemClock,
      random,
      say: () => undefined,
      ...others,
      signal: signalOf(order),
      timing: { checkpointMs: 0, saveTimesMin: 0, pageSize: 20, ...order.timing },
    });
  });
}

export function showPlainly(values: readonly unknown[]): string {
  return JSON.stringify(values.length === 1 ? values[0] : values);
}

function signalOf({ signal }: Pick<PassOrder, 'signal'>): AbortSignal {
  return signal ?? new AbortController().signal;
}

/** Opens the source for some work. */
export async function withSide<T>(
  order: Pick<PassOrder, 'connectionString' | 'path' | 'seed' | 'signal'>,
  work: (side: Side, random: Random) => Promise<T>,
): Promise<T> {
  const { connectionString, path, seed = 7 } = order;
  const { connections, spec } = loadSpec({
    options: {
      source: ['shop/orders'],
      target: ['shop/none'],
      partitionKey: ['/none'],
      ledger: [`${path}-l`],
    },
    env: { COSMIG_SOURCE_CONNECTION_STRING: connectionString },
    clock: systemClock,
  });
  const signal = signalOf(order);
  const random = seededRandom(seed);
  const waiting = { clock: systemClock, random, onWait: () => undefined };
  using account = await connect(connections.source, { signal });
  const found = await readContainer(
    account,
    { database: 'shop', container: 'orders' },
    { signal, patience: new Patience(waiting) },
  );
  const facts = must(found, 'the container is there');
  const budget = spec.sourceBudget;
  const side = await openSide('source', { account, facts, budget, ...waiting, timeoutMs: 1000 }, signal);
  return await work(side, random);
}

/** Everything that a pass has measured, to be compared with another pass. */
export function figuresOf({ measure }: Measured): unknown {
  const { totals, candidates } = measure;
  return {
    totals,
    candidates: candidates.map((one) => ({
      documents: one.documents,
      missing: one.missing,
      types: one.types,
      refused: one.refused,
      distinct: one.samples.map((sample) => sample.distinct()),
      items: one.samples.map((sample) => sample.itemsPerKey()),
      largest: one.biggest
        .heaviest(20)
        .map(({ high, low, ...bounds }) => ({ ...bounds, value: one.texts.of(high, low) }))
        .toSorted((a, b) => b.weight.low - a.weight.low || (a.value < b.value ? -1 : 1)),
      collisions: one.slots.repeats(),
      balance: one.space.balance('bytes', 4).shares.map((share) => Math.round(share * 1e6)),
    })),
  };
}
