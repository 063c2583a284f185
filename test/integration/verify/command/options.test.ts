import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { Ledger } from '../../../../src/state/ledger.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { cosmig } from '../../../helpers/migration/typed.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';

const orders = (count: number): Order[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `o${n}`,
    customerId: `c${n % 17}`,
    tenantId: `t${n % 5}`,
    n,
  }));

async function copied(options: Parameters<typeof Move.open>[0], documents: readonly Order[]): Promise<Move> {
  const move = await Move.open(options);
  await putAll(move, documents);
  await move.run('copy');
  await move.run('catch-up');
  return move;
}

describe('verify: numbers that JSON.parse would round', () => {
  test('equal bytes -> equal; a rounded integer -> different', async () => {
    await using move = await Move.open();
    const raw = new RawAccount(move.emulator);
    const [source, target] = [
      new WireContainer(raw, 'shop', 'orders'),
      new WireContainer(raw, 'shop', 'by-tenant'),
    ];
    const text = (big: string): string =>
      `{"id":"big","customerId":"c1","tenantId":"t1","big":${big},"price":1.10,"zero":-0,"__proto__":{"a":1},"é":"\\u00e9"}`;
    expect((await source.create(text('9223372036854775807'), ['c1'])).status).toBe(201);
    await move.run('copy');
    await expect(verifyMove(move)).resolves.toMatchObject({ equal: true, details: { lookedAtAgain: 0 } });
    await move.target.item('big', 't1').delete();
    expect((await target.create(text('9223372036854775808'), ['t1'])).status).toBe(201);
    await expect(verifyMove(move)).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'different', id: 'big', sourceKey: ['c1'], targetKey: ['t1'] }],
    });
    raw.close();
  });
});

test('verify: the target stores numbers in another form, as the service does -> equal, another value -> different', async () => {
  await using move = await Move.open();
  const raw = new RawAccount(move.emulator);
  const [source, target] = ['orders', 'by-tenant'].map((name) => new WireContainer(raw, 'shop', name)) as [
    WireContainer,
    WireContainer,
  ];
  const text = (zero: string, price: string): string =>
    `{"id":"n","customerId":"c1","tenantId":"t1","zero":${zero},"exact":-0.0,"price":${price},"rows":[{"x":-0},1.0]}`;
  expect((await source.create(text('-0', '1.10'), ['c1'])).status).toBe(201);
  await move.admin.account({ numbers: 'service' });
  await move.run('copy');
  const stored = await target.read('n', ['t1']);
  expect(stored.text).toContain('"zero":0,"exact":0,"price":1.1,"rows":[{"x":0},1]');
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: true, details: { lookedAtAgain: 1 } });
  await move.target.item('n', 't1').delete();
  expect((await target.create(text('1e-300', '1.1'), ['t1'])).status).toBe(201);
  await expect(verifyMove(move)).resolves.toMatchObject({ equal: false, samples: [{ kind: 'different' }] });
  raw.close();
});

describe('verify: derived keys', () => {
  test('expected key is computed -> a document under another key is found', async () => {
    const flags = { derive: ['/pk={tenantId}-{customerId}'] };
    await using move = await copied({ flags, target: { partitionKey: '/pk' } }, orders(40));
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: true,
      target: { count: 40 },
      details: { lookedAtAgain: 0 },
    });
    const { resource } = await move.target.item('o3', 't3-c3').read<Order>();
    await move.target.items.create({ ...resource, id: 'o3', pk: 't3-other' });
    await move.target.item('o3', 't3-c3').delete();
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'wrongSlot', id: 'o3', sourceKey: ['c3'], targetKey: ['t3-other'] }],
    });
  });

  test('source key kept in another property -> documents are identified by it', async () => {
    const flags = { derive: ['/customerId={tenantId}-{customerId}'], keepSourceKeyAs: ['/oldCustomerId'] };
    await using move = await copied({ flags, target: { partitionKey: '/customerId' } }, orders(40));
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: true,
      details: { lookedAtAgain: 0 },
    });
    await move.target.item('o4', 't4-c4').delete();
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'missing', id: 'o4', sourceKey: ['c4'], targetKey: ['t4-c4'] }],
    });
  });
});

describe('verify: documents that expire', () => {
  const flags = { ttl: ['remaining'] };
  const expiring = orders(30).map((order, n) => ({ ...order, ...(n % 3 === 0 ? { ttl: 5000 + n } : {}) }));

  test('ttl was rewritten -> the instants of expiry are compared', async () => {
    const ttl = { defaultTtl: 9000 };
    await using move = await copied({ flags, source: ttl, target: ttl }, expiring);
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: true,
      details: { lookedAtAgain: 0 },
    });
    const { resource } = await move.target.item('o4', 't4').read<Order>();
    await move.target.items.upsert({ ...resource, id: 'o4', n: 'x' });
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'different', id: 'o4' }],
    });
  });
});

