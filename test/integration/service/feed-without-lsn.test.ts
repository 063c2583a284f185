/** A feed that shows documents without `_lsn` in the middle of a migration: no reader may take them for old ones. */
import { expect, test } from 'vitest';
import type { Meddle, TapRequest } from '../../helpers/migration/tap.ts';
import { begin, isLaterPage, orders, Tapped, write } from '../../helpers/migration/tapped.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import { envOf, SPEC } from '../../helpers/migration/typed.ts';
import { systemClock } from '../../../src/lib/clock.ts';

const NAMED = { exitCode: 6, message: 'a document in a change feed has no _lsn' };

/** Takes the LSNs out of the pages for which `matches` is true. */
const withoutLsn =
  (matches: (request: TapRequest) => boolean): Meddle =>
  async (request, forward) => {
    const reply = await forward();
    if (!matches(request)) return reply;
    const body = Buffer.from(reply.body.toString().replaceAll(/"_?lsn":\d+/g, '"none":1'));
    return { ...reply, headers: { ...reply.headers, 'content-length': String(body.length) }, body };
  };

test('copy: a later page has no LSNs -> a clear error, and nothing of the page is copied', async () => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  await write(move, orders(20));
  await begin(move);
  tap.meddle = withoutLsn(isLaterPage);
  await expect(move.run('copy')).rejects.toMatchObject(NAMED);
  tap.meddle = async (_request, forward) => forward();
  await move.run('copy');
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test.each(['avad', 'reconcile'])('tail, %s: a change has no LSN -> a clear error', async (deletes) => {
  await using tapped = await Tapped.open({ settings: { avad: true }, flags: { deletes: [deletes] } });
  const { move, tap } = tapped;
  await write(move, orders(5));
  await move.run('copy');
  await write(move, orders(5, { again: true }));
  tap.meddle = withoutLsn(isLaterPage);
  await expect(move.run('catch-up')).rejects.toMatchObject(NAMED);
});

test.each(['orders', 'by-tenant'])('verify: %s shows documents without LSNs -> a clear error', async (of) => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  await write(move, orders(20));
  await move.run('copy');
  tap.meddle = withoutLsn(({ what, container }) => what === 'read-feed' && container === of);
  const ran = await runCosmig(['verify', ...SPEC], { env: envOf(move), clock: systemClock });
  expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining(NAMED.message)]);
});

test('verify: the change that the tail has not replicated has no LSN -> a clear error', async () => {
  await using tapped = await Tapped.open();
  const { move, tap } = tapped;
  await write(move, orders(5));
  await move.run('copy');
  await write(move, orders(1, { again: true }));
  // Only the look at the tail's progress asks for single documents.
  tap.meddle = withoutLsn(({ headers }) => headers['x-ms-max-item-count'] === '1');
  const ran = await runCosmig(['verify', '--deadline', '20s', ...SPEC], {
    env: envOf(move),
    clock: systemClock,
  });
  expect([ran.code, ran.stderr]).toEqual([6, expect.stringContaining(NAMED.message)]);
});
