/** A sample begins in the middle of the feed, at positions that no reply has given. What if the service does not follow? */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { Tap, type Meddle, type TapRequest } from '../../helpers/migration/tap.ts';
import { envOf } from '../../helpers/migration/typed.ts';
import { write } from '../../helpers/migration/tapped.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';

const orders: readonly Order[] = Array.from({ length: 1500 }, (_none, n) => ({
  id: `o${n}`,
  customerId: `c${n}`,
  tenantId: `t${n % 200}`,
}));

/** Whether a request begins at a position that was computed. */
const isComputed = (request: TapRequest, given: ReadonlySet<unknown>): boolean => {
  const from = request.headers['if-none-match'];
  return request.mode === 'latest-version' && from !== undefined && from !== '*' && !given.has(from);
};

const REFUSED = { status: 400, headers: {}, body: Buffer.from('{"code":"BadRequest"}') };

test.each<[string, (given: Set<unknown>) => Meddle, RegExp]>([
  [
    'ignores them',
    (given) => async (request, forward) => {
      if (isComputed(request, given)) delete request.headers['if-none-match'];
      const reply = await forward();
      given.add(reply.headers['etag']);
      return reply;
    },
    /the change feed cannot be read from the middle, as a sample needs/,
  ],
  [
    'refuses them',
    (given) => async (request, forward) => {
      if (isComputed(request, given)) return REFUSED;
      const reply = await forward();
      given.add(reply.headers['etag']);
      return reply;
    },
    /the change feed cannot be read from the middle, as a sample needs/,
  ],
  [
    'has positions of another kind',
    () => async (request, forward) => {
      const from = request.headers['if-none-match'];
      if (from?.startsWith('"v2-') === true) request.headers['if-none-match'] = `"${from.slice(4)}`;
      const reply = await forward();
      const { etag } = reply.headers;
      return typeof etag === 'string' && /^"\d+"$/.test(etag)
        ? { ...reply, headers: { ...reply.headers, etag: `"v2-${etag.slice(1)}` } }
        : reply;
    },
    /the change feed cannot be read from the middle, as a sample needs/,
  ],
])('the service %s -> said, no figures, and what to do instead', async (_name, meddle, message) => {
  await using move = await Move.open();
  await write(move, orders);
  await using tap = await Tap.open(move.emulator);
  move.connectionString = tap.connectionString;
  tap.meddle = meddle(new Set());
  const around = { env: envOf(move), clock: systemClock };
  const argv = ['plan', '--source', 'shop/orders', '--candidate', '/tenantId', '--sample', '5%'];
  const ran = await runCosmig(argv, around);
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([6, '', expect.stringMatching(message)]);
  expect(ran.stderr).toMatch(/run the same command without --sample/);
});
