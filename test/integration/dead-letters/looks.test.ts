/** Letters whose document, or the document in its slot, was deleted where no feed reports that: a run looks by itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { both, NEEDS_KEY as flags, order, sidesOf } from '../../helpers/migration/collisions.ts';
import { Move } from '../../helpers/migration/move.ts';
import { isBatchOf, isLaterPage, Tapped } from '../../helpers/migration/tapped.ts';
import type { TapRequest } from '../../helpers/migration/tap.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { runCutover } from '../../../src/engine/run.ts';
import { deferred } from '../../../src/lib/deferred.ts';
import type { LetterChange, Reason } from '../../../src/state/dead-letters.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { hashOf } from '../../unit/state/making.ts';
import { until } from '../../helpers/wait.ts';

/** The open letters of a ledger: id, key and how often each was tried. */
function openIn(path: string): string[] {
  using ledger = Ledger.openReadonly(path);
  return ledger.letters
    .list({ state: 'open', after: 0, limit: 100 })
    .map(({ id, sourceKey, attempts }) => `${id} ${sourceKey} ${attempts}`);
}

/** Runs a tail until `isOver`. */
async function tailUntil(
  tail: (drain: AbortSignal) => Promise<unknown>,
  work: () => Promise<void>,
): Promise<void> {
  const drain = new AbortController();
  const running = tail(drain.signal);
  await Promise.race([work(), running]);
  drain.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
}

describe('looks of a tail, no feed of deletes', () => {
  test('documents of letters, or those in their slots, are deleted or renamed -> the tail closes the letters', async () => {
    await using move = await Move.open({ flags });
    const { source } = move;
    const ids = ['loser', 'winner', 'renamed', 'kept'];
    await move.put(...ids.flatMap(both), order('keyless', 'a', {}), order('waived', 'a', {}));
    await move.run('copy');
    const number = move.ledger(
      ({ letters }) => [...letters.each('open')].find(({ id }) => id === '"waived"')?.number ?? 0,
    );
    {
      using ledger = Ledger.openForOperator(move.ledgerPath);
      ledger.letters.discard(number, Date.now());
    }
    const [, kept] = await sidesOf(move, 'kept');
    await move.target.items.create({ id: 'taken', tenantId: 't', by: 'another process' });
    await move.put(order('taken', 'a'));
    await tailUntil(
      async (drain) => move.run('tail', { drain }),
      async () => {
        // The try with which a run begins is over.
        await until(() => openIn(move.ledgerPath).includes(`"kept" ["${kept}"] 3`), { what: 'the tail' });
        await source.item('loser', (await sidesOf(move, 'loser'))[1]).delete();
        await source.item('winner', (await sidesOf(move, 'winner'))[0]).delete();
        const [, customer] = await sidesOf(move, 'renamed');
        await source.items.create(order('another', customer));
        await source.item('renamed', customer).delete();
        await until(() => openIn(move.ledgerPath).some((one) => one.startsWith('"taken"')), {
          what: 'the place is taken',
        });
        await move.target.item('taken', 't').delete();
        for (const id of ['keyless', 'waived']) await source.item(id, 'a').delete();
        // A letter that nothing has happened to is not tried again.
        await until(() => openIn(move.ledgerPath).length === 1, { what: 'the looks' });
        expect(openIn(move.ledgerPath)).toEqual([`"kept" ["${kept}"] 3`]);
      },
    );
    const expected = (await move.documents(source)).filter(
      ({ id, customerId }) => id !== 'kept' || customerId !== kept,
    );
    expect(await move.documents(move.target)).toEqual(expected);
    expect(move.ledger(({ letters }) => letters.get(number)?.state)).toBe('discarded');
  });

  test('70 letters -> each is looked at once before any is looked at again, at most 32 at a time', async () => {
    await using tapped = await Tapped.open({ flags, settings: { pageBytes: 1_000_000 } });
    const { move, tap } = tapped;
    const many = Array.from({ length: 70 }, (_, n) => order(`o${n}`, 'a', {}));
    await move.put(...many);
    await move.run('copy');
    tap.seen.length = 0;
    const ids = (): string[][] => tap.seen.filter(isBatchOf('orders')).map(idsRead);
    await tailUntil(
      async (drain) => move.run('tail', { drain }),
      async () => void (await until(() => ids().flat().length > 70, { what: 'two looks at a letter' })),
    );
    expect(Math.max(...ids().map(({ length }) => length))).toBeLessThanOrEqual(32);
    expect(new Set(ids().flat().slice(0, 70)).size).toBe(70);
  });

  test('the tail is behind -> no look, until it has caught up', async () => {
    await using tapped = await Tapped.open({ flags });
    const { move, tap } = tapped;
    await move.put(order('keyless', 'a', {}));
    await move.run('copy');
    await move.source.item('keyless', 'a').delete();
    tap.seen.length = 0;
    const looks = (): number => tap.seen.filter(isBatchOf('orders')).length;
    const pages = deferred();
    tap.meddle = async (request, forward) => {
      if (isLaterPage(request)) await pages.promise;
      return forward();
    };
    await tailUntil(
      async (drain) => move.run('tail', { drain, timing: { requestTimeoutMs: 5000 } }),
      async () => {
        await until(() => tap.seen.some(isLaterPage), { what: 'the first page' });
        // Two rounds.
        await sleep(600);
        expect(looks()).toBe(0);
        pages.resolve();
        await until(() => openIn(move.ledgerPath).length === 0, { what: 'the look' });
      },
    );
  });

  test.each(['takeover-intended', 'letter-retried'] as const)(
    'a crash at "%s" after a look -> the next run closes the letter',
    async (at) => {
      await using move = await Move.open();
      await move.put(...both('7'));
      await move.run('copy');
      const [winner, loser] = await sidesOf(move, '7');
      const crash = new AbortController();
      let isDeleted = false;
      const tail = move.run('tail', {
        abort: crash.signal,
        onPoint: (point) => {
          if (isDeleted && point === at) crash.abort(new Error('crash'));
        },
      });
      await until(() => openIn(move.ledgerPath).includes(`"7" ["${loser}"] 3`), { what: 'the tail' });
      isDeleted = true;
      await move.source.item('7', winner).delete();
      await expect(tail).rejects.toThrow('crash');
      expect((await move.run('catch-up')).documents).toMatchObject({ deadLettered: 0 });
      expect(await move.documents(move.target)).toEqual([order('7', loser)]);
    },
  );
});

