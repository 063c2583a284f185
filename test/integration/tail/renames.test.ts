/**
 * The application renames documents: it replaces a document by one with another id. No feed shows that the old id was
 * given up, so the copy under it stays until both sides are compared; a cutover never commits with it.
 */
import { describe, expect, test } from 'vitest';
import type { CrashPoint } from '../../../src/engine/unit/crash-points.ts';
import { Move, type MoveOptions, type Order } from '../../helpers/migration/move.ts';
import { cosmig } from '../../helpers/migration/typed.ts';
import { RawAccount } from '../../helpers/emulator/raw.ts';
import { WireContainer } from '../../helpers/emulator/wire-container.ts';

const MODES = ['avad', 'marker:/deleted', 'reconcile'] as const;
type Mode = (typeof MODES)[number];

const openIn = async (mode: Mode, options: MoveOptions = {}): Promise<Move> =>
  Move.open({ settings: { avad: mode === 'avad' }, ...options });

const order = (id: string, tenantId = 'P', more: object = {}): Order => ({
  id,
  customerId: 'a',
  tenantId,
  ...more,
});

/** Replaces the document of an id by this one. */
async function rename(move: Move, id: string, to: Order): Promise<void> {
  const wire = new WireContainer(new RawAccount(move.emulator), 'shop', 'orders');
  const { status } = await wire.replace(id, JSON.stringify(to), [to['customerId']]);
  expect(status).toBe(200);
}

const idsIn = async (move: Move, side: 'source' | 'target'): Promise<string[]> =>
  (await move.documents(move[side])).map(({ id }) => id);

const isSweepPending = (move: Move): boolean =>
  move.ledger(({ leases }) => leases.live().some(({ sweepPending }) => sweepPending));

async function expectSame(move: Move): Promise<void> {
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
}

const CUTOVER = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];

interface History {
  readonly what: string;
  /** The documents that are there first, and what the application does; `id` makes ids of this history. */
  readonly act: (move: Move, id: (name: string) => string) => Promise<void>;
  /** The old ids under which copies are left; and those that only the feed of all versions has shown. */
  readonly left: readonly string[];
  readonly shown?: readonly string[];
}

/** Each begins with the documents 1 and 2. */
const HISTORIES: readonly History[] = [
  { what: 'once', act: async (move, id) => rename(move, id('1'), order(id('1b'))), left: ['1'] },
  {
    what: 'twice',
    act: async (move, id) => {
      await rename(move, id('1'), order(id('1b')));
      await rename(move, id('1b'), order(id('1c'), 'P', { n: 2 }));
    },
    left: ['1'],
    shown: ['1b'],
  },
  {
    what: 'with another key',
    act: async (move, id) => rename(move, id('1'), order(id('1b'), 'Q')),
    left: ['1'],
  },
  {
    what: 'and another document takes the old id',
    act: async (move, id) => {
      await rename(move, id('1'), order(id('1b')));
      await move.put(order(id('1'), 'Q', { new: true }));
    },
    left: [],
  },
  {
    what: 'there and back',
    act: async (move, id) => {
      await rename(move, id('1'), order(id('1b')));
      await rename(move, id('1b'), order(id('1'), 'Q', { n: 3 }));
    },
    left: [],
    shown: ['1b'],
  },
  {
    what: 'and another one takes the old id by a rename',
    act: async (move, id) => {
      await rename(move, id('1'), order(id('1b')));
      await rename(move, id('2'), order(id('1'), 'R'));
    },
    left: ['2'],
  },
];

