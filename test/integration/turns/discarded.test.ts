/** Discarded dead letters before a cutover that keeps the source: only documents that are in the source alone forbid it. */
import { expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { Move } from '../../helpers/migration/move.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';

const CUTOVER = ['cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];
const order = (id: string, customerId: string) => ({ id, customerId, tenantId: 't' });

test('way back: discarded documents are gone from the source, or in the target, which no feed reports -> the cutover keeps the source', async () => {
  await using move = await Move.open();
  const { source, target } = move;
  const ids = ['o', 'p', 'q'];
  await move.put(...ids.flatMap((id) => [order(id, 'a'), order(id, 'b')]));
  expect((await cosmig(move, 'copy')).code).toBe(5);
  const all = ['--all', '--reason', 'collision', '--yes'];
  expect((await typed(move, 'dead-letters', 'discard', ...all)).code).toBe(0);
  const copies = (await target.items.readAll<{ id: string; customerId: string }>().fetchAll()).resources;
  const isA = (id: string): boolean => copies.find((copy) => copy.id === id)?.customerId === 'a';
  const [o = '', p = '', q = ''] = ids.map((id) => (isA(id) ? 'b' : 'a'));
  // Another program deletes the other document called q, and puts this one into its place.
  await source.item('q', isA('q') ? 'a' : 'b').delete();
  await target.items.upsert(order('q', q));
  expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  await source.item('o', o).delete();
  const refused = await cosmig(move, ...CUTOVER, '--keep-source-for', '1d');
  expect([refused.code, refused.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
    3,
    expect.stringContaining(
      `1 document is in the source, but not in the target, because its dead letter was discarded: "p" of ["${p}"] (collision)`,
    ),
  ]);

  await source.item('p', p).delete();
  {
    // No run looks at such a letter: the operator has to decide about what another process has changed.
    using ledger = Ledger.openForOperator(move.ledgerPath);
    const [letter] = [...ledger.letters.each('discarded')].filter(({ id }) => id === '"p"');
    if (letter === undefined) throw new Error('it was discarded');
    ledger.letters.change({ change: 'open', letter: { ...letter, reason: 'changed-by-others', slot: null } });
    expect(ledger.letters.discard(ledger.letters.newest(1)[0]?.number ?? 0, letter.atMs)).toBe(true);
  }
  const cut = await cosmig(move, ...CUTOVER, '--keep-source-for', '1d');
  expect([cut.code, cut.stderr]).toEqual([0, expect.anything()]);
});