test('looks: a run that catches up, and the gate of a cutover -> letters of deleted documents are closed', async () => {
  await using move = await Move.open({ flags });
  await move.put(order('1', 'a', {}), order('2', 'a', {}), order('3', 'a'));
  await move.run('copy');
  await move.source.item('1', 'a').delete();
  expect((await move.run('catch-up')).documents).toMatchObject({ deadLettered: 1 });
  await move.source.item('2', 'a').delete();
  await expect(runCutover(move.parts(), CUTOVER)).resolves.toMatchObject({
    documents: { deadLettered: 0 },
    phase: 'committed',
  });
});

test('looks: more letters than a run looks at -> each run begins with others', async () => {
  await using move = await Move.open();
  await move.run('copy');
  {
    using ledger = Ledger.openForOperator(move.ledgerPath);
    const letters = Array.from({ length: 1050 }, (_, n) => letterOf(`${n}`, 'changed-by-others'));
    letters.push(letterOf('last', 'missing-key'));
    ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters }]);
  }
  // The second run begins with number 950: behind 2 times 1,000, after 1,051 again with the first.
  expect((await move.run('catch-up')).documents).toMatchObject({ deadLettered: 1050 });
});

function letterOf(name: string, reason: Reason): LetterChange {
  const [id, why] = [JSON.stringify(name), 'as a test says'];
  const nowhere = { sourceKey: '["a"]', targetKey: null, slot: null, waits: { for: 'nothing' } } as const;
  return {
    change: 'open',
    letter: { identity: hashOf(name), reason, code: reason, why, id, ...nowhere, atMs: 1 },
  };
}

test('looks: on the way back, documents are deleted -> letters are closed, except where others changed the copy', async () => {
  await using move = await Move.open();
  const turns = new Turns(move);
  await move.put(order('1', 'a'), order('3', 'a'));
  await turns.run(0, 'copy');
  await turns.cutOver(0, {
    keepSource: async () => ({ deletes: 'reconcile', forMs: 3_600_000, pausedTtl: null }),
  });
  await turns.run(1, 'catch-up');
  const path = turns.parts(1).spec.ledger;
  await tailUntil(
    async (drain) => turns.run(1, 'tail', { drain }),
    async () => {
      await move.source.items.upsert(order('3', 'a', { tenantId: 't', by: 'another process' }));
      await move.target.items.upsert(order('3', 'a', { tenantId: 't', by: 'application' }));
      await until(() => openIn(path).length === 1, { what: 'its letter' });
      const [changed] = openIn(path);
      await move.target.item('3', 't').delete();
      await move.target.items.create(order('2', 'a', { tenantId: 't' }));
      await until(async () => (await move.documents(move.source)).length === 3, { what: 'the first' });
      await move.target.items.create(order('2', 'a', { tenantId: 'u' }));
      await until(() => openIn(path).length === 2, { what: 'the letter' });
      await move.target.item('2', 't').delete();
      await until(() => openIn(path).length === 1, { what: 'the look' });
      expect(openIn(path)).toEqual([changed]);
    },
  );
  const back = (await move.documents(move.source)).filter(({ id }) => id !== '3');
  expect(back).toEqual(await move.documents(move.target));
});

/** The ids of the documents that a batch reads. */
function idsRead({ body }: TapRequest): string[] {
  const operations = JSON.parse(body.toString('utf8')) as { operationType: string; id: string }[];
  return operations.flatMap(({ operationType, id }) => (operationType === 'Read' ? [id] : []));
}
