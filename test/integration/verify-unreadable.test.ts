/** A document that the feed shows and that nobody can read by its id: it has its letter, and keeps nothing else from being proven. */
import { expect, test } from 'vitest';
import { Move } from '../helpers/move.ts';
import { Tap } from '../helpers/tap.ts';
import { cosmig, typed } from '../helpers/typed.ts';

/** Nobody can write them any more. */
const OLD_IDS = [
  ['with a slash', 'a/b'],
  ['of 1,024 characters', 'i'.repeat(1024)],
] as const;

test.each(OLD_IDS)(
  'verify and cutover go on beside an id %s',
  async (_what, old) => {
    await using move = await Move.open();
    await using tap = await Tap.open(move.emulator);
    move.connectionString = tap.connectionString;
    tap.meddle = async ({ container }, forward) => {
      const reply = await forward();
      if (container !== 'orders') return reply;
      const body = reply.body.toString().replaceAll('"id":"old"', `"id":${JSON.stringify(old)}`);
      return { ...reply, body: Buffer.from(body) };
    };
    await move.put(
      { id: '1', customerId: 'a', tenantId: 'P' },
      { id: 'old', customerId: 'a', tenantId: 'P' },
    );
    expect((await cosmig(move, 'copy')).code).toBe(5);
    const verify = await cosmig(move, 'verify', '--deadline', '5s', '--json');
    expect([verify.code, JSON.parse(verify.stdout)]).toMatchObject([
      0,
      { equal: true, letters: { open: 1 }, source: { count: 2 }, target: { count: 1 } },
    ]);
    expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
    const cut = await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch', '1s');
    expect([cut.code, (await move.documents(move.target)).map(({ id }) => id)]).toEqual([0, ['1']]);
  },
  60_000,
);
