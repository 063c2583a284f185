/** A pass of a plan over the container `shop/orders` of an emulator. */
import { connect } from '../../../src/cosmos/account/client.ts';
import { readContainer } from '../../../src/cosmos/container/inspect.ts';
import { Patience } from '../../../src/cosmos/load/retry.ts';
import { openSide } from '../../../src/cosmos/side.ts';
import { must } from '../../../src/lib/assert.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { currentCandidate, parseCandidate } from '../../../src/plan/candidates/candidate.ts';
import { readForPlan, type Measured, type PlanPassParts } from '../../../src/plan/reading/plan-pass.ts';
import { loadSpec } from '../../../src/spec/load.ts';

export interface PassOrder extends Partial<
  Pick<PlanPassParts, 'share' | 'fresh' | 'ruMax' | 'isAccepted' | 'timing' | 'say' | 'onCost' | 'onProgress'>
> {
  readonly connectionString: string;
  readonly path: string;
  readonly keys: readonly string[];
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

export async function planPass(order: PassOrder): Promise<Measured> {
  const { connectionString, path, keys, seed = 7, ...others } = order;
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
  const signal = order.signal ?? new AbortController().signal;
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
  return await readForPlan({
    side,
    path,
    candidates: [...keys.map((key) => parseCandidate(key)), currentCandidate(facts.keyPaths)],
    show: {
      name: 'plain',
      text: (values) => JSON.stringify(values.length === 1 ? values[0] : values),
    },
    share: 1,
    readRu: 1.1,
    created: null,
    fresh: false,
    ruMax: null,
    isAccepted: false,
    clock: systemClock,
    random,
    say: () => undefined,
    ...others,
    signal,
    timing: { checkpointMs: 0, saveTimesMin: 0, pageSize: 20, ...order.timing },
  });
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
      collisions: one.pairs.collisions(),
      balance: one.space.balance('bytes', 4).shares.map((share) => Math.round(share * 1e6)),
    })),
  };
}
