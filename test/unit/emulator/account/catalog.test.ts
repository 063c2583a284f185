import { describe, expect, test } from 'vitest';
import { LocalAccount } from '../../../../src/emulator/account/account.ts';
import { purgeContainer } from '../../../../src/emulator/partitions/background.ts';
import type { JsonObject } from '../../../../src/emulator/json/json-value.ts';
import {
  createContainer,
  createDatabase,
  deleteContainer,
  deleteDatabase,
  replaceContainer,
} from '../../../../src/emulator/account/catalog.ts';
import type { ContainerModel } from '../../../../src/emulator/account/model.ts';
import { MemoryAccount, refusalOf } from '../../../helpers/emulator/memory-account.ts';

/** Rows of each table that holds what belongs to containers. */
function rowsLeft(memory: MemoryAccount): Record<string, number> {
  const tables = [
    'databases',
    'containers',
    'ranges',
    'offers',
    'documents',
    'changes',
    'unique_values',
    'superseded',
    'scripts',
  ];
  return Object.fromEntries(
    tables.map((table) => [
      table,
      memory.sql.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number,
    ]),
  );
}

const NOTHING = {
  databases: 1,
  containers: 0,
  ranges: 0,
  offers: 0,
  documents: 0,
  changes: 0,
  unique_values: 0,
  superseded: 0,
  scripts: 0,
};

function visibleIds(memory: MemoryAccount, container: ContainerModel): string[] {
  const window = { container: container.number, after: 0, min: '', max: 'FF', nowTs: memory.account.nowTs() };
  return [...memory.account.documents.scan(window)].map(
    ({ text }) => (JSON.parse(text) as { id: string }).id,
  );
}

