/** A document in the feed that cannot be read by its id: its letter explains it, and the rest can be proven equal. */
import { expect, test } from 'vitest';
import { must } from '../../../../src/lib/assert.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { Ledger } from '../../../../src/state/ledger.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { Tap } from '../../../helpers/migration/tap.ts';
import { cosmig, typed } from '../../../helpers/migration/typed.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';

/** Ids that the service no longer accepts. */
const OLD_IDS = [
  ['with a slash', 'a/b'],
  ['of 1,024 characters', 'i'.repeat(1024)],
] as const;

/** Shows the document `old` under another id wherever the source is read. */
async function showAs(move: Move, id: string): Promise<Tap> {
  const tap = await Tap.open(move.emulator);
  move.connectionString = tap.connectionString;
  tap.meddle = async ({ container }, forward) => {
    const reply = await forward();
    if (container !== 'orders') return reply;
    const body = reply.body.toString().replaceAll('"id":"old"', `"id":${JSON.stringify(id)}`);
    return { ...reply, body: Buffer.from(body) };
  };
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' }, { id: 'old', customerId: 'a', tenantId: 'P' });
  return tap;
}

test.each(OLD_IDS)('verify and cutover: an id %s with a letter -> not hindered', async (_what, old) => {
  await using move = await Move.open();
  await using _tap = await showAs(move, old);
  expect((await cosmig(move, 'copy')).code).toBe(5);
  const verify = await cosmig(move, 'verify', '--deadline', '60s', '--json');
  expect([verify.code, JSON.parse(verify.stdout)]).toMatchObject([
    0,
    { equal: true, letters: { open: 1 }, source: { count: 2 }, target: { count: 1 } },
  ]);
  expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
  const cut = await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s');
  expect([cut.code, (await move.documents(move.target)).map(({ id }) => id)]).toEqual([0, ['1']]);
});

test('verify: such an id without a letter -> not equal', async () => {
  await using move = await Move.open();
  await using _tap = await showAs(move, 'a/b');
  await move.run('copy');
  await move.run('catch-up');
  expect(await verifyMove(move)).toMatchObject({ equal: true, letters: { open: 1 } });
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    const identity = must(ledger.letters.get(1), 'it has its letter').identity;
    const close = { change: 'close', identity, atMs: systemClock.now() } as const;
    ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters: [close] }]);
  }
  expect(await verifyMove(move)).toMatchObject({ equal: false, samples: [{ kind: 'missing', id: 'a/b' }] });
});
