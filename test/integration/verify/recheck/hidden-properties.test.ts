/** A change feed adds `_lsn` to each document, and so hides a property of that name which the application has set. */
import { expect, test } from 'vitest';
import type { FaultRule } from '../../../helpers/emulator/admin.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';
import { Move } from '../../../helpers/migration/move.ts';
import { cosmig } from '../../../helpers/migration/typed.ts';
import { verifyMove } from '../../../helpers/migration/verify.ts';

const text = (lsn: string): string => `{"id":"own","customerId":"c1","tenantId":"t1"${lsn},"n":1}`;

async function opened(lsn: string): Promise<{ move: Move; target: WireContainer; raw: RawAccount }> {
  const move = await Move.open();
  const raw = new RawAccount(move.emulator);
  const source = new WireContainer(raw, 'shop', 'orders');
  expect((await source.create(text(lsn), ['c1'])).status).toBe(201);
  await move.put({ id: 'other', customerId: 'c1', tenantId: 't1' });
  await move.run('copy');
  return { move, raw, target: new WireContainer(raw, 'shop', 'by-tenant') };
}

test('verify: the application has an _lsn of its own, which the copy lost -> listed, and a repair carries it', async () => {
  const { move, raw, target } = await opened(',"_lsn":"mine"');
  await using _move = move;
  await expect(verifyMove(move)).resolves.toMatchObject({
    equal: false,
    differences: { different: 1 },
    samples: [{ kind: 'different', id: 'own', sourceKey: ['c1'], targetKey: ['t1'] }],
  });
  expect((await cosmig(move, 'verify', '--repair')).code).toBe(0);
  expect((await target.read('own', ['t1'])).text).toContain('"_lsn":"mine"');
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: true, details: { lookedAtAgain: 1 } });
  raw.close();
});

test('verify: only the target has such a property -> different', async () => {
  const { move, raw, target } = await opened('');
  await using _move = move;
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: true, details: { lookedAtAgain: 0 } });
  await move.target.item('own', 't1').delete();
  expect((await target.create(text(',"_lsn":7'), ['t1'])).status).toBe(201);
  await expect(verifyMove(move)).resolves.toMatchObject({
    equal: false,
    samples: [{ kind: 'different', id: 'own' }],
  });
  raw.close();
});

test('verify: queries are forbidden -> everything else is compared, and the message says what is not', async () => {
  const { move, raw } = await opened(',"_lsn":"mine"');
  await using _move = move;
  await move.admin.faults([{ match: { op: 'query' }, effect: { status: 403, substatus: 5300 } }]);
  const said: string[] = [];
  const say = (text: string): unknown => said.push(text);
  await expect(verifyMove(move, { say })).resolves.toMatchObject({ equal: true });
  expect(said).toEqual([expect.stringContaining('a property _lsn of the application is not compared')]);
  await move.target.item('other', 't1').delete();
  await expect(verifyMove(move, { say })).resolves.toMatchObject({
    equal: false,
    differences: { missing: 1, different: 0 },
  });
  raw.close();
});

const NO_QUERIES: FaultRule = { match: { op: 'query' }, effect: { status: 403, substatus: 5300 } };

test('verify changes: the proof before has looked for such properties -> the changes need no query', async () => {
  const { move, raw, target } = await opened('');
  await using _move = move;
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: true });
  await move.admin.faults([NO_QUERIES]);
  const compare = async (): Promise<unknown> => verifyMove(move, { level: 'changes', isCounted: false });
  await expect(compare()).resolves.toMatchObject({ equal: true });
  expect((await target.upsert(text(',"_lsn":7'), ['t1'])).status).toBe(200);
  await expect(compare()).resolves.toMatchObject({
    equal: false,
    samples: [{ kind: 'different', id: 'own' }],
  });
  raw.close();
});

test('verify changes: what has not changed was proven without it -> looked for, and found', async () => {
  const { move, raw } = await opened(',"_lsn":"mine"');
  await using _move = move;
  await move.admin.faults([NO_QUERIES]);
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: true });
  await move.admin.clearFaults();
  await expect(verifyMove(move, { level: 'changes', isCounted: false })).resolves.toMatchObject({
    equal: false,
    samples: [{ kind: 'different', id: 'own' }],
  });
  raw.close();
});