describe('a container', () => {
  test('a throughput -> its ranges and an offer', () => {
    using memory = new MemoryAccount();
    expect(memory.container({}, { mode: 'manual', ru: 12_100 }).ranges).toHaveLength(3);
    expect(memory.container({}, { mode: 'autoscale', ru: 12_000 }).ranges).toHaveLength(2);
    const plain = memory.container();
    expect([plain.ranges.length, memory.account.offerOf(plain)?.throughput]).toEqual([
      1,
      { mode: 'manual', ru: 400 },
    ]);
  });

  test('a database with an offer -> shared, unless the container has its own', () => {
    using memory = new MemoryAccount();
    const database = createDatabase(memory.account, { id: 'shared' }, { mode: 'manual', ru: 1000 });
    const body = { partitionKey: { paths: ['/pk'] } };
    const sharing = createContainer(memory.account, database, { ...body, id: 'a' }, undefined);
    const own = createContainer(memory.account, database, { ...body, id: 'b' }, { mode: 'manual', ru: 500 });
    expect(memory.account.offers.size).toBe(2);
    expect([sharing, own].map((container) => memory.account.offerOf(container)?.throughput.ru)).toEqual([
      1000, 500,
    ]);
  });

  test('system properties in the body -> dropped, the rest is kept', () => {
    using memory = new MemoryAccount();
    const container = memory.container({ more: { a: [1] }, _rid: 'x', _ts: 1, _self: 's', statistics: [] });
    expect(container.body).toMatchObject({ more: { a: [1] } });
    for (const name of ['_rid', '_ts', '_self', 'statistics'])
      expect(container.body).not.toHaveProperty(name);
  });

  test('created twice -> refused', () => {
    using memory = new MemoryAccount();
    memory.container({ id: 'x' });
    expect(refusalOf(() => memory.container({ id: 'x' }))?.status).toBe(409);
    expect(refusalOf(() => createDatabase(memory.account, { id: 'd' }, undefined))?.status).toBe(409);
  });

  test('an invalid definition -> nothing is stored', () => {
    using memory = new MemoryAccount();
    for (const body of [
      { partitionKey: {} },
      { id: '' },
      { defaultTtl: 0 },
      { uniqueKeyPolicy: { uniqueKeys: 1 } },
    ]) {
      expect(refusalOf(() => memory.container(body))?.status).toBe(400);
    }
    expect([memory.account.offers.size, memory.database.containers.size, rowsLeft(memory)]).toEqual([
      0,
      0,
      NOTHING,
    ]);
  });

  test('deleted -> its data is gone and its name is free', () => {
    using memory = new MemoryAccount({ avad: true, replicaLagMs: 1000 });
    const first = memory.container({ id: 'x', uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/u'] }] } });
    memory.write(first, { id: 'a', more: { u: 1 } });
    memory.write(first, { id: 'a', more: { u: 2 } });
    deleteContainer(memory.account, first);
    expect([memory.account.offers.size, rowsLeft(memory)]).toEqual([0, NOTHING]);
    const second = memory.container({ id: 'x' });
    expect([second.rid === first.rid, second.documents]).toEqual([false, 0]);
  });

  test('deleted -> its buckets are gone', () => {
    using memory = new MemoryAccount();
    const [first, second] = [memory.container(), memory.container()];
    const spent = (): number[] =>
      [first, second].flatMap((container) =>
        container.ranges.map((range) => memory.account.spentBy(container, range).totalRu),
      );
    for (const container of [first, second])
      for (const range of container.ranges) memory.account.charge(container, range, 5, 'high');
    deleteContainer(memory.account, first);
    expect(spent()).toEqual([0, 5]);
    deleteDatabase(memory.account, memory.database);
    expect(spent()).toEqual([0, 0]);
  });

  test('its database is deleted -> deleted too', () => {
    using memory = new MemoryAccount();
    memory.write(memory.container(), { id: 'a' });
    memory.write(memory.container(), { id: 'a' });
    deleteDatabase(memory.account, memory.database);
    expect([memory.account.offers.size, memory.account.databases.size, rowsLeft(memory)]).toEqual([
      0,
      0,
      { ...NOTHING, databases: 0 },
    ]);
  });
});

describe('a replaced container', () => {
  const replaced = (memory: MemoryAccount, container: ContainerModel, changes: JsonObject): void =>
    replaceContainer(memory.account, container, { ...container.body, ...changes });

  test('new settings -> another etag, the same documents', () => {
    using memory = new MemoryAccount();
    const container = memory.container({ defaultTtl: -1 });
    memory.write(container, { id: 'a' });
    const { etag } = container;
    replaced(memory, container, { indexingPolicy: { indexingMode: 'none' }, defaultTtl: 60 });
    expect([
      container.definition.defaultTtl,
      container.body['indexingPolicy'],
      container.documents,
      container.etag === etag,
    ]).toEqual([60, expect.objectContaining({ indexingMode: 'none' }), 1, false]);
  });

  test.each<[JsonObject]>([
    [{ id: 'other' }],
    [{ partitionKey: { paths: ['/other'], kind: 'Hash', version: 2 } }],
    [{ partitionKey: { paths: ['/pk'], kind: 'Hash', version: 1 } }],
    [{ partitionKey: undefined }],
    [{ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/u'] }] } }],
    [{ conflictResolutionPolicy: { mode: 'Custom' } }],
    [{ defaultTtl: 0 }],
    [{ indexingPolicy: 'none' }],
  ])('another %j -> refused', (changes) => {
    using memory = new MemoryAccount();
    const container = memory.container();
    const { body, etag } = container;
    expect(refusalOf(() => replaced(memory, container, changes))?.status).toBe(400);
    expect([container.body, container.etag]).toEqual([body, etag]);
  });

  test('sent back in another order of properties -> accepted', () => {
    using memory = new MemoryAccount();
    const container = memory.container();
    const key = { version: 2, kind: 'Hash', paths: ['/pk'] };
    expect(
      refusalOf(() => replaced(memory, container, { partitionKey: key, _rid: 'x', _ts: 5 })),
    ).toBeUndefined();
  });

  test('another lifetime -> applies to stored documents that were not purged', () => {
    using memory = new MemoryAccount();
    const container = memory.container({ defaultTtl: 10 });
    memory.write(
      container,
      { id: 'default' },
      { id: 'own', more: { ttl: 100 } },
      { id: 'never', more: { ttl: -1 } },
    );
    memory.clock.advance(20_000);
    expect(visibleIds(memory, container)).toEqual(['own', 'never']);
    replaced(memory, container, { defaultTtl: undefined });
    expect(visibleIds(memory, container)).toEqual(['default', 'own', 'never']);
    replaced(memory, container, { defaultTtl: 15 });
    expect(visibleIds(memory, container)).toEqual(['own', 'never']);
    expect(purgeContainer(memory.account, container)).toBe(1);
    replaced(memory, container, { defaultTtl: -1 });
    expect(visibleIds(memory, container)).toEqual(['own', 'never']);
    memory.clock.advance(1_000_000);
    expect(visibleIds(memory, container)).toEqual(['never']);
  });
});

test('an account: opened again -> the same state', () => {
  using memory = new MemoryAccount({ avad: true });
  const container = memory.container({ defaultTtl: 60 }, { mode: 'manual', ru: 12_000 });
  for (let number = 0; number < 20; number += 1) memory.write(container, { id: `${number}`, key: number });
  memory.write(container, { id: '3', key: 3, kind: 'delete' });
  const again = new LocalAccount(memory.sql, memory.clock);
  const inMind = (model: ContainerModel): unknown =>
    Object.fromEntries(
      Object.entries(model).filter(([name]) => !/^(?:database|documentRid|previousRanges)$/.test(name)),
    );
  expect(inMind(again.container('d', container.id))).toEqual(inMind(container));
  expect([again.settings, [...again.offers]]).toEqual([memory.account.settings, [...memory.account.offers]]);
});
