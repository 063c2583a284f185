/** Trouble that does not end: a comparison waits longer each time, and then fails. */
import { expect, test } from 'vitest';
import type { TapReply, TapRequest } from '../../../helpers/migration/tap.ts';
import { order, orders, Tapped, write } from '../../../helpers/migration/tapped.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';
import { clockAt } from '../../../helpers/clock.ts';

async function copied(): Promise<Tapped> {
  const tapped = await Tapped.open({ settings: { avad: true } });
  await write(tapped.move, orders(20));
  await tapped.move.run('copy');
  return tapped;
}

const SPLITTING: TapReply = { status: 410, headers: { 'x-ms-substatus': '1007' }, body: Buffer.from('{}') };

test('verify: a range stays gone and is not replaced -> fails after growing waits', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  const isFirstPage = ({ what, container, headers }: TapRequest): boolean =>
    what === 'read-feed' && container === 'orders' && headers['if-none-match'] === undefined;
  let asked = 0;
  tap.meddle = async (request, forward) => {
    if (!isFirstPage(request)) return forward();
    asked += 1;
    return SPLITTING;
  };
  // A split may take minutes; so many have passed at the fourth request.
  const clock = clockAt(() => Date.now() + 4 * 60_000 * asked);
  await expect(verifyMove(move, { clock })).rejects.toThrow('410/1007');
  expect(asked).toBe(4);
});

test('verify: every read of a reply is refused -> fails after growing waits', async () => {
  await using tapped = await copied();
  const { move, tap } = tapped;
  await move.target.items.upsert(order(7, { wrong: 1 }));
  await move.admin.faults([{ match: { op: 'read', coll: 'orders' }, effect: { status: 449 } }]);
  let asked = 0;
  tap.meddle = async ({ what, container }, forward) => {
    if (what === 'batch' && container === 'orders') asked += 1;
    return forward();
  };
  const clock = clockAt(() => Date.now() + 2 * 60_000 * asked);
  await expect(verifyMove(move, { clock })).rejects.toThrow('449');
  expect(asked).toBe(4);
});
