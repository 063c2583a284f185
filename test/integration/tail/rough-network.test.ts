/**
 * Trouble below HTTP: connections that are refused, reset, cut, slow, half closed, silent or late, each by itself and all
 * at once. Nothing is lost, and no wait is endless. The fault runs add crashes, splits, merges and lagging replicas.
 */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/lib/random.ts';
import { NETWORK_TROUBLES, RoughNetwork, type NetworkPlan } from '../../helpers/emulator/rough-network.ts';
import { byDay } from '../../helpers/generated.ts';
import { Move } from '../../helpers/migration/move.ts';
import { expectSame, orders, write } from '../../helpers/migration/tapped.ts';
import { within } from '../../helpers/wait.ts';

const TIMEOUT_MS = 400;
/** A run through such a network may take so long on a busy machine. */
const RUN_MS = 120_000;
const DOCUMENTS = 120;
/** With one kind of trouble. */
const FEWER = 60;

async function migrate(plan: NetworkPlan, documents: number): Promise<RoughNetwork['struck']> {
  await using move = await Move.open({ settings: { avad: true, pageBytes: 3000 } });
  await using network = await RoughNetwork.open(move.emulator.endpoint, {
    random: seededRandom(11),
    lateMs: TIMEOUT_MS * 0.7,
    isSure: true,
  });
  move.connectionString = `AccountEndpoint=${network.endpoint};AccountKey=${move.emulator.key};`;
  const timing = { requestTimeoutMs: TIMEOUT_MS };
  await write(move, orders(documents));
  network.plan = plan;
  await within(move.run('copy', { timing }), RUN_MS, 'a copy');
  await write(move, orders(documents, { tenantId: 'moved' }));
  for (let n = 0; n < 10; n += 1) await move.source.item(`o${n}`, `c${n % 29}`).delete();
  const caughtUp = await within(move.run('catch-up', { timing }), RUN_MS, 'a tail');
  // What is late lands while cosmig looks: nothing may come after that.
  network.plan = {};
  await expectSame(move, caughtUp);
  return network.struck;
}

test.concurrent.each(byDay(NETWORK_TROUBLES, { every: 3 }))(
  'network: %s -> everything arrives once',
  async (trouble) => {
    const struck = await migrate({ [trouble]: trouble === 'refuse' ? 0.3 : 0.08 }, FEWER);
    expect(struck[trouble]).toBeGreaterThan(0);
  },
);

test('network: all of it at once -> everything arrives once', async () => {
  const plan = Object.fromEntries(NETWORK_TROUBLES.map((trouble) => [trouble, 0.02]));
  const struck = await migrate(plan, DOCUMENTS);
  expect(Object.keys(struck).length).toBe(NETWORK_TROUBLES.length);
});
