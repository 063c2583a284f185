/** Dead letters that wait for another document, and the moment at which it leaves. */
import { expect, test } from 'vitest';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { until } from '../../helpers/wait.ts';

const order = (id: string, customerId: string, tenantId: string, more: object): Order => ({
  id,
  customerId,
  tenantId,
  ...more,
});

test('promotion: unique value freed during a failing retry -> retried again', async () => {
  await using move = await Move.open({
    target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } },
  });
  await move.put(order('1', 'a', 'P', { mail: 'x' }), order('2', 'b', 'P', { mail: 'x' }));
  await move.run('copy');
  const [held] = await move.documents(move.target);
  await move.put({ ...held, mail: 'y' } as Order);
  // The letter's own try begins with the run: refused, a look, refused again, and the last look is answered late.
  // Meanwhile the page with the other document's change is read.
  await move.admin.faults([
    { match: { op: 'batch', coll: 'by-tenant' }, after: 4, times: 1, effect: { delayMs: 1500 } },
    { match: { op: 'read-feed', coll: 'orders' }, times: 2, effect: { delayMs: 200 } },
  ]);
  const { documents } = await move.run('catch-up', { timing: { requestTimeoutMs: 5000 } });
  expect(documents).toMatchObject({ deadLettered: 0 });
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});

test('promotion: writes next to a unique value -> retried only when the value may be free', async () => {
  await using move = await Move.open({
    settings: { avad: true },
    target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }, { paths: ['/a/b', '/c'] }] } },
  });
  const held = (n: number, more: object): Order => order(`${n}`, 'a', 'P', { c: n, ...more });
  await move.put(held(0, { mail: 'x' }), held(1, { mail: 'other' }), held(2, { mail: 'gone' }));
  await move.run('copy');
  await move.put(...[3, 4, 5, 6, 7].map((n) => held(n, { mail: 'x' })));
  const drain = new AbortController();
  let tried = 0;
  const tail = move.run('tail', {
    drain: drain.signal,
    onPoint: (point) => (tried += point === 'letter-retried' ? 1 : 0),
  });
  const openLetters = (): number => move.ledger(({ letters }) => letters.openCount());
  const arrived = async (n: number): Promise<boolean> =>
    (await move.documents(move.target)).some(({ version }) => version === n);
  await until(() => openLetters() === 5, { what: 'the letters' });
  tried = 0;
  // Two documents give up values that no letter waits for: one changes, one is deleted.
  await move.put(held(1, { mail: 'elsewhere' }));
  await move.source.item('2', 'a').delete();
  for (let n = 0; n < 20; n += 1) await move.put(held(1, { mail: 'elsewhere', n }));
  await move.put(held(8, { mail: 'last', version: 1 }));
  await until(() => arrived(1), { what: 'the last change' });
  expect(tried).toBe(0);
  await move.put(held(0, { mail: 'y' }));
  await until(() => openLetters() === 4, { what: 'one of those who waited' });
  drain.abort(new Error('enough'));
  await expect(tail).rejects.toThrow('enough');
  const mails = (await move.documents(move.target)).map(({ mail }) => mail);
  expect(new Set(mails)).toEqual(new Set(['elsewhere', 'last', 'x', 'y']));
  expect(mails).toHaveLength(4);
});

test('promotion: first letter no longer claims an empty slot -> the next one gets it', async () => {
  await using move = await Move.open({
    target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } },
  });
  await move.put(order('7', 'a', 'P', { mail: 'x' }), order('9', 'a', 'P', { mail: 'y' }));
  await move.run('copy');
  await move.put(order('7', 'b', 'P', { mail: 'y' }));
  await move.run('catch-up');
  await move.put(order('7', 'c', 'P', { mail: 'z' }));
  expect((await move.run('catch-up')).documents).toMatchObject({ deadLettered: 2 });
  const drain = new AbortController();
  let tried = 0;
  const tail = move.run('tail', {
    drain: drain.signal,
    onPoint: (point) => (tried += point === 'letter-retried' ? 1 : 0),
  });
  // Both have had the try that every run begins with, in vain.
  await until(() => tried === 2, { what: 'the first tries' });
  await move.put(order('7', 'a', 'Q', { mail: 'x' }));
  await until(() => move.ledger(({ letters }) => letters.openCount()) === 1, {
    what: 'the next in line',
  });
  drain.abort(new Error('enough'));
  await expect(tail).rejects.toThrow('enough');
  const [letter] = move.ledger(({ letters }) => letters.list({ state: 'open', after: 0, limit: 9 }));
  expect(letter).toMatchObject({ id: '"7"', sourceKey: '["b"]' });
  const inP = (await move.documents(move.target)).filter(({ tenantId }) => tenantId === 'P');
  expect(inP.map(({ id, customerId }) => `${id}${String(customerId)}`)).toEqual(['7c', '9a']);
});

test('promotion: run is stopped during retries -> started ones finish, others are left', async () => {
  await using move = await Move.open();
  const many = Array.from({ length: 200 }, (_, n) => order(`${n % 100}`, n < 100 ? 'a' : 'b', 'P', {}));
  await move.put(...many);
  expect((await move.run('copy')).documents).toMatchObject({ deadLettered: 100 });
  const drain = new AbortController();
  let tried = 0;
  const run = move.run('catch-up', {
    drain: drain.signal,
    onPoint: (point) => {
      tried += point === 'letter-retried' ? 1 : 0;
      if (tried === 1) drain.abort(new Error('enough'));
    },
  });
  await expect(run).rejects.toThrow('enough');
  expect(tried).toBeGreaterThan(0);
  expect(tried).toBeLessThan(100);
  expect(move.ledger(({ units }) => units.unsettled())).toEqual([]);
});
