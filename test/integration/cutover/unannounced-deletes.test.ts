/** Deletes that no feed reports, where the counts of both sides do not show them. */
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, PLACES, typed } from '../../helpers/migration/typed.ts';

/** Not over before the comparison, and close enough to its end to be tolerated as equal. */
const TTL_S = 60;

/** Copies keep the remaining time to live. */
const REMAINING = ['--ttl', 'remaining'];
const CUTOVER = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

const idsOf = async (move: Move): Promise<string[]> =>
  (await move.documents(move.target)).map(({ id }) => id);

test.each(['reconcile', 'marker:/gone'])(
  'unreported delete, %s: an earlier expiration in the target balances the counts -> found',
  async (deletes) => {
    await using move = await Move.open({ source: { defaultTtl: -1 }, target: { defaultTtl: -1 } });
    const by = ['--deletes', deletes, ...REMAINING];
    await move.put(
      { id: 'deleted', customerId: 'a', tenantId: 'P' },
      { id: 'kept', customerId: 'a', tenantId: 'P' },
      { id: 'mortal', customerId: 'a', tenantId: 'P', ttl: TTL_S },
    );
    expect((await cosmig(move, 'copy', ...by)).code).toBe(0);
    await cosmig(move, 'tail', '--until-caught-up', ...by);
    expect((await cosmig(move, 'verify', '--deadline', '60s', ...by)).code).toBe(0);
    await move.source.item('deleted', 'a').delete();
    await move.target.item('mortal', 'P').delete();
    const cut = await cosmig(move, ...CUTOVER, ...by);
    expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
    expect(cut.stderr).toContain('all documents will be compared');
    expect(await idsOf(move)).toEqual(['kept']);
  },
);

test.each(['reconcile', 'marker:/gone'])(
  'unreported delete, %s: a waived document balances the counts -> found',
  async (deletes) => {
    await using move = await Move.open();
    const by = ['--deletes', deletes];
    await move.put(
      { id: 'deleted', customerId: 'a', tenantId: 'P' },
      { id: 'twin', customerId: 'a', tenantId: 'P' },
      { id: 'twin', customerId: 'b', tenantId: 'P' },
    );
    expect((await cosmig(move, 'copy', ...by)).code).toBe(5);
    expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
    await cosmig(move, 'tail', '--until-caught-up', ...by);
    expect((await cosmig(move, 'verify', '--deadline', '60s', ...by)).code).toBe(0);
    await move.source.item('deleted', 'a').delete();
    const cut = await cosmig(move, ...CUTOVER, ...by);
    expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
    expect(cut.stderr).toContain('not those that the ledger expects: comparing all documents');
    expect(cut.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'repaired 1 document while writers were stopped (1 extra): "deleted"',
    );
    expect(await idsOf(move)).toEqual(['twin']);
  },
);

test.each(['reconcile', 'marker:/gone', 'avad'])(
  'unreported delete, %s: another process deletes another copy, and the counts of both sides agree -> found',
  async (deletes) => {
    await using move = await Move.open({ settings: { avad: deletes === 'avad' } });
    const by = ['--deletes', deletes];
    for (const id of ['deleted', 'lost', 'kept']) await move.put({ id, customerId: 'a', tenantId: 'P' });
    expect((await cosmig(move, 'copy', ...by)).code).toBe(0);
    await cosmig(move, 'tail', '--until-caught-up', ...by);
    expect((await cosmig(move, 'verify', '--deadline', '60s', ...by)).code).toBe(0);
    await move.target.item('lost', 'P').delete();
    if (deletes === 'avad') await move.target.items.create({ id: 'extra', customerId: 'a', tenantId: 'P' });
    else await move.source.item('deleted', 'a').delete();
    const cut = await cosmig(move, ...CUTOVER, '--json', ...by);
    expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
    expect(JSON.parse(cut.stdout)).toMatchObject({ proof: { compared: 'all', since: null } });
    expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  },
);

