/**
 * Documents whose key property holds an object or an array. The service takes such a value for a missing one, so it
 * neither distinguishes documents of one id nor changes the place of a document.
 */
import { PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';
import { verifyMove } from '../../helpers/migration/verify.ts';
import { RawAccount } from '../../helpers/emulator/raw.ts';
import { NONE, WireContainer, type Key } from '../../helpers/emulator/wire-container.ts';

const wireOf = (move: Move, container: string): WireContainer =>
  new WireContainer(new RawAccount(move.emulator), 'shop', container);

async function write(wire: WireContainer, key: Key, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) expect((await wire.upsert(text, key)).status).toBeLessThan(300);
}

async function expectSame(move: Move, flags?: MoveOptions['flags']): Promise<void> {
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
  expect(await verifyMove(move, flags === undefined ? {} : { flags })).toMatchObject({ equal: true });
}

test('source key is an object, and changes to another -> one copy, updated and deleted like any other', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const wire = wireOf(move, 'orders');
  await write(
    wire,
    NONE,
    '{"id":"1","customerId":{},"tenantId":"P"}',
    '{"id":"2","customerId":[1],"tenantId":"P"}',
    '{"id":"3","tenantId":"P"}',
  );
  await write(wire, ['a'], '{"id":"1","customerId":"a","tenantId":"Q"}');
  expect((await move.run('copy')).documents).toMatchObject({ written: 4, deadLettered: 0 });
  await expectSame(move);

  await write(
    wire,
    NONE,
    '{"id":"1","customerId":{"x":1},"tenantId":"P"}',
    '{"id":"2","customerId":[[]],"tenantId":"P"}',
    '{"id":"3","customerId":{"y":{}},"tenantId":"R"}',
  );
  expect((await move.run('catch-up')).documents).toMatchObject({ moved: 1, deadLettered: 0 });
  await expectSame(move);

  // The feed of deletes does not name a missing key value, so a comparison finds this delete.
  expect((await wire.delete('1', NONE)).status).toBe(204);
  await move.run('catch-up');
  expect(move.ledger(({ leases }) => leases.live().map(({ sweepPending }) => sweepPending))).toEqual([true]);
  expect(await verifyMove(move)).toMatchObject({
    equal: false,
    samples: [{ kind: 'extra', id: '1', sourceKey: [{}], targetKey: ['P'] }],
  });
});

test('hierarchical source key with objects -> the levels keep their positions', async () => {
  await using move = await Move.open({
    source: {
      partitionKey: {
        paths: ['/region', '/customerId'],
        kind: PartitionKeyKind.MultiHash,
        version: PartitionKeyDefinitionVersion.V2,
      },
    },
  });
  const wire = wireOf(move, 'orders');
  await write(wire, [{}, 'a'], '{"id":"1","region":{"n":1},"customerId":"a","tenantId":"P"}');
  await write(wire, ['a', {}], '{"id":"1","region":"a","customerId":["a"],"tenantId":"Q"}');
  await write(wire, [{}, {}], '{"id":"1","region":[],"customerId":{},"tenantId":"R"}');
  await move.run('copy');
  await write(wire, [{}, 'a'], '{"id":"1","region":[2],"customerId":"a","tenantId":"P","n":2}');
  await write(wire, ['a', {}], '{"id":"1","region":"a","tenantId":"S"}');
  expect((await move.run('catch-up')).documents).toMatchObject({ moved: 1, deadLettered: 0 });
  await expectSame(move);
});

const FOR_TARGET = [
  { id: '1', customerId: 'a', tenantId: 'P' },
  { id: '2', customerId: 'a', tenantId: { x: 1 } },
  { id: '3', customerId: 'a' },
];

test('target key is an object, --missing-key keep -> under the undefined key', async () => {
  const flags = { missingKey: ['keep'] };
  await using move = await Move.open({ flags });
  await move.put(...FOR_TARGET);
  expect((await move.run('copy')).documents).toMatchObject({ written: 3, deadLettered: 0 });
  await move.put({ id: '2', customerId: 'a', tenantId: [2] }, { id: '1', customerId: 'a', tenantId: [] });
  expect((await move.run('catch-up')).documents).toMatchObject({ moved: 1, deadLettered: 0 });
  await expectSame(move, flags);
});

test('target key is an object, --missing-key dead-letter -> a dead letter that says so', async () => {
  await using move = await Move.open({ flags: { missingKey: ['dead-letter'] } });
  await move.put(...FOR_TARGET);
  await move.run('copy');
  const letters = move.ledger((ledger) => ledger.letters.list({ state: 'open', after: 0, limit: 9 }));
  expect(letters.map(({ id, reason, why }) => [id, reason, why])).toEqual([
    ['"2"', 'missing-key', '/tenantId holds an object or an array, which counts as missing'],
    ['"3"', 'missing-key', '/tenantId is missing'],
  ]);
});

test.each([
  ['packed by the kernel', true],
  ['read value by value', false],
])(
  'an object in place of the source key, and a crash, %s -> settled by the same identity',
  async (_how, packsPages) => {
    await using move = await Move.open();
    const wire = wireOf(move, 'orders');
    await write(
      wire,
      NONE,
      '{"id":"1","customerId":{"a":1},"tenantId":"P"}',
      '{"id":"2","customerId":[],"tenantId":"P"}',
    );
    const crash = new AbortController();
    const onPoint = (point: CrashPoint): void => {
      if (point === 'intended') crash.abort(new Error('crash'));
    };
    await expect(move.run('copy', { abort: crash.signal, onPoint, packsPages })).rejects.toThrow('crash');
    await write(wire, NONE, '{"id":"1","customerId":{"a":2},"tenantId":"Q"}');
    await move.run('copy');
    await move.run('catch-up');
    await expectSame(move);
  },
);
