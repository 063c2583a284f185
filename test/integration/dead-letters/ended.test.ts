/** What becomes of discarded letters whose document is moved, changed or deleted later. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { both, loserOf, NEEDS_KEY as flags, order } from '../../helpers/migration/collisions.ts';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';

/** Each letter with its state, and whether the ledger says that its document is left behind. */
function lettersOf(move: Move): string[] {
  return move.ledger(({ letters, rows }) =>
    [...letters.each('any')].map(({ id, state, identity }) => {
      const isLeft = rows.find(identity)?.state === 'quarantined';
      return `${id} ${state}, ${isLeft ? 'left behind' : 'not'}`;
    }),
  );
}

test.each(['outcomes-known', 'committed'] satisfies CrashPoint[])(
  'discarded letters: documents are moved, changed and deleted, with a crash at "%s" -> closed with the change',
  async (at) => {
    await using move = await Move.open({ flags, settings: { avad: true } });
    const { source } = move;
    await move.put(
      ...both('moved'),
      ...both('changed'),
      ...both('deleted'),
      ...both('kept'),
      order('fixed', 'a', {}),
    );
    await move.run('copy');
    {
      using ledger = Ledger.openForOperator(move.ledgerPath);
      const { letters } = ledger;
      for (const { number } of letters.each('open')) letters.discard(number, systemClock.now());
    }
    const [moved, changed, deleted] = await Promise.all(
      ['moved', 'changed', 'deleted'].map(async (id) => loserOf(move, id)),
    );
    const before = lettersOf(move);
    expect(before.filter((letter) => letter.endsWith('discarded, left behind'))).toHaveLength(5);
    await source.items.upsert(order('moved', moved ?? '', { tenantId: 'u' }));
    await source.items.upsert(order('changed', changed ?? '', { tenantId: 't', n: 1 }));
    await source.item('deleted', deleted ?? '').delete();
    await source.items.upsert(order('fixed', 'a'));
    const crash = new AbortController();
    const crashed = move.run('catch-up', {
      abort: crash.signal,
      onPoint: (point) => {
        if (point === at) crash.abort(new Error('crash'));
      },
    });
    await expect(crashed).rejects.toThrow('crash');
    // What is discarded is left behind, and what is closed is not, unless it has another letter.
    const ids = lettersOf(move).filter((letter) => letter.endsWith('discarded, not'));
    expect(ids).toEqual([]);
    await move.run('catch-up');
    expect(lettersOf(move).toSorted()).toEqual([
      '"changed" closed, left behind',
      '"changed" open, left behind',
      '"deleted" closed, not',
      '"fixed" closed, not',
      '"kept" discarded, left behind',
      '"moved" closed, not',
    ]);
    expect((await typed(move, 'status')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'dead letters 1 open (1 collision), 4 closed (their documents were moved, changed or deleted later), 1 discarded',
    );
  },
);

test('discarded letters: a document is deleted, and no feed reports it -> closed by the cutover, which compares only what changed', async () => {
  await using move = await Move.open();
  await move.put(...both('deleted'), ...both('kept'), order('other', 'a'));
  expect((await cosmig(move, 'copy')).code).toBe(5);
  expect((await typed(move, 'dead-letters', 'discard', '--all', '--reason', 'collision', '--yes')).code).toBe(
    0,
  );
  await move.source.item('deleted', await loserOf(move, 'deleted')).delete();
  expect((await cosmig(move, 'verify', '--repair')).code).toBe(0);
  expect(lettersOf(move).toSorted()).toEqual(['"deleted" closed, not', '"kept" discarded, left behind']);
  await move.source.item('kept', await loserOf(move, 'kept')).delete();
  // A crash before the COMMIT leaves the letter as it was.
  const crash = new AbortController();
  const crashed = move.run('catch-up', {
    abort: crash.signal,
    onPoint: (point) => {
      if (point !== 'letter-retried') return;
      crash.abort(new Error('crash'));
      crash.signal.throwIfAborted();
    },
  });
  await expect(crashed).rejects.toThrow('crash');
  expect(lettersOf(move).toSorted()).toEqual(['"deleted" closed, not', '"kept" discarded, left behind']);
  const cut = await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s');
  expect([cut.code, cut.stdout.replaceAll(/\s+/g, ' ')]).toEqual([
    0,
    expect.stringContaining('as many as the ledger knows'),
  ]);
  expect(lettersOf(move).toSorted()).toEqual(['"deleted" closed, not', '"kept" closed, not']);
});

test('discarded letters: the slot of a discarded letter becomes free -> its document is still left behind', async () => {
  await using move = await Move.open({ flags });
  await move.put(...both('left'));
  await move.run('copy');
  const loser = await loserOf(move, 'left');
  expect((await typed(move, 'dead-letters', 'discard', '1')).code).toBe(0);
  await move.source.item('left', loser === 'a' ? 'b' : 'a').delete();
  await move.target.item('left', 't').delete();
  await move.run('catch-up');
  expect(lettersOf(move)).toEqual(['"left" discarded, left behind']);
  expect(await move.documents(move.target)).toEqual([]);
});
