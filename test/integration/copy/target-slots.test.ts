/** What is said to the target when its replies are lost and its replicas lag. */
import { expect, test } from 'vitest';
import { TargetSlots } from '../../../src/engine/apply/target-slots.ts';
import { ServiceTime } from '../../../src/cosmos/account/service-time.ts';
import { UniqueKeys } from '../../../src/engine/apply/unique-keys.ts';
import { readContainer } from '../../../src/cosmos/container/inspect.ts';
import { openSide, type Side } from '../../../src/cosmos/side.ts';
import { Patience } from '../../../src/cosmos/load/retry.ts';
import type { Slot } from '../../../src/engine/apply/identity.ts';
import { makePlan } from '../../../src/keys/plan.ts';
import { must } from '../../../src/lib/assert.ts';
import { systemClock as clock } from '../../../src/lib/clock.ts';
import { group } from '../../../src/lib/group.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { hashOf } from '../../unit/state/making.ts';
import { ContainerLab } from '../../helpers/emulator/container-requests.ts';
import { Move } from '../../helpers/migration/move.ts';

const TIMEOUT_MS = 400;
const slotOf = (id: string): Slot => ({ hash: hashOf(id), key: ['P'] });
const textOf = (id: string): Buffer => Buffer.from(JSON.stringify({ id, pk: 'P', customer: 'a' }));

async function sideOf({ account, requests }: ContainerLab, signal: AbortSignal): Promise<Side> {
  const random = seededRandom(1);
  const facts = must(
    await readContainer(account, requests.name, { signal, patience: new Patience({ clock, random }) }),
    'the container is there',
  );
  const budget = { kind: 'automatic' } as const;
  return openSide(
    'target',
    { account, facts, budget, clock, random, onWait: () => {}, timeoutMs: TIMEOUT_MS },
    signal,
  );
}

test('target slot: a write lands after its reply was lost -> seen, even if the slot was read in between', async () => {
  await using lab = await ContainerLab.open();
  const plan = makePlan({
    sourcePaths: ['/customer'],
    partitionKey: ['/pk'],
    derive: [],
    missingKey: 'keep',
  });
  await group(new AbortController().signal, async (members) => {
    const { signal } = members;
    const side = await sideOf(lab, signal);
    const others: boolean[] = [];
    const read = async (id: string): Promise<boolean> =>
      (await slots.read(slotOf(id), Buffer.from(JSON.stringify(id)))) !== null;
    const slots = new TargetSlots({
      etags: false,
      side,
      plan,
      unique: new UniqueKeys(undefined),
      notes: { note: () => {} },
      clock: {
        ...clock,
        sleep: async (delayMs, one) => {
          // The reply is lost; the write is still on its way, and another reader looks at the same range.
          if (delayMs === TIMEOUT_MS) others.push(await read('other'));
          await clock.sleep(delayMs, one);
        },
      },
      signal,
      serviceTime: new ServiceTime(clock),
      timing: { requestTimeoutMs: TIMEOUT_MS, pollMs: 50, showMs: 100 },
    });
    members.start(async (one) => slots.dispatcher.run(one));
    expect(await slots.create(slotOf('first'), { body: textOf('first') })).toBe('ok');
    await lab.admin.account({ replicaLagMs: 600_000 });
    await lab.admin.faults([{ match: { op: 'batch' }, times: 1, effect: { delayMs: 1.5 * TIMEOUT_MS } }]);
    expect(await slots.create(slotOf('late'), { body: textOf('late') })).toBe('ambiguous');
    expect(await read('late')).toBe(true);
    expect(others).toEqual([false]);
    slots.dispatcher.drain();
  });
});

test('target slot: the target refuses a delete -> the run ends instead of repeating it', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  await move.run('copy');
  await move.source.item('1', 'a').delete();
  const to = { match: { op: 'batch', coll: 'by-tenant' }, after: 1, effect: { status: 400 } } as const;
  // A probe and a look; then the delete, in a batch and alone; then the next look.
  await move.admin.faults([
    { ...to, every: 3 },
    { ...to, every: 2 },
  ]);
  await expect(move.run('catch-up')).rejects.toMatchObject({ exitCode: 6, message: /does not delete/ });
  await move.admin.clearFaults();
  await move.run('catch-up');
  expect(await move.documents(move.target)).toEqual([]);
});
