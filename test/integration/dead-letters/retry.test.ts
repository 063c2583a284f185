/** Dead letters of a real copy on the command line: listed, fixed and retried, or discarded. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { ContainerLab, type Op } from '../../helpers/emulator/container-requests.ts';
import { runCosmig, type Ran } from '../../helpers/run-cosmig.ts';
import { temporaryFolder } from '../../unit/state/making.ts';

let ledger: string;
let lab: ContainerLab;
beforeEach(async () => {
  ledger = join(temporaryFolder(), 'ledger.db');
  lab = await ContainerLab.open();
  const { containers } = lab.account.client.database('shop');
  await containers.create({ id: 'by-tenant', partitionKey: '/tenantId' });
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
});

async function send(...ops: readonly Op[]): Promise<void> {
  const result = await lab.send(ops);
  if (!result.answered) throw new Error(result.trouble.what);
  expect(result.outcomes.map(({ kind }) => kind)).toEqual(ops.map(() => 'done'));
}

const put = (verb: 'create' | 'replace', pk: string, id: string, more: object): Op => {
  return { do: verb, key: [pk], id, text: JSON.stringify({ id, pk, ...more }) };
};

function cosmig(line: string): Promise<Ran> {
  const { endpoint, key } = lab.access;
  const spec =
    '--source shop/orders --target shop/by-tenant --partition-key /tenantId --missing-key dead-letter';
  const env = { COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=${endpoint};AccountKey=${key};` };
  const isWhole = /^(?:copy|dead-letters retry)/.test(line);
  const argv =
    `${line} --ledger ${ledger}${isWhole ? ` ${spec}` : ''}${line.startsWith('copy') ? ' --yes' : ''}`.split(
      ' ',
    );
  return runCosmig(argv, { env, clock: systemClock });
}

async function letters(): Promise<unknown[]> {
  const { code, stdout } = await cosmig('dead-letters list --all --json');
  expect(code).toBe(0);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

async function inTarget(): Promise<unknown[]> {
  const { items } = lab.account.client.database('shop').container('by-tenant');
  const query = 'SELECT c.id, c.pk, c.tenantId FROM c ORDER BY c.pk';
  return (await items.query(query).fetchAll()).resources;
}

describe('dead letters: two documents claim one slot', () => {
  const [first, second] = [
    { id: '7', pk: 'a', tenantId: 't' },
    { id: '7', pk: 'b', tenantId: 't' },
  ];
  async function copyBoth(): Promise<Ran> {
    await send(put('create', 'a', '7', { tenantId: 't' }), put('create', 'b', '7', { tenantId: 't' }));
    return cosmig('copy --json');
  }

  /** Which of the two is there is for the copy to say. */
  async function holderAndOther(): Promise<readonly [holder: typeof first, other: typeof first]> {
    const [held] = await inTarget();
    const isFirst = JSON.stringify(held) === JSON.stringify(first);
    return isFirst ? [first, second] : [second, first];
  }

  test('retry -> fails until the other document leaves', async () => {
    const { code: copied, stdout: copyJson } = await copyBoth();
    expect(copied).toBe(5);
    expect(JSON.parse(copyJson)).toMatchObject({
      documents: { written: 1, deadLettered: 1 },
      error: { code: 'dead-letters' },
    });
    const [holder, other] = await holderAndOther();
    const letter = { id: '7', sourceKey: [other.pk], targetKey: ['t'], reason: 'collision' };
    // Once when it was read, once when its range had caught up.
    expect(await letters()).toEqual([expect.objectContaining({ ...letter, state: 'open', attempts: 2 })]);
    expect((await cosmig('dead-letters retry --all')).code).toBe(5);
    expect(await letters()).toEqual([expect.objectContaining({ ...letter, state: 'open', attempts: 3 })]);
    await send({ do: 'delete', key: [holder.pk], id: '7' });
    const { code, stdout, stderr } = await cosmig('dead-letters retry 1 --json');
    expect({ code, stderr: stderr.includes('1 dead letter retried, 1 closed') }).toEqual({
      code: 0,
      stderr: true,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      command: 'dead-letters retry',
      retried: 1,
      closed: 1,
      documents: { deadLettered: 0 },
    });
    expect(await letters()).toEqual([expect.objectContaining({ ...letter, state: 'closed' })]);
    expect(await inTarget()).toEqual([other]);
    expect(await cosmig('dead-letters retry 1')).toMatchObject({ code: 3 });
  });

  test('discard -> later runs succeed and leave it out', async () => {
    await copyBoth();
    const [holder] = await holderAndOther();
    expect((await cosmig('dead-letters discard 1')).code).toBe(0);
    expect((await cosmig('copy')).code).toBe(0);
    expect(await letters()).toEqual([expect.objectContaining({ state: 'discarded' })]);
    expect(await inTarget()).toEqual([holder]);
    expect((await cosmig('status')).stdout).toMatch(/^dead letters +0 open, 1 discarded$/m);
    const none = 'no open dead letters; 1 discarded: --all lists them\n';
    expect((await cosmig('dead-letters list')).stderr).toBe(none);
  });

  test('the other one is deleted in the source -> closed', async () => {
    await copyBoth();
    const [holder, other] = await holderAndOther();
    await send({ do: 'delete', key: [other.pk], id: '7' });
    expect((await cosmig('dead-letters retry --all')).code).toBe(0);
    expect(await letters()).toEqual([expect.objectContaining({ state: 'closed' })]);
    expect(await inTarget()).toEqual([holder]);
    const { stdout } = await cosmig('status');
    expect(stdout).toMatch(
      /^dead letters +0 open, 1 closed \(its document was moved,\s+changed\s+or\s+deleted\s+later\)$/m,
    );
  });
});

test('dead letters: one document fixed -> moved by its letter, others stay open', async () => {
  await send(
    put('create', 'a', '1', {}),
    put('create', 'a', '2', {}),
    put('create', 'a', '3', { tenantId: 't' }),
  );
  expect((await cosmig('copy')).code).toBe(5);
  const found = (await letters()) as ReadonlyArray<{ number: number; id: string; reason: string }>;
  expect(found.map(({ reason }) => reason)).toEqual(['missing-key', 'missing-key']);
  const number = found.find(({ id }) => id === '2')?.number;
  await send(put('replace', 'a', '2', { tenantId: 'u' }));
  const { code, stdout, stderr } = await cosmig(`dead-letters retry ${number}`);
  expect(code).toBe(5);
  const named = stdout.split('\n').map((line) => line.slice(0, 20).trimEnd());
  expect(named).toEqual(['migration', 'written', 'dead letters', 'RU', 'took', '']);
  expect(stdout).toMatch(/^dead letters +1 still open$/m);
  expect(stderr).toContain('1 dead letter retried, 1 closed\n');
  expect(stderr).toContain('1 document is not in the target');
  expect(stderr).toContain('when you fix it in the source, cosmig tail ');
  expect(await inTarget()).toHaveLength(2);
  expect((await cosmig('dead-letters list')).stdout).toMatch(
    /^ +\d+ {2}missing-key +"1" {2}\["a"\] -> .*\n {8}\/tenantId is missing\n$/,
  );
});
