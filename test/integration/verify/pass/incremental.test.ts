import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { Ledger } from '../../../../src/state/ledger.ts';
import { VerifyStore, verifyPath } from '../../../../src/verify/store.ts';
import { Move, type Order } from '../../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../../helpers/migration/verify.ts';

const order = (n: number, more: object = {}): Order => ({
  id: `o${n}`,
  customerId: `c${n % 17}`,
  tenantId: `t${n % 5}`,
  n,
  ...more,
});

async function proven(): Promise<Move> {
  const move = await Move.open({ settings: { avad: true } });
  await putAll(
    move,
    Array.from({ length: 300 }, (_, n) => order(n)),
  );
  await move.run('copy');
  expect(await verifyMove(move)).toMatchObject({ equal: true, source: { count: 300 } });
  return move;
}

const lookedAt = ({ details }: { details: object }): unknown => Reflect.get(details, 'lookedAtAgain');

test('verify changes: after a clean comparison -> only changes are compared, also after a split', async () => {
  await using move = await proven();
  await move.admin.split('shop/orders');
  await move.admin.split('shop/by-tenant');
  await move.put(order(1, { again: 1 }), order(2, { tenantId: 'moved' }), order(300));
  await move.source.item('o3', 'c3').delete();
  await move.run('catch-up');
  const verdict = await verifyMove(move, { level: 'changes' });
  expect([verdict.equal, lookedAt(verdict)]).toEqual([true, 3]);
  const again = await verifyMove(move, { level: 'changes' });
  expect([again.equal, lookedAt(again)]).toEqual([true, 0]);
});

test('verify changes: after a merge -> changes are read once', async () => {
  await using move = await Move.open();
  await move.admin.split('shop/orders');
  await move.admin.split('shop/by-tenant');
  await putAll(
    move,
    Array.from({ length: 100 }, (_, n) => order(n)),
  );
  await move.run('copy');
  expect(await verifyMove(move)).toMatchObject({ equal: true });
  await putAll(
    move,
    Array.from({ length: 20 }, (_, n) => order(n, { again: 1 })),
  );
  await move.run('catch-up');
  await move.admin.merge('shop/orders', ['1', '2']);
  await move.admin.merge('shop/by-tenant', ['1', '2']);
  const verdict = await verifyMove(move, { level: 'changes' });
  expect(verdict).toMatchObject({ equal: true, source: { count: 20 }, target: { count: 20 } });
  // Without this run the comparison cannot know how far the mover is.
  await move.run('catch-up');
  await move.target.items.upsert(order(50, { wrong: 1 }));
  expect(await verifyMove(move, { level: 'changes' })).toMatchObject({
    equal: false,
    source: { count: 0 },
    target: { count: 1 },
  });
});

test('verify changes: a change arrived wrong -> found and named', async () => {
  await using move = await proven();
  await move.put(order(1, { again: 1 }), order(2, { again: 1 }));
  await move.run('catch-up');
  await move.target.items.upsert({ ...order(1, { again: 2 }) });
  const verdict = await verifyMove(move, { level: 'changes' });
  expect(verdict).toMatchObject({
    equal: false,
    differences: { missing: 0, extra: 0, different: 1, wrongSlot: 0 },
    samples: [{ kind: 'different', id: 'o1' }],
  });
});

test('verify changes: counts differ -> everything is compared', async () => {
  await using move = await proven();
  await move.put(order(1, { again: 1 }));
  await move.run('catch-up');
  await move.target.item('o7', 't2').delete();
  const verdict = await verifyMove(move, { level: 'changes' });
  expect(verdict).toMatchObject({
    equal: false,
    source: { count: 300 },
    differences: { missing: 1, extra: 0, different: 0, wrongSlot: 0 },
    samples: [{ kind: 'missing', id: 'o7' }],
  });
  // A comparison that found differences leaves no proof: the next one must not look only at changes.
  expect(VerifyStore.lastProof(verifyPath(move.ledgerPath))).toBeNull();
});

test('verify changes: a document was added between the fence and the count -> hides no document that lacks', async () => {
  await using move = await proven();
  await move.target.item('o7', 't2').delete();
  // The count takes so long that the document below is there before it.
  await move.admin.faults([{ match: { op: 'query' }, effect: { delayMs: 400, delayAt: 'before' } }]);
  let added: Promise<unknown> | undefined;
  const verdict = await verifyMove(move, {
    level: 'changes',
    onProgress: ({ stage }) => {
      if (stage === 'rechecking') added ??= move.target.items.create(order(9999));
    },
  });
  await added;
  expect(verdict).toMatchObject({ equal: false, differences: { missing: 1, extra: 1 } });
});

