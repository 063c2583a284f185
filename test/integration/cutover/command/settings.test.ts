/** A cutover changes the target's settings named in --like-source, once, and nothing else. */
import type { ContainerDefinition } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { Move, type MoveOptions } from '../../../helpers/migration/move.ts';
import { runCosmig } from '../../../helpers/run-cosmig.ts';
import { cosmig, SPEC } from '../../../helpers/migration/typed.ts';

const CUT = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s', '--json'];

const TUNED = {
  includedPaths: [{ path: '/*' }],
  excludedPaths: [{ path: '/note/*' }, { path: '/"_etag"/?' }],
  compositeIndexes: [
    [
      { path: '/total', order: 'ascending' as const },
      { path: '/at', order: 'descending' as const },
    ],
  ],
};
/** Settings that make the load cheap. */
const THIN = { includedPaths: [{ path: '/tenantId/?' }], excludedPaths: [{ path: '/*' }] };

const LOADED: MoveOptions = {
  source: { defaultTtl: 3600, indexingPolicy: TUNED, throughput: 400 },
  target: { indexingPolicy: THIN, throughput: 4000 },
};

/** Copied, with a clean verify. */
async function begin(options: MoveOptions): Promise<Move> {
  const move = await Move.open(options);
  for (let n = 0; n < 6; n += 1) await move.put({ id: `${n}`, customerId: `c${n}`, tenantId: `t${n % 2}` });
  for (const command of ['copy', 'verify']) {
    const { code, stderr } = await cosmig(move, command);
    if (code !== 0) throw new Error(stderr);
  }
  return move;
}

async function settingsOf({
  target,
}: Move): Promise<ContainerDefinition & { readonly ru: number | undefined }> {
  const { resource } = await target.read();
  const { resource: offer } = await target.readOffer();
  return { ...(resource as ContainerDefinition), ru: offer?.content?.offerThroughput };
}

test('cutover settings: none requested -> nothing changes, differences are reported with the option to use', async () => {
  await using move = await begin(LOADED);
  const before = await settingsOf(move);
  const { code, stdout } = await cosmig(move, 'cutover', ...CUT);
  expect(code).toBe(0);
  const why = (name: string): string => `cosmig cutover --like-source ${name} makes it so`;
  expect(JSON.parse(stdout)).toMatchObject({
    phase: 'committed',
    settings: [
      { setting: 'TTL', source: '3600 s', target: 'off', outcome: 'reported', why: why('ttl') },
      { setting: 'indexing', outcome: 'reported', why: why('indexing') },
      {
        setting: 'throughput',
        source: '400 RU/s',
        target: '4,000 RU/s',
        outcome: 'reported',
        why: why('throughput'),
      },
    ],
  });
  expect(await settingsOf(move)).toEqual(before);

  // Requested later, it is applied later.
  const later = await cosmig(move, 'cutover', ...CUT, '--like-source', 'ttl');
  expect(later.code).toBe(0);
  const after = await settingsOf(move);
  expect(after).toMatchObject({ defaultTtl: 3600, ru: 4000 });
  expect(after.indexingPolicy).toEqual(before.indexingPolicy);
});

test('cutover settings: requested -> applied after the commit, the rest stays', async () => {
  await using move = await begin(LOADED);
  const all = ['--like-source', 'ttl,indexing,throughput'];
  const cut = await cosmig(move, 'cutover', ...CUT, ...all);
  expect(cut.code).toBe(0);
  expect(JSON.parse(cut.stdout)).toMatchObject({
    settings: [
      { setting: 'TTL', outcome: 'asked' },
      { setting: 'indexing', outcome: 'asked' },
      { setting: 'throughput', outcome: 'asked' },
    ],
  });
  const target = await settingsOf(move);
  expect(target).toMatchObject({ defaultTtl: 3600, ru: 400, partitionKey: { paths: ['/tenantId'] } });
  expect(target.indexingPolicy?.compositeIndexes).toEqual(TUNED.compositeIndexes);
  // A further run has nothing to do; the service indexes the new key by itself.
  const again = await cosmig(move, 'cutover', ...CUT, ...all);
  expect(JSON.parse(again.stdout)).toMatchObject({ settings: [], lateWrites: [] });
});

test('cutover settings: lost replies and a concurrent change -> applied', async () => {
  await using move = await begin(LOADED);
  await move.admin.faults([
    { match: { op: 'container', coll: 'by-tenant' }, every: 3, times: 6, effect: { reset: 'after' } },
    { match: { op: 'offer' }, every: 2, times: 2, effect: { status: 503 } },
  ]);
  const cut = await cosmig(move, 'cutover', ...CUT, '--like-source', 'throughput,indexing, ttl');
  expect([cut.code, cut.stderr]).toEqual([0, expect.any(String)]);
  expect(await settingsOf(move)).toMatchObject({ defaultTtl: 3600, ru: 400 });
});

test('cutover settings: throughput cannot be read -> not reported as applied', async () => {
  await using move = await begin(LOADED);
  await move.admin.faults([{ match: { op: 'offer' }, effect: { status: 403, substatus: 5300 } }]);
  const { code, stdout } = await cosmig(move, 'cutover', ...CUT, '--like-source', 'throughput');
  expect([code, JSON.parse(stdout)]).toEqual([
    9,
    expect.objectContaining({
      phase: 'committed',
      settings: expect.arrayContaining([
        expect.objectContaining({ setting: 'throughput', outcome: 'refused' }),
      ]) as unknown,
    }),
  ]);
});

test('cutover settings: change refused -> reported after the switch', async () => {
  await using move = await begin({
    ...LOADED,
    target: { indexingPolicy: THIN, maxThroughput: 4000 },
  });
  const hooked = ['--on-commit', 'echo switched', '--like-source', 'throughput,ttl'];
  const human = CUT.filter((flag) => flag !== '--json');
  const { code, stderr, stdout } = await cosmig(move, 'cutover', ...human, ...hooked);
  expect(code).toBe(9);
  expect(stderr).toContain('\nswitched\n');
  expect(stderr).toContain(
    'why  throughput: the throughput of the target cannot be changed to that of the source',
  );
  expect(stdout).toMatch(/^setting +TTL: now 3600 s as in the source; before: off$/m);
  expect(stdout).toMatch(
    /^setting +throughput: still autoscale to 4,000 RU\/s, not 400 RU\/s as in the source$/m,
  );
  expect(await settingsOf(move)).toMatchObject({ defaultTtl: 3600 });
});

test.each([
  ['ttl,indexin', 'for example --like-source indexing'],
  ['', 'has no value'],
  ['ttl,,', 'an empty name is not one of ttl, indexing, throughput'],
])('cutover: --like-source %j -> refused', async (text, message) => {
  const { code, stderr } = await runCosmig(['cutover', ...SPEC, '--writers-stopped', '--like-source', text]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