test('unannounced deletes: nothing was lost -> committed by the changes and the ledger, and reported', async () => {
  await using move = await Move.open();
  for (const id of ['first', 'gone', 'changed']) await move.put({ id, customerId: 'a', tenantId: 'P' });
  expect((await cosmig(move, 'copy')).code).toBe(0);
  await move.put({ id: 'later', customerId: 'a', tenantId: 'P' });
  await move.source.item('gone', 'a').delete();
  expect((await cosmig(move, 'verify', '--repair', '--deadline', '60s')).code).toBe(0);
  await move.put(
    { id: 'changed', customerId: 'a', tenantId: 'Q' },
    { id: 'last', customerId: 'a', tenantId: 'P' },
  );
  const cut = await cosmig(move, ...CUTOVER, '--json');
  expect([cut.code, cut.stderr]).toEqual([0, expect.not.stringContaining('repairing ')]);
  const proof = {
    compared: 'changes',
    since: expect.any(String) as string,
    documents: { source: 4, target: 4 },
  };
  expect(JSON.parse(cut.stdout)).toMatchObject({ proof });
  const commit = move.ledger(({ journal }) => journal.commit());
  expect(commit?.proof).toEqual({
    compared: 'changes',
    sinceMs: expect.any(Number) as number,
    documents: { source: 4, target: 4 },
  });
});

/** Fits, but not with a key property added. */
const LARGE_BYTES = 2 * 1024 * 1024 - 30;

test('copy deleted in the target, deletes reported: a waiver keeps an old version -> found', async () => {
  await using move = await Move.open({ settings: { avad: true }, target: { partitionKey: '/pk' } });
  const spec = [...PLACES, '--derive', '/pk={tenantId}-{customerId}-and-so-on-and-so-on'];
  const large = { id: 'large', customerId: 'a', tenantId: 'P' };
  await move.put({ id: 'lost', customerId: 'a', tenantId: 'P' }, large);
  expect((await typed(move, 'copy', '--yes', ...spec)).code).toBe(0);
  const size = JSON.stringify({ ...large, pad: '' }).length;
  await move.put({ ...large, pad: 'x'.repeat(LARGE_BYTES - size) });
  expect((await typed(move, 'tail', '--until-caught-up', ...spec)).code).toBe(5);
  expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
  expect((await typed(move, 'verify', '--deadline', '60s', ...spec)).code).toBe(0);
  await move.target.item('lost', 'P-a-and-so-on-and-so-on').delete();
  const cut = await typed(move, ...CUTOVER, ...spec);
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
  expect(await idsOf(move)).toEqual(['large', 'lost']);
});

test.each([
  ['documents expire', { defaultTtl: -1 }],
  ['nothing expires', {}],
])(
  'unreported delete, %s: a lagging replica still shows the document -> not carried over',
  async (_where, container) => {
    await using move = await Move.open({ source: container, target: container });
    await move.put(
      { id: 'deleted', customerId: 'a', tenantId: 'P' },
      { id: 'kept', customerId: 'a', tenantId: 'P' },
    );
    expect((await cosmig(move, 'copy')).code).toBe(0);
    await cosmig(move, 'tail', '--until-caught-up');
    expect((await cosmig(move, 'verify', '--deadline', '60s')).code).toBe(0);
    await move.admin.account({ replicaLagMs: 600_000 });
    await move.source.item('deleted', 'a').delete();
    const cut = await cosmig(move, ...CUTOVER);
    expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
    await move.admin.account({ replicaLagMs: 0 });
    expect(await idsOf(move)).toEqual(['kept']);
  },
);

test('copy deleted in the target: a waived document was moved after all -> found', async () => {
  await using move = await Move.open();
  await move.put(
    { id: 'lost', customerId: 'a', tenantId: 'P' },
    { id: 'twin', customerId: 'a', tenantId: 'P' },
    { id: 'twin', customerId: 'b', tenantId: 'P' },
  );
  expect((await cosmig(move, 'copy')).code).toBe(5);
  expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
  for (const customerId of ['a', 'b'])
    await move.put({ id: 'twin', customerId, tenantId: `of ${customerId}` });
  expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(0);
  expect((await cosmig(move, 'verify', '--deadline', '60s')).code).toBe(0);
  await move.target.item('lost', 'P').delete();
  const cut = await cosmig(move, ...CUTOVER);
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
