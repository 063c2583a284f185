/**
 * What a migration does on an account that differs from what cosmig relies on. Invariant: it ends well only with a right
 * copy, or a comparison shows what is wrong; the exceptions are named, and are those of which only the probe warns.
 */
import { expect, test } from 'vitest';
import type { Deviation } from '../../../src/emulator/account/deviations.ts';
import { Account } from '../../../src/cosmos/account/client.ts';
import { sendBatch } from '../../../src/cosmos/bulk/batch-request.ts';
import { readRanges } from '../../../src/cosmos/feed/ranges.ts';
import { ContainerRequests } from '../../../src/cosmos/transport/container-requests.ts';
import { replyScan } from '../../../src/documents/page-scan.ts';
import { bulkLoad } from '../../helpers/emulator/bulk-load.ts';
import { bodyOf } from '../../helpers/emulator/container-requests.ts';
import { byDay } from '../../helpers/generated.ts';
import { DEVIATION_ROWS } from '../../helpers/migration/deviations.ts';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig } from '../../helpers/migration/typed.ts';
import { waitForReplies } from '../../helpers/quick-timing.ts';

waitForReplies();

test.concurrent.each(byDay(Object.keys(DEVIATION_ROWS) as Deviation[], { every: 2 }))(
  '%s -> as docs/internals/probes.md says',
  async (deviation) => {
    const row = DEVIATION_ROWS[deviation];
    await using move = await Move.open({
      settings: { avad: true },
      source: { throughput: 10_000, ...row.source },
      target: { throughput: 10_000, ...row.target },
    });
    const lifetime = row.usualTtl === undefined ? {} : { ttl: row.usualTtl };
    const orders = Array.from({ length: 300 }, (_none, n) => ({
      id: `o${n}`,
      customerId: `c${n % 7}`,
      tenantId: `t${n}`,
      email: `${n}@example.org`,
      ...lifetime,
    }));
    const changing = ['changed', 'deleted'].map((id) => ({
      id,
      customerId: 'c',
      tenantId: 't1',
      email: id,
      ...lifetime,
    }));
    await bulkLoad(move.source, orders);
    await move.put(...changing, ...(row.before ?? []));
    if (row.beforeText !== undefined) await putText(move, row.beforeText);
    await move.admin.account({ deviations: [deviation] });
    const copied = await cosmig(move, 'copy', '--for', '40s');
    const keyOf = row.source?.partitionKey === undefined ? 'c' : ['c', 't1'];
    const [changed] = changing;
    await move.source.item('changed', keyOf).replace({ ...changed, id: 'changed', is: 'changed' });
    await move.source.item('deleted', keyOf).delete();
    await row.change?.(move);
    const tailed = await cosmig(move, 'tail', '--until-caught-up', '--for', '40s');
    const verified = await cosmig(move, 'verify', '--deadline', '30s');
    expect([copied.code, tailed.code, verified.code]).toEqual(row.codes);
    expect(verified.stdout + verified.stderr).toMatch(row.says ?? '');
  },
);

async function putText({ emulator }: Move, text: string): Promise<void> {
  using account = new Account(emulator);
  const requests = new ContainerRequests(account, { database: 'shop', container: 'orders' });
  const body = bodyOf([{ do: 'create', key: ['c'], text }]);
  const call = { body, count: 1, signal: new AbortController().signal, timeoutMs: 5000 };
  const statuses: number[] = [];
  // One range takes the document, and the others refuse it.
  for (const { id } of await readRanges(requests, call)) {
    const result = await sendBatch(requests, { ...call, rangeId: id }, replyScan([]));
    if (result.answered) statuses.push(...result.outcomes.map(({ status }) => status));
  }
  expect(statuses).toContain(201);
}
