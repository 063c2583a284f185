/** Feeds that the service refuses for good, and positions that need the ranges of now. */
import { expect, test } from 'vitest';
import type { Meddle, TapReply, TapRequest } from '../../helpers/migration/tap.ts';
import { orders, SOURCE, Tapped, write } from '../../helpers/migration/tapped.ts';
import { fastClock } from '../../helpers/clock.ts';

const AVAD = { settings: { avad: true } };

const isAllVersions = ({ what, mode }: TapRequest): boolean =>
  what === 'read-feed' && mode === 'all-versions';
const isFromNow = ({ headers }: TapRequest): boolean => headers['if-none-match'] === '*';

function refusal(status: number, substatus: number, message: string): TapReply {
  const body = Buffer.from(JSON.stringify({ code: String(status), message }));
  return { status, headers: { 'x-ms-substatus': String(substatus), 'x-ms-activity-id': 'a' }, body };
}

/** What an account answers whose partitions were merged once. */
const MERGED = refusal(500, 0, 'Partition has more than two children which is not supported');

/** Refuses the requests for which `matches` is true. */
const refusing =
  (matches: (request: TapRequest) => boolean, reply: TapReply): Meddle =>
  async (request, forward) =>
    matches(request) ? reply : forward();

test('partitions of the account were merged once -> reconcile; all versions asked for by name -> refused', async () => {
  await using tapped = await Tapped.open(AVAD);
  const { move, tap } = tapped;
  await write(move, orders(10));
  tap.meddle = refusing(isAllVersions, MERGED);
  await expect(move.run('copy', { flags: { deletes: ['avad'] } })).rejects.toMatchObject({
    exitCode: 3,
    message: 'the source does not serve all versions and deletes',
    hint: 'use --deletes reconcile, or marker:/path',
  });
  const said: string[] = [];
  await move.run('copy', { say: (text) => said.push(text) });
  expect(said).toContainEqual(expect.stringContaining('partitions of its account were merged once'));
  expect(move.ledger(({ migration }) => migration.read().deletes)).toBe('reconcile');
});

test('partitions are merged during a tail -> the reason is named, without patience', async () => {
  await using tapped = await Tapped.open(AVAD);
  const { move, tap } = tapped;
  await write(move, orders(10));
  await move.run('copy');
  tap.meddle = refusing(isAllVersions, MERGED);
  await expect(move.run('catch-up')).rejects.toMatchObject({
    exitCode: 3,
    message: 'the source no longer reports deletes',
    why: expect.stringContaining('were merged'),
  });
});

test('another 500 -> trouble that passes', async () => {
  await using tapped = await Tapped.open(AVAD);
  const { move, tap } = tapped;
  await write(move, orders(10));
  await move.run('copy');
  let times = 0;
  const other = refusal(500, 0, 'An internal error has occurred');
  tap.meddle = refusing((request) => isAllVersions(request) && (times += 1) < 3, other);
  await move.run('catch-up');
  expect(times).toBeGreaterThan(2);
});

test.each([410, 503])(
  'the history of a split parent is missing, %d/1024, for longer than patience -> read again, and a sweep is due',
  async (status) => {
    await using tapped = await Tapped.open(AVAD);
    const { move, tap } = tapped;
    await write(move, orders(10));
    await move.run('copy');
    await write(move, orders(10, { again: true }));
    const missing = refusal(status, 1024, 'The archival partition is not present');
    let position: string | undefined;
    tap.meddle = async (request, forward) => {
      if (!isAllVersions(request) || isFromNow(request)) return forward();
      position ??= request.headers['if-none-match'];
      return request.headers['if-none-match'] === position ? missing : forward();
    };
    await move.run('catch-up', { clock: fastClock(1000) });
    expect(await move.documents(move.target)).toEqual(
      Array.from({ length: 10 }, () => expect.objectContaining({ again: true }) as unknown),
    );
    expect(move.ledger(({ leases }) => leases.live().map(({ sweepPending }) => sweepPending))).toEqual([
      true,
    ]);
  },
);

test('a range splits before the anchors are taken -> none is taken over the old range', async () => {
  await using tapped = await Tapped.open(AVAD);
  const { move, tap } = tapped;
  await write(move, orders(10));
  let step: 'preflight' | 'sampled' | 'split' = 'preflight';
  const gone: string[] = [];
  tap.meddle = async (request, forward) => {
    const { what, container, headers, rangeId } = request;
    const reply = await forward();
    if (container !== 'orders') return reply;
    // The sample is the last step of the preflight. Then the run lists the ranges.
    if (step === 'preflight' && what === 'read-feed' && headers['if-none-match'] === undefined)
      step = 'sampled';
    if (step === 'sampled' && what === 'pkranges') {
      step = 'split';
      await move.admin.split(SOURCE);
    }
    if (what === 'read-feed' && isFromNow(request) && reply.status === 410) gone.push(String(rangeId));
    return reply;
  };
  await move.run('copy');
  expect(gone).toEqual([]);
  expect(step).toBe('split');
  expect(move.ledger(({ leases }) => leases.live().length)).toBe(2);
});