test('verify: killed after reporting differences -> no earlier proof is left', async () => {
  await using move = await proven();
  await move.target.item('o7', 't2').delete();
  const proofs: unknown[] = [];
  const onVerdict = (): void => void proofs.push(VerifyStore.lastProof(verifyPath(move.ledgerPath)));
  expect(await verifyMove(move, { onVerdict })).toMatchObject({ equal: false });
  expect(proofs).toEqual([null]);
});

test('verify changes: a letter whose old version stays -> hides no document that lacks', async () => {
  const flags = { derive: ['/pk={tenantId}'] };
  await using move = await Move.open({ flags, target: { partitionKey: '/pk' } });
  await putAll(
    move,
    Array.from({ length: 50 }, (_, n) => order(n)),
  );
  await move.run('copy');
  expect(await verifyMove(move, { flags })).toMatchObject({ equal: true });
  // There is room for it, and none for a key more.
  const padded = JSON.stringify(order(1, { pad: '' })).length;
  await move.put(order(1, { pad: 'x'.repeat(2 * 1024 * 1024 - padded - 4) }));
  await move.run('catch-up');
  expect(move.ledger(({ letters }) => letters.counts())).toMatchObject([{ reason: 'too-large', letters: 1 }]);
  expect(await verifyMove(move, { flags, level: 'changes' })).toMatchObject({ equal: true });
  await move.target.item('o7', 't2').delete();
  expect(await verifyMove(move, { flags, level: 'changes' })).toMatchObject({
    equal: false,
    samples: [{ kind: 'missing', id: 'o7' }],
  });
});

test('verify changes: a waiver of a document deleted since -> hides no document that lacks', async () => {
  const flags = { missingKey: ['dead-letter'] };
  await using move = await Move.open({ flags, settings: { avad: true } });
  const keyless = { id: 'keyless', customerId: 'c1' };
  await putAll(move, [...Array.from({ length: 50 }, (_, n) => order(n)), keyless]);
  await move.run('copy');
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    expect(ledger.letters.discard(1, systemClock.now())).toBe(true);
  }
  expect(await verifyMove(move, { flags })).toMatchObject({ equal: true, letters: { discarded: 1 } });
  await move.source.item('keyless', 'c1').delete();
  await move.run('catch-up');
  expect(await verifyMove(move, { flags, level: 'changes' })).toMatchObject({ equal: true });
  await move.target.item('o7', 't2').delete();
  expect(await verifyMove(move, { flags, level: 'changes' })).toMatchObject({
    equal: false,
    samples: [{ kind: 'missing', id: 'o7' }],
  });
});

test('verify changes: no clean comparison -> everything is compared', async () => {
  await using move = await Move.open();
  await putAll(
    move,
    Array.from({ length: 50 }, (_, n) => order(n)),
  );
  await move.run('copy');
  expect(await verifyMove(move, { level: 'changes' })).toMatchObject({ equal: true, source: { count: 50 } });
});

test('verify changes: earlier comparison not proven -> not used as a start', async () => {
  await using move = await Move.open();
  await putAll(
    move,
    Array.from({ length: 50 }, (_, n) => order(n)),
  );
  await move.run('copy');
  await move.put(order(1, { again: 1 }));
  expect(await verifyMove(move, { deadlineMs: 0 })).toMatchObject({ equal: null, inFlight: 1 });
  await move.run('catch-up');
  await move.target.items.upsert(order(7, { wrong: 1 }));
  expect(await verifyMove(move, { level: 'changes' })).toMatchObject({
    equal: false,
    samples: [{ kind: 'different', id: 'o7' }],
  });
});

test.each(['not proven', 'aborted while it reads'] as const)(
  'verify: a comparison of changes %s -> not resumed as one of everything',
  async (how) => {
    await using move = await Move.open();
    await putAll(
      move,
      Array.from({ length: 50 }, (_, n) => order(n)),
    );
    await move.run('copy');
    expect(await verifyMove(move)).toMatchObject({ equal: true });
    await move.put(order(1, { again: 1 }));
    // The feed of latest versions does not report a delete.
    await move.source.item('o3', 'c3').delete();
    const stop = new AbortController();
    const onProgress = (): void => {
      if (how !== 'not proven') stop.abort(new Error('canceled'));
    };
    const parts = { level: 'changes', deadlineMs: 0, signal: stop.signal, onProgress } as const;
    const ended = await verifyMove(move, parts).then(
      ({ equal }) => equal,
      (error: unknown) => (error instanceof Error ? error.message : error),
    );
    expect(ended).toBe(how === 'not proven' ? null : 'canceled');
    await move.run('catch-up');
    expect(await verifyMove(move)).toMatchObject({
      equal: false,
      source: { count: 49 },
      differences: { extra: 1 },
    });
  },
);
