/** Documents that cannot go back: those that are known before the writers are stopped, and those of the window. */
import { expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { Move } from '../../helpers/migration/move.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';

const SWITCH = ['--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s'];
const order = (id: string, customerId: string, more: object = {}) => ({
  id,
  customerId,
  tenantId: 't',
  ...more,
});

test('way back: dead letters were discarded -> each is named, and none that was corrected since', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const ids = Array.from({ length: 25 }, (_, n) => `o${n}`);
  // The second document of each id collides with the first.
  await move.put(...ids.flatMap((id) => [order(id, 'a'), order(id, 'b')]));
  expect((await cosmig(move, 'copy')).code).toBe(5);
  expect((await typed(move, 'dead-letters', 'discard', '--all', '--reason', 'collision', '--yes')).code).toBe(
    0,
  );
  expect((await cosmig(move, 'verify')).code).toBe(0);
  const cutover = ['cutover', ...SWITCH, '--keep-source-for', '7d'];
  const refused = await cosmig(move, ...cutover);
  expect([refused.code, refused.stderr]).toEqual([
    3,
    expect.stringMatching(/25 documents are in the source, but not in the target/),
  ]);
  expect(refused.stderr).not.toContain('the writers are stopped');
  expect(refused.stderr.match(/"o\d+" of \["[ab]"\] \(collision\)/g)).toHaveLength(20);
  expect(refused.stderr).toContain('and 5 more');

  const { resources } = await move.target.items.readAll<{ id: string; customerId: string }>().fetchAll();
  for (const { id, customerId } of resources.slice(1))
    await move.source.item(id, customerId === 'a' ? 'b' : 'a').delete();
  const [kept] = resources;
  const other = kept?.customerId === 'a' ? 'b' : 'a';
  const again = await cosmig(move, 'tail', '--until-caught-up');
  expect([again.code, again.stderr]).toEqual([0, expect.anything()]);
  const one = await cosmig(move, ...cutover);
  expect([one.code, one.stderr]).toEqual([
    3,
    expect.stringContaining('1 document is in the source, but not in the target'),
  ]);
  expect(one.stderr).toContain(`"${kept?.id}" of ["${other}"] (collision)`);
  await move.source
    .item(kept?.id ?? '', other)
    .replace({ ...order(kept?.id ?? '', other), tenantId: 'free' });
  expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  {
    // A cosmig that did not close such letters has left them discarded.
    using ledger = Ledger.openForOperator(move.ledgerPath);
    const [letter] = [...ledger.letters.each('closed')].filter(({ id }) => id === `"${kept?.id}"`);
    if (letter === undefined) throw new Error('it was closed when its document moved');
    ledger.letters.change({ change: 'open', letter: { ...letter, slot: null } });
    expect(ledger.letters.discard(ledger.letters.newest(1)[0]?.number ?? 0, letter.atMs)).toBe(true);
  }
  const cut = await cosmig(move, ...cutover);
  expect([cut.code, cut.stderr]).toEqual([0, expect.anything()]);
});

test('way back: documents of the window cannot go back -> dead letters by name, in the status, and no rollback', async () => {
  await using move = await Move.open({ settings: { avad: true, logicalPartitionLimitBytes: 300_000 } });
  const { source, target } = move;
  await move.put(order('o', 'a'));
  const turns = new Turns(move);
  await turns.run(0, 'copy');
  await turns.cutOver(0);
  const pad = 'x'.repeat(140_000);
  const full = ['1', '2', '3'].map((n) => ({ ...order(`full ${n}`, 'full', { pad }), tenantId: `t${n}` }));
  for (const one of full) await target.items.create(one);
  await target.items.create(order('long', 'k'.repeat(2049)));
  const keyless = { id: 'keyless', tenantId: 't' };
  await target.items.create(keyless);
  expect((await cosmig(move, 'reverse', '--until-caught-up')).code).toBe(5);
  expect(await move.documents(source)).toEqual(expect.arrayContaining([keyless]));

  const listed = await typed(move, 'dead-letters', 'list');
  expect(listed.stdout).toMatch(/partition-full +"full \d" /);
  expect(listed.stdout).toMatch(/key-too-long +"long" /);
  const status = (await typed(move, 'status')).stdout.replaceAll(/\s+/g, ' ');
  expect(status).toContain('dead letters 2 open (');
  expect(status).toContain('would be refused: 2 dead letters must be resolved');
  expect(status).toContain(
    'next cosmig reverse replicates what has changed since, and moves the document of a dead letter when you fix it in the target;',
  );
  expect((await cosmig(move, 'verify', '--reverse')).code).toBe(0);
  const refused = await cosmig(move, 'rollback', ...SWITCH);
  expect([refused.code, refused.stderr]).toEqual([
    3,
    expect.stringContaining('2 documents are not in the source'),
  ]);
  expect(refused.stderr).toContain('the application would miss their documents in the source');
  expect(refused.stdout).toMatch(/^phase +replicating back, stopped$/m);

  for (const { id, tenantId } of full.slice(1)) await target.item(id, tenantId).delete();
  await target.item('long', 't').replace(order('long', 'short'));
  expect((await cosmig(move, 'reverse', '--until-caught-up')).code).toBe(0);
  expect(await move.documents(source)).toEqual(await move.documents(target));
});

test('way back: an old key value is nearly full -> named with its size before the writers are stopped', async () => {
  await using move = await Move.open({ settings: { avad: true, logicalPartitionLimitBytes: 300_000 } });
  const pad = 'x'.repeat(77_000);
  const near = ['1', '2', '3'].map((n) => ({ ...order(`near ${n}`, 'near', { pad }), tenantId: `t${n}` }));
  await move.put(...near, order('far 1', 'far', { pad }), order('far 2', 'far', { pad }));
  expect((await cosmig(move, 'copy')).code).toBe(0);
  expect((await cosmig(move, 'verify')).code).toBe(0);
  const cut = await cosmig(move, 'cutover', ...SWITCH, '--keep-source-for', '7d');
  expect([cut.code, cut.stderr]).toEqual([
    0,
    expect.stringMatching(
      /a value of the old key is near 20 GB in the source, the most that it accepts: \["near"\] \(15\.\d GB\);/,
    ),
  ]);
  expect(cut.stderr).not.toContain('["far"]');
  // The source has no time to live, so none was paused.
  const events = move.ledger(({ journal }) => journal.lastCutover(100).map(({ event }) => event));
  expect(events).toContain('application switched');
  expect(events).not.toContain('ttl paused');
});
