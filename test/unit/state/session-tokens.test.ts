/** The session tokens of a ledger: one row for each side, of which nothing is lost when tokens come one by one. */
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/lib/sqlite/sqlite.ts';
import { keepTableSums, migrateWithSums } from '../../../src/lib/sqlite/table-sums.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { crashCopy, openLedger, temporaryFolder } from './making.ts';

const tokenOf = (range: number, lsn: number): { readonly rangeId: string; readonly token: string } => ({
  rangeId: String(range),
  token: `${range}:-1#${lsn}#3=${lsn - 1}`,
});

test('session tokens: some of a side are newer -> the others are kept, in this run and the next ones', () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const ledger = openLedger(path);
  ledger.units.commit([], { tokens: [tokenOf(0, 5), tokenOf(1, 6)], targetTokens: [tokenOf(0, 7)] });
  ledger.units.intend([], { tokens: [tokenOf(1, 8)] });
  expect([ledger.tokens.all(), ledger.targetTokens.all()]).toEqual([
    [tokenOf(0, 5), tokenOf(1, 8)],
    [tokenOf(0, 7)],
  ]);
  const after = crashCopy(path);
  ledger.close();
  using next = openLedger(after);
  next.units.commit([], { targetTokens: [tokenOf(10, 9)] });
  using reader = Ledger.openReadonly(after);
  expect([reader.tokens.all(), reader.targetTokens.all()]).toEqual([
    [tokenOf(0, 5), tokenOf(1, 8)],
    [tokenOf(0, 7), tokenOf(10, 9)],
  ]);
});

test('session tokens: a ledger with a row for each range -> one row for each side, with the same tokens', () => {
  const folder = temporaryFolder();
  const shipped = fileURLToPath(new URL('../../../migrations/ledger/', import.meta.url));
  mkdirSync(join(folder, 'shipped/ledger'), { recursive: true });
  for (const file of readdirSync(shipped).toSorted().slice(0, 6))
    cpSync(join(shipped, file), join(folder, 'shipped/ledger', file));
  const path = join(folder, 'ledger.db');
  const database = openDatabase({ path });
  migrateWithSums(database, 'ledger', pathToFileURL(join(folder, 'shipped/')));
  keepTableSums(database);
  const add = database.prepare('INSERT INTO source_session_tokens VALUES (@rangeId, @token)');
  for (const one of [tokenOf(0, 5), tokenOf(1, 6)]) add.run(one);
  database.close();
  using ledger = openLedger(path);
  expect([ledger.tokens.all(), ledger.targetTokens.all()]).toEqual([[tokenOf(0, 5), tokenOf(1, 6)], []]);
});
