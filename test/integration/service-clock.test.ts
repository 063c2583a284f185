/** A machine whose clock is wrong: what expires, and when, is for the service to say. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Move, type Order } from '../helpers/move.ts';

const order = (id: string, customerId: string, tenantId: string): Order => ({ id, customerId, tenantId });
const tomorrow = { now: () => systemClock.now() + 24 * 3600 * 1000 };

test('a clock that is a day ahead takes no living document for one that is over', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    source: { defaultTtl: 3600 },
    target: { defaultTtl: 3600 },
    flags: { ttl: ['remaining'] },
  });
  await move.put(order('7', 'a', 'P'), order('7', 'b', 'P'));
  await move.run('copy');
  const [held] = await move.documents(move.target);
  // The tries that a run begins with come before any page of the feed.
  expect((await move.run('catch-up', { clock: tomorrow })).documents).toMatchObject({ deadLettered: 1 });
  expect((await move.documents(move.target)).map(({ customerId }) => customerId)).toEqual([
    held?.['customerId'],
  ]);
});
