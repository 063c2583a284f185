/** A newer cosmig finds the ledgers of an older one in the middle of a way back. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/lib/sqlite/sqlite.ts';
import { keepTableSums } from '../../../src/lib/sqlite/table-sums.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { turnPath } from '../../../src/spec/turns/settings-of-turn.ts';
import { Move } from '../../helpers/migration/move.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { cosmig, typed } from '../../helpers/migration/typed.ts';

const FIRST = readFileSync(new URL('../../../migrations/ledger/0001_ledger.sql', import.meta.url), 'utf8');

/** Makes of a ledger what it was before migrations 0007 to 0009, without its tokens. */
function makeOlder(path: string): void {
  const database = openDatabase({ path });
  const tables = ['source_session_tokens', 'target_session_tokens'];
  for (const table of tables)
    database.exec(FIRST.slice(FIRST.indexOf(`CREATE TABLE ${table}`)).split(';')[0] ?? '');
  database.exec(`DROP INDEX segments_by_index; DROP INDEX dead_letters_discarded; DROP TABLE session_tokens;
    DELETE FROM table_sums WHERE name = 'session_tokens';
    UPDATE table_sums SET row_count = 0, sum = 0 WHERE name IN ('${tables.join("', '")}');
    DELETE FROM cosmig_schema WHERE number > 6`);
  keepTableSums(database);
  database.pragma('journal_mode = DELETE');
  database.close();
}

test('way back: the ledgers are those of an older cosmig -> upgraded by the commands of the way back', async () => {
  await using move = await Move.open({ settings: { avad: true } });
  const turns = new Turns(move);
  await move.put({ id: 'o', customerId: 'c', tenantId: 't' });
  await turns.run(0, 'copy');
  await turns.cutOver(0);
  const [first, second] = [move.ledgerPath, turnPath(move.ledgerPath, 1)];

  makeOlder(first);
  const begun = await cosmig(move, 'reverse', '--until-caught-up');
  expect([begun.code, begun.stderr]).toEqual([0, expect.anything()]);

  makeOlder(first);
  makeOlder(second);
  await move.target.items.create({ id: 'new', customerId: 'c', tenantId: 't' });
  const continued = await cosmig(move, 'reverse', '--until-caught-up');
  expect([continued.code, continued.stderr]).toEqual([0, expect.anything()]);
  expect(await move.documents(move.source)).toEqual(await move.documents(move.target));
  expect((await typed(move, 'status')).code).toBe(0);

  makeOlder(first);
  makeOlder(second);
  // What only reads cannot upgrade, and names the command that does.
  for (const command of [['dead-letters', 'list'], ['status']]) {
    const { code, stderr } = await typed(move, ...command);
    expect([command, code, stderr]).toEqual([
      command,
      7,
      expect.stringContaining('run cosmig reverse with this cosmig once'),
    ]);
  }
  const ended = await cosmig(move, 'finish', '--yes');
  expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('has ended for good')]);
  expect((await cosmig(move, 'finish')).stderr).toContain('the way back was ended at 20');
  expect(await typed(move, 'status')).toMatchObject({ code: 0 });
});

test('copy: the run before was killed while it made the ledger -> begins', async () => {
  await using move = await Move.open();
  await move.put({ id: 'o', customerId: 'c', tenantId: 't' });
  writeFileSync(move.ledgerPath, '');
  // Makes the tables before it finds no migration.
  expect(() => Ledger.openForOperator(move.ledgerPath)).toThrow('holds no migration yet');
  const copied = await cosmig(move, 'copy');
  expect([copied.code, copied.stderr]).toEqual([0, expect.anything()]);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
});
