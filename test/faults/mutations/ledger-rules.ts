/** The rules of the ledger and the verify file: what keeps a damaged, older or doubly used file from being believed. */
import type { Rule } from './rule.ts';

const TABLE_SUMS = 'src/lib/sqlite/table-sums.ts';
const MARK = 'src/state/change-mark.ts';
const LEDGER_TEST = 'test/unit/state/ledger.test.ts';
const LOCK_TEST = 'test/integration/processes/ledger-lock.test.ts';
const DAMAGE_TEST = 'test/unit/state/damage.test.ts';
const STORE_TEST = 'test/unit/verify/store-damage.test.ts';

export const LEDGER_RULES: readonly Rule[] = [
  {
    name: 'table-sums-unchecked',
    edits: [{ file: TABLE_SUMS, find: 'if (isIntact !== 1)', replace: 'if (isIntact === 2)' }],
    test: DAMAGE_TEST,
    by: 'refused when it is opened',
  },
  {
    name: 'structure-unchecked',
    edits: [{ file: TABLE_SUMS, find: "if (found !== 'ok')", replace: "if (found === '')" }],
    test: DAMAGE_TEST,
    by: 'an index of SQLite that has lost its entries',
  },
  {
    name: 'tables-believed',
    edits: [{ file: TABLE_SUMS, find: '  checkTables(database, name);\n', replace: '' }],
    test: DAMAGE_TEST,
    by: 'a damaged rule of a table',
  },
  {
    name: 'last-numbers-believed',
    edits: [{ file: TABLE_SUMS, find: ' || found !== kept)', replace: ')' }],
    test: 'test/unit/lib/sqlite/table-sums.test.ts',
    by: 'by another program',
  },
  {
    name: 'replaced-rows-counted',
    edits: [
      {
        file: TABLE_SUMS,
        find: 'PRAGMA recursive_triggers = ON;',
        replace: 'PRAGMA recursive_triggers = OFF;',
      },
    ],
    test: 'test/unit/lib/sqlite/table-sums.test.ts',
    by: 'a row that another one replaces',
  },
  {
    name: 'upgraded-unchecked',
    edits: [
      {
        file: TABLE_SUMS,
        find: "if (hasTable(database, 'table_sums')) checkFile(database);",
        replace: '',
      },
    ],
    test: 'test/unit/lib/sqlite/table-sums.test.ts',
    by: 'a damaged file',
  },
  {
    name: 'upgraded-not-summed',
    edits: [{ file: TABLE_SUMS, find: '    sumAgain(database);\n', replace: '' }],
    test: 'test/unit/lib/sqlite/table-sums.test.ts',
    by: 'new columns, tables and rows',
  },
  {
    name: 'rows-believed',
    edits: [
      {
        file: TABLE_SUMS,
        find: 'if (checksum !== checksumOf(...values)) throw',
        replace: 'if (checksum === -1) throw',
      },
    ],
    test: LEDGER_TEST,
    by: 'LedgerError when it is read',
  },
  {
    name: 'lost-changes-unnoticed',
    edits: [{ file: MARK, find: 'if (changes > this.#changes) this.reset(changes);', replace: '' }],
    test: DAMAGE_TEST,
    by: 'the log of a killed run removed',
  },
  {
    name: 'lost-changes-forgotten',
    edits: [
      {
        file: MARK,
        find: 'if (recorded !== null && isAhead(recorded, database)) this.reset(UNREACHABLE);',
        replace: '',
      },
      {
        file: MARK,
        find: 'return this.#changes === UNREACHABLE;',
        replace: 'return this.#changes > this.#opened;',
      },
      {
        file: MARK,
        find: '  #changes: number;',
        replace: '  #changes: number;\n  readonly #opened: number;',
      },
      {
        file: MARK,
        find: '    this.#path = path;\n',
        replace: '    this.#path = path;\n    this.#opened = changeCount(database);\n',
      },
    ],
    test: DAMAGE_TEST,
    by: 'the log of a killed run removed',
  },
  {
    name: 'missing-log-believed',
    edits: [
      {
        file: 'src/state/ledger.ts',
        find: 'if (lacksLog) ledger.#mark.suspect();',
        replace: 'void lacksLog;',
      },
    ],
    test: DAMAGE_TEST,
    by: 'only the database of a killed run was copied',
  },
  {
    name: 'clean-end-suspected',
    edits: [{ file: 'src/lib/sqlite/file.ts', find: 'kind[0] === LOG_KIND.writeAhead', replace: 'true' }],
    test: DAMAGE_TEST,
    by: 'the database of a clean end was copied',
  },
  {
    name: 'older-proof-believed',
    edits: [
      { file: 'src/verify/store.ts', find: 'if (store.#mark.isAhead) store.#startAgain();', replace: '' },
    ],
    test: STORE_TEST,
    by: 'random damage',
  },
  {
    name: 'verify-file-unchecked',
    edits: [
      { file: TABLE_SUMS, find: '  checkFile(database);\n  keepTableSums', replace: '  keepTableSums' },
    ],
    test: STORE_TEST,
    by: 'changed by another program',
  },
  {
    name: 'lock-by-path',
    edits: [
      {
        file: 'src/state/lock.ts',
        find: 'return `${realPath(ledger)}-lock`;',
        replace: 'return `${ledger}-lock`;',
      },
    ],
    test: LOCK_TEST,
    by: 'the same lock, in any process',
  },
  {
    name: 'two-names',
    edits: [{ file: 'src/lib/sqlite/file.ts', find: 'stats.nlink > 1', replace: 'stats.nlink > 99' }],
    test: LOCK_TEST,
    by: 'a hard link',
  },
  {
    name: 'files-for-everyone',
    edits: [{ file: 'src/lib/sqlite/file.ts', find: 'OWNER_ONLY = 0o600', replace: 'OWNER_ONLY = 0o644' }],
    test: LEDGER_TEST,
    by: 'only the owner may read them',
  },
  {
    name: 'files-for-everyone-unmentioned',
    edits: [{ file: 'src/doctor/machine.ts', find: '& OTHERS) === 0', replace: '& OTHERS) < 512' }],
    test: 'test/integration/cli/doctor.test.ts',
    by: 'a ledger that other users may read',
  },
  {
    name: 'secrets-for-hooks',
    edits: [{ file: 'src/workflows/hooks.ts', find: '.filter(([name]) => !isSecret(name))', replace: '' }],
    test: 'test/integration/cutover/command/hooks.test.ts',
    by: 'no secret of cosmig',
  },
];