describe.each(MODES)('renamed, deletes by %s', (mode) => {
  const flags = { deletes: [mode] };
  const by = ['--deletes', mode];

  test('during the copy -> the first comparison finds the old copies, a repair removes them', async () => {
    await using move = await openIn(mode, { flags, settings: { avad: mode === 'avad', pageBytes: 2000 } });
    await move.put(...Array.from({ length: 40 }, (_, n) => order(`o${n}`, `t${n % 3}`)));
    let pages = 0;
    const busy: Promise<unknown>[] = [];
    await move.run('copy', {
      onPoint: (point: CrashPoint) => {
        if (point !== 'page-read' || pages > 5) return;
        pages += 1;
        busy.push(
          rename(move, `o${pages}`, order(`r${pages}`)),
          rename(move, `o${39 - pages}`, order(`s${pages}`)),
        );
      },
    });
    await Promise.all(busy);
    await move.run('catch-up');
    const [source, target] = [await idsIn(move, 'source'), await idsIn(move, 'target')];
    expect(busy.length).toBeGreaterThan(4);
    expect(target).toEqual(expect.arrayContaining(source));
    expect(target.length).toBeGreaterThan(source.length);
    const verified = await cosmig(move, 'verify', '--deadline', '60s', ...by);
    expect([verified.code, verified.stdout]).toEqual([4, expect.stringContaining('extra')]);
    expect((await cosmig(move, 'verify', '--repair', '--deadline', '60s', ...by)).code).toBe(0);
    await expectSame(move);
  });

  test('after a clean comparison, in all kinds of ways -> every old copy is gone before the cutover commits', async () => {
    await using move = await openIn(mode, { flags });
    const idOf =
      ({ what }: History) =>
      (name: string): string =>
        `${what} ${name}`;
    for (const history of HISTORIES)
      await move.put(order(idOf(history)('1')), order(idOf(history)('2'), 'Q'));
    await move.run('copy');
    await move.run('catch-up');
    expect((await cosmig(move, 'verify', '--deadline', '60s', ...by)).code).toBe(0);
    expect(isSweepPending(move)).toBe(false);

    for (const history of HISTORIES) await history.act(move, idOf(history));
    await move.run('catch-up');
    const extra = HISTORIES.flatMap((history) =>
      [...history.left, ...(mode === 'avad' ? (history.shown ?? []) : [])].map(idOf(history)),
    );
    const source = await idsIn(move, 'source');
    expect((await idsIn(move, 'target')).toSorted()).toEqual([...source, ...extra].toSorted());
    // Only the feed of all versions shows that a document of the ledger must have had the new id.
    expect(isSweepPending(move)).toBe(mode === 'avad');

    const cut = await cosmig(move, ...CUTOVER, ...by);
    expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
    expect(cut.stderr.includes('all documents will be compared with writers stopped')).toBe(mode === 'avad');
    await expectSame(move);
  });

  test('into a target with unique keys -> a dead letter, until the old copy is removed', async () => {
    await using move = await openIn(mode, {
      flags,
      target: { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } },
    });
    await move.put(order('1', 'P', { mail: 'x' }), order('2', 'P', { mail: 'y' }));
    await move.run('copy');
    await rename(move, '1', order('1b', 'P', { mail: 'x' }));
    expect((await move.run('catch-up')).documents.deadLettered).toBe(1);
    expect(await idsIn(move, 'target')).toEqual(['1', '2']);
    await cosmig(move, 'verify', '--repair', '--deadline', '60s', ...by);
    expect(move.ledger(({ letters }) => letters.openCount())).toBe(0);
    await expectSame(move);
  });
});

test('renamed onto the id of a deleted document, deletes by avad -> noticed', async () => {
  await using move = await openIn('avad');
  await move.put(order('1'), order('2'), order('3'));
  await move.run('copy');
  await move.run('catch-up');
  await move.source.item('2', 'a').delete();
  await move.run('catch-up');
  expect(isSweepPending(move)).toBe(false);
  await rename(move, '1', order('2', 'P', { n: 3 }));
  await move.run('catch-up');
  expect(isSweepPending(move)).toBe(true);
  expect(await idsIn(move, 'target')).toEqual(['1', '2', '3']);
});

test('changes of every kind, deletes by avad, and a crash -> no rename is suspected', async () => {
  await using move = await openIn('avad');
  const all = Array.from({ length: 30 }, (_, n) => order(`o${n}`, `t${n % 3}`));
  await move.put(...all);
  let pages = 0;
  await move.run('copy', {
    onPoint: (point) => {
      if (point === 'page-read' && pages++ < 3)
        void move.put(order(`o${pages}`, 'moved'), order(`n${pages}`));
    },
  });
  const act = async (round: number): Promise<void> => {
    for (let n = round; n < 30; n += 3) {
      await move.put(
        order(`o${n}`, `t${(n + round) % 4}`, { round }),
        order(`c${round}-${n}`),
        order(`c${round}-${n}`, 'Q'),
      );
      await move.source.item(`o${n}`, 'a').delete();
      if (n % 2 === 0) await move.put(order(`o${n}`, 'R'), order(`o${n}`, 'S', { round }));
    }
  };
  await act(0);
  const crash = new AbortController();
  const onPoint = (point: CrashPoint): void => {
    if (point === 'outcomes-known') crash.abort(new Error('crash'));
  };
  await expect(move.run('catch-up', { abort: crash.signal, onPoint })).rejects.toThrow('crash');
  await act(1);
  await move.run('catch-up');
  await move.admin.split('shop/orders', {});
  await act(2);
  await move.run('catch-up');
  expect(isSweepPending(move)).toBe(false);
  await expectSame(move);
});

test('a copy deleted in the target balances the counts, deletes by avad -> the cutover compares everything', async () => {
  await using move = await openIn('avad', { flags: { deletes: ['avad'] } });
  await move.put(order('1'), order('2'), order('3'));
  await move.run('copy');
  await move.run('catch-up');
  expect((await cosmig(move, 'verify', '--deadline', '60s', '--deletes', 'avad')).code).toBe(0);
  await rename(move, '1', order('1b'));
  await move.run('catch-up');
  await move.target.item('2', 'P').delete();
  expect(await idsIn(move, 'target')).toEqual(['1', '1b', '3']);
  const cut = await cosmig(move, ...CUTOVER, '--deletes', 'avad');
  expect([cut.code, cut.stderr]).toEqual([0, expect.stringContaining('repairing ')]);
  await expectSame(move);
});
