/** A target that another ledger or another tool has filled is adopted by a new ledger. */
import { renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Container } from '@azure/cosmos';
import type { RunParts, RunSnapshot } from '../../../src/engine/run.ts';
import type { CosmigError } from '../../../src/lib/errors.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';

const order = (n: number): Order => ({ id: `o${n}`, customerId: `c${n % 3}`, tenantId: `t${n % 2}`, n });
const orders = Array.from({ length: 60 }, (_, n) => order(n));
const AVAD = { settings: { avad: true } };

/** What `copy --adopt-target` does, with `--yes` or without. */
async function adopt(
  move: Move,
  { yes = true, ...parts }: Partial<RunParts> & { readonly yes?: boolean } = {},
): Promise<RunSnapshot> {
  return move.run('copy', { adoptsTarget: true, flags: { yes: [String(yes)] }, ...parts });
}

async function refusalOf(work: Promise<unknown>): Promise<CosmigError> {
  return work.then(
    () => expect.unreachable('it was not refused'),
    (error: unknown) => error as CosmigError,
  );
}

/** Loses the ledger: it is at another place, where nothing looks for it. */
function lose(move: Move): void {
  for (const end of ['', '-lock', '-mark'])
    renameSync(`${move.ledgerPath}${end}`, `${move.ledgerPath}.lost${end}`);
}

/** The documents of a side with their etags, which change with every write. */
async function versions(side: Container): Promise<string[]> {
  const { resources } = await side.items.readAll().fetchAll();
  return resources.map(({ id, _etag }) => `${id} ${_etag}`).toSorted();
}

test('the ledger is lost after the copy -> the counts are shown, nothing is written without --yes, and copies stay as they are', async () => {
  await using move = await Move.open(AVAD);
  await move.put(...orders);
  await move.run('copy');
  lose(move);
  const before = await versions(move.target);
  const refusal = await refusalOf(adopt(move, { yes: false }));
  expect(refusal).toMatchObject({
    exitCode: 3,
    message: 'the target shop/by-tenant has 60 documents that this ledger has not copied',
    details: { same: 60, different: 0, wrongSlot: 0, missing: 0, extra: 0, strangers: 0 },
  });
  expect(await versions(move.target)).toEqual(before);
  await adopt(move);
  expect(await versions(move.target)).toEqual(before);
  await move.put({ ...order(1), tenantId: 'moved' });
  await move.source.item('o2', 'c2').delete();
  await move.run('catch-up');
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
