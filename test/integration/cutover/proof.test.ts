/** How a cutover compares documents whose JSON is spelled in unusual ways. */
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { RawAccount } from '../../helpers/emulator/raw.ts';
import { cosmig } from '../../helpers/migration/typed.ts';
import { WireContainer } from '../../helpers/emulator/wire-container.ts';

test.each([
  ['escaped letters', String.raw`"caf\u00e9"`],
  ['a number with trailing zeros', '1.50'],
  ['null', 'null'],
])('cutover: key of %s, spelled in two ways -> one effective key', async (_what, key) => {
  await using move = await Move.open();
  const account = new RawAccount({ endpoint: move.emulator.endpoint, key: move.emulator.key });
  const wire = new WireContainer(account, 'shop', 'orders');
  const text = (n: number): string => `{"id":"1","customerId":"a","tenantId":${key},"n":${n}}`;
  await wire.create(text(1), ['a']);
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify', '--deadline', '60s')).code).toBe(0);
  // Only documents changed since are compared one by one.
  await wire.upsert(text(2), ['a']);
  const cut = await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s');
  expect([cut.code, cut.stderr]).toEqual([0, expect.not.stringContaining('differ')]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  account.close();
});

test('cutover: documents expire all the time, deletes not reported -> a deleted document is not carried over', async () => {
  // Nothing expires in the target by itself, so each expiration is a difference.
  await using move = await Move.open({ source: { defaultTtl: -1 } });
  const mortals = Array.from({ length: 120 }, (_, n) => ({
    id: `mortal ${n}`,
    customerId: `c${n % 5}`,
    tenantId: `t${n % 3}`,
    ttl: 1000 + Math.floor(n / 3),
  }));
  await move.put(
    { id: 'deleted', customerId: 'a', tenantId: 'P' },
    { id: 'kept', customerId: 'a', tenantId: 'P' },
    ...mortals,
  );
  expect((await cosmig(move, 'copy')).code).toBe(0);
  await cosmig(move, 'tail', '--until-caught-up');
  expect((await cosmig(move, 'verify', '--deadline', '60s', '--repair')).code).toBe(0);
  await move.source.item('deleted', 'a').delete();
  await move.put({ id: 'new', customerId: 'a', tenantId: 'P' });
  let passedMs = 1_000_000;
  const passing = setInterval(() => void move.admin.clock((passedMs += 400)), 200);
  const cut = await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s');
  clearInterval(passing);
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
  const [source, target] = [await move.documents(move.source), await move.documents(move.target)];
  const ids = target.map(({ id }) => id);
  expect(ids.filter((id) => !id.startsWith('mortal'))).toEqual(['kept', 'new']);
  expect(source.filter(({ id }) => !ids.includes(id))).toEqual([]);
});