describe('verify: dead letters', () => {
  const collision = { id: 'o1', customerId: 'other', tenantId: 't1' };

  test('open letter -> explains a missing document; a waiver is listed', async () => {
    await using move = await copied({}, [...orders(20), collision]);
    await expect(verifyMove(move)).resolves.toMatchObject({
      equal: true,
      source: { count: 21 },
      target: { count: 20 },
      letters: { open: 1, discarded: 0 },
      details: { explained: { letters: 1, waived: 0 } },
    });
    {
      using ledger = Ledger.openForOperator(move.ledgerPath);
      expect(ledger.letters.discard(1, systemClock.now())).toBe(true);
    }
    const { details } = await verifyMove(move);
    expect(details['explained']).toMatchObject({ letters: 0, waived: 1 });
    const { waived } = details['listed'] as { waived: readonly { id: string }[] };
    expect(waived.map(({ id }) => id)).toEqual(['o1']);

    // It was repaired after all, and moved: from then on it is compared like any other document.
    const { sourceKey } = move.ledger(({ letters }) => letters.get(1)) ?? { sourceKey: '[]' };
    const [customerId] = JSON.parse(sourceKey) as readonly string[];
    const repaired = { id: 'o1', customerId, tenantId: 'of its own' };
    await move.put(repaired);
    await move.run('catch-up');
    {
      // A cosmig that did not close such letters has left them discarded.
      using ledger = Ledger.openForOperator(move.ledgerPath);
      const { letters } = ledger;
      const letter = letters.get(1);
      if (letter === null) throw new Error('it is kept as history');
      letters.change({ change: 'open', letter: { ...letter, slot: null } });
      expect(letters.discard(letters.newest(1)[0]?.number ?? 0, systemClock.now())).toBe(true);
    }
    await move.target.items.upsert({ ...repaired, wrong: true });
    await expect(verifyMove(move)).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'different', id: 'o1' }],
      details: { explained: { waived: 0 } },
    });
  });

  test('many waivers -> all are known', async () => {
    const flags = { missingKey: ['dead-letter'] };
    const count = 1001;
    const keyless = Array.from({ length: count }, (_, n) => ({ id: `k${n}`, customerId: `c${n % 17}` }));
    await using move = await copied({ flags, settings: { ru: 'off' } }, keyless);
    {
      using ledger = Ledger.openForOperator(move.ledgerPath);
      for (let number = 1; number <= count; number += 1)
        expect(ledger.letters.discard(number, systemClock.now())).toBe(true);
    }
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: true,
      letters: { open: 0, discarded: count },
      details: { explained: { letters: 0, waived: count } },
    });
  });

  test('document that cannot be moved has no letter -> missing', async () => {
    const flags = { missingKey: ['dead-letter'] };
    const keyless = { id: 'keyless', customerId: 'c1' };
    await using move = await copied({ flags }, [...orders(20), keyless]);
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: true,
      details: { refused: { 'missing-key': 1 }, explained: { letters: 1 } },
    });
    {
      using ledger = Ledger.openForOperator(move.ledgerPath);
      const letter = ledger.letters.get(1);
      const identity = letter?.identity ?? Buffer.alloc(16);
      const close = { change: 'close', identity, atMs: systemClock.now() } as const;
      ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters: [close] }]);
    }
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'missing', id: 'keyless', sourceKey: ['c1'] }],
    });
  });

  test('document marked as deleted is in the target -> extra', async () => {
    const flags = { deletes: ['marker:/isDeleted'] };
    const marked = { id: 'gone', customerId: 'c1', tenantId: 't1', isDeleted: true };
    await using move = await copied({ flags }, [...orders(20), marked]);
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({ equal: true, source: { count: 20 } });
    await move.target.items.upsert(marked);
    await expect(verifyMove(move, { flags })).resolves.toMatchObject({
      equal: false,
      samples: [{ kind: 'extra', id: 'gone', sourceKey: ['c1'], targetKey: ['t1'] }],
    });
  });
});

describe('verify: the containers', () => {
  test('settings differ -> reported', async () => {
    await using move = await copied({ target: { defaultTtl: 3600 } }, orders(5));
    const verdict = await verifyMove(move);
    expect(verdict.settings).toEqual([{ setting: 'TTL', source: 'off', target: expect.any(String) }]);
  });

  test('RU budget -> respected, and nothing is written', async () => {
    await using move = await copied({}, orders(200));
    const stateOf = async (path: string): Promise<unknown> =>
      (await move.admin.ranges(path)).map(({ documents, bytes, lsn }) => ({ documents, bytes, lsn }));
    const before = [await stateOf('shop/orders'), await stateOf('shop/by-tenant')];
    const beganAt = performance.now();
    const flags = { sourceRu: ['100'] };
    const verdict = await verifyMove(move, { flags, timing: { pageSize: 10 } });
    expect(verdict.equal).toBe(true);
    const seconds = (performance.now() - beganAt) / 1000;
    expect(verdict.ru.source / seconds).toBeLessThan(200);
    expect([await stateOf('shop/orders'), await stateOf('shop/by-tenant')]).toEqual(before);
  });
});

test('verify: settings that the identity may not read -> reported as not seen', async () => {
  await using move = await copied({}, orders(5));
  const refused = { status: 403, substatus: 5300 };
  await move.admin.faults([
    { match: { op: 'offer' }, effect: refused },
    { match: { op: 'script' }, effect: refused },
  ]);
  const { code, stdout } = await cosmig(move, 'verify', '--report', `${move.ledgerPath}.report`);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^setting +scripts, throughput: not compared, since you have no right to read them$/m,
  );
  const report: unknown = JSON.parse(readFileSync(`${move.ledgerPath}.report`, 'utf8'));
  expect(report).toMatchObject({ equal: true, settings: [], settingsNotSeen: ['scripts', 'throughput'] });
});
