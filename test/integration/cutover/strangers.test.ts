/** Another process that writes in the target while the writers of the application are stopped. */
import { describe, expect, test } from 'vitest';
import { runCutover } from '../../../src/engine/run.ts';
import { compareForCutover } from '../../../src/workflows/compare.ts';
import { byDay } from '../../helpers/generated.ts';
import { CUTOVER } from '../../helpers/migration/cutover-parts.ts';
import { Move, type MoveOptions } from '../../helpers/migration/move.ts';
import { putAll, verifyMove } from '../../helpers/migration/verify.ts';

const HOW: ReadonlyArray<readonly [string, MoveOptions]> = [
  ['avad', { settings: { avad: true } }],
  ['reconcile', {}],
  ['marker', { flags: { deletes: ['marker:/gone'] } }],
  [
    'avad, documents expire',
    { settings: { avad: true }, source: { defaultTtl: -1 }, target: { defaultTtl: -1 } },
  ],
  ['reconcile, documents expire', { source: { defaultTtl: -1 }, target: { defaultTtl: -1 } }],
];

/** A document that only the newest replica shows. */
async function writeBehindReplicas({ admin, target }: Move): Promise<void> {
  await admin.account({ replicaLagMs: 600_000 });
  await target.items.create({ id: 'new', customerId: 'x', tenantId: 't0' });
}

const DEEDS: ReadonlyArray<readonly [string, (move: Move) => Promise<unknown>]> = [
  [
    'writes a new document',
    async ({ target }) => target.items.create({ id: 'new', customerId: 'x', tenantId: 't0' }),
  ],
  ['writes a document that other replicas do not have', writeBehindReplicas],
  [
    'replaces a copy',
    async ({ target }) => target.items.upsert({ id: 'o1', customerId: 'c1', tenantId: 't1', n: -1 }),
  ],
  ['deletes a copy', async ({ target }) => target.item('o1', 't1').delete()],
];

describe.each(HOW.map((one, n) => [...one, n] as const))(
  'cutover: another process, %s',
  (how, options, n) => {
    // A delete cannot be distinguished from an expiration.
    const deeds = DEEDS.filter(([deed]) => !deed.startsWith('deletes') || !how.endsWith('expire'));
    test.each(byDay(deeds, { every: 2, from: n % 2 }))(
      '%s after both sides were compared -> compared again, and repaired',
      async (deed, does) => {
        await using move = await Move.open(options);
        await putAll(
          move,
          Array.from({ length: 20 }, (_, n) => ({
            id: `o${n}`,
            customerId: `c${n}`,
            tenantId: `t${n % 4}`,
            n,
          })),
        );
        await move.run('copy');
        expect(await verifyMove(move, { flags: options.flags ?? {} })).toMatchObject({ equal: true });
        const run = move.parts();
        let isDone = false;
        const said: string[] = [];
        const result = await runCutover(run, {
          ...CUTOVER,
          say: (text) => said.push(text),
          prove: async (signal, scope) => {
            const found = await compareForCutover(run, { deadlineMs: 60_000, signal, scope });
            if (found.equal === true && !isDone) {
              isDone = true;
              await does(move);
            }
            return found;
          },
        });
        const id = /new|do not have/.test(deed) ? '"new"' : '"o1"';
        const repaired = { documents: 1, byOthers: 1, ids: [id] };
        expect(result).toMatchObject({ phase: 'committed', repaired });
        expect(said.filter((text) => text.startsWith('another process has changed'))).toEqual([
          `another process has changed 1 document in the target after the comparison (${id}); repairing it`,
        ]);
        expect(move.ledger(({ journal }) => journal.commit()?.repaired)).toEqual(repaired);
        await move.admin.account({ replicaLagMs: 0 });
        expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
      },
    );
  },
);

test('cutover: another process writes new documents after each comparison -> no commit, and named as the reason', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  await move.run('copy');
  expect(await verifyMove(move)).toMatchObject({ equal: true });
  const run = move.parts();
  let [compared, resumed] = [0, 0];
  const cut = runCutover(run, {
    ...CUTOVER,
    deadlineMs: 6000,
    onAbort: async () => void (resumed += 1),
    prove: async (signal, scope) => {
      const found = await compareForCutover(run, { deadlineMs: 6000, signal, scope });
      compared += 1;
      if (found.equal === true)
        await move.target.items.create({ id: `new ${compared}`, customerId: 'x', tenantId: 'P' });
      return found;
    },
  });
  await expect(cut).rejects.toMatchObject({
    message: 'the cutover did not finish in time',
    why: expect.stringContaining('another process kept writing in the target') as string,
  });
  expect(resumed).toBe(1);
  expect(move.ledger(({ migration }) => migration.read().phase)).toBe('tailing');
});
