/** Deletes that nobody has told of, where the numbers of both sides do not give them away. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { Move } from '../helpers/move.ts';
import { runCosmig, type Ran } from '../helpers/run-cosmig.ts';

/** Long enough not to be over before both sides are compared, and close enough to its end to be no difference. */
const TTL_S = 60;

const PLACE = ['--source', 'shop/orders', '--target', 'shop/by-tenant', '--partition-key', '/tenantId'];

function cosmigOf(move: Move, ...more: readonly string[]): (...argv: readonly string[]) => Promise<Ran> {
  const env = { COSMIG_SOURCE_CONNECTION_STRING: move.connectionString, COSMIG_LEDGER: move.ledgerPath };
  return async (...argv) => runCosmig([...argv, ...PLACE, '--yes', ...more], { env, clock: systemClock });
}

const idsOf = async (move: Move): Promise<string[]> =>
  (await move.documents(move.target)).map(({ id }) => id);

test('one that hides behind a document that has expired in the target before it does in the source is found', async () => {
  await using move = await Move.open({ source: { defaultTtl: -1 }, target: { defaultTtl: -1 } });
  const cosmig = cosmigOf(move, '--ttl', 'remaining');
  await move.put(
    { id: 'deleted', customerId: 'a', tenantId: 'P' },
    { id: 'kept', customerId: 'a', tenantId: 'P' },
    { id: 'mortal', customerId: 'a', tenantId: 'P', ttl: TTL_S },
  );
  expect((await cosmig('copy')).code).toBe(0);
  await cosmig('tail', '--until-caught-up');
  expect((await cosmig('verify', '--deadline', '5s')).code).toBe(0);
  await move.source.item('deleted', 'a').delete();
  await move.target.item('mortal', 'P').delete();
  const cut = await cosmig('cutover', '--writers-stopped', '--quiet-for', '1s', '--watch', '1s');
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('brought right')]);
  expect(cut.stderr).toContain('everything is compared');
  expect(await idsOf(move)).toEqual(['kept']);
}, 60_000);

test('one that hides behind a document that was left out by a waiver is found', async () => {
  await using move = await Move.open();
  const cosmig = cosmigOf(move);
  await move.put(
    { id: 'deleted', customerId: 'a', tenantId: 'P' },
    { id: 'twin', customerId: 'a', tenantId: 'P' },
    { id: 'twin', customerId: 'b', tenantId: 'P' },
  );
  expect((await cosmig('copy')).code).toBe(5);
  const env = { COSMIG_LEDGER: move.ledgerPath };
  expect((await runCosmig(['dead-letters', 'discard', '1'], { env, clock: systemClock })).code).toBe(0);
  await cosmig('tail', '--until-caught-up');
  expect((await cosmig('verify', '--deadline', '5s')).code).toBe(0);
  await move.source.item('deleted', 'a').delete();
  const cut = await cosmig('cutover', '--writers-stopped', '--quiet-for', '1s', '--watch', '1s');
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('brought right')]);
  expect(await idsOf(move)).toEqual(['twin']);
}, 60_000);
