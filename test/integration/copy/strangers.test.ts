/** Documents of another program in the slots of the target: mostly while the copy has no index of what it has written. */
import { expect, test } from 'vitest';
import { repairAll } from '../../../src/engine/run.ts';
import { before, begin, isLaterPage, order, orders, Tapped, write } from '../../helpers/migration/tapped.ts';

const reasonsOf = ({ move }: Tapped): string[] =>
  move
    .ledger(({ letters }) => letters.list({ state: 'open', after: 0, limit: 9 }))
    .map(({ reason }) => reason);

test.each([
  ['with a key of a source document that does not exist', { customerId: 'stranger' }],
  ['without a source key', { customerId: undefined }],
])('copy: a document of another program %s is in the slot -> left as it is', async (_which, key) => {
  await using tapped = await Tapped.open();
  const { move } = tapped;
  await write(move, orders(12));
  await begin(move);
  const mine = { ...order(7), ...key, mine: true };
  await move.target.items.create(mine);
  await move.run('copy');
  expect(reasonsOf(tapped)).toEqual(['foreign-document']);
  const found = await move.documents(move.target);
  expect(found).toHaveLength(12);
  expect(found.filter(({ id }) => id === 'o7')).toEqual([JSON.parse(JSON.stringify(mine))]);
});

test('copy: the document in the slot is ours, and the source has deleted it -> its slot is taken over', async () => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  const old = order(0);
  await write(move, [old]);
  await write(move, orders(40).slice(1));
  await write(move, [{ ...old, customerId: 'other', later: true }]);
  await begin(move);
  tap.meddle = before(isLaterPage, {
    // The first page was copied, and the last one was not read.
    5: async () => void (await move.source.item(old.id, String(old['customerId'])).delete()),
  });
  const points: string[] = [];
  await move.run('copy', {
    onPoint: (point) => {
      if (point === 'takeover-intended' || point === 'index-step') points.push(point);
    },
  });
  expect(points[0]).toBe('takeover-intended');
  expect(reasonsOf(tapped)).toEqual([]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('tail: another program has put another key value into our copy, whose original is deleted -> left as it is', async () => {
  const flags = { derive: ['/pk={tenantId}'] };
  await using tapped = await Tapped.open({ flags, target: { partitionKey: '/pk' } });
  const { move } = tapped;
  const [ours, theirs] = [order(1, { id: 'x', tenantId: 'P' }), order(2, { id: 'x', tenantId: 'P' })];
  await write(move, [ours]);
  await move.run('copy');
  const mine = { ...ours, pk: 'P', tenantId: 'Q', mine: true };
  await move.target.items.upsert(mine);
  await move.source.item('x', 'c1').delete();
  await write(move, [theirs]);
  await move.run('catch-up');
  expect(reasonsOf(tapped)).toEqual(['foreign-document']);
  expect(await move.documents(move.target)).toEqual([mine]);
});

test('repair: another program has changed our copy where it belongs -> written again, and it stays', async () => {
  await using tapped = await Tapped.open();
  const { move } = tapped;
  const [changed, same] = [order(1), order(2)];
  await write(move, [changed, same]);
  await move.run('copy');
  await move.target.items.upsert({ ...changed, n: 'changed' });
  await repairAll(move.parts(), [move.suspect(changed), move.suspect(same)]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
