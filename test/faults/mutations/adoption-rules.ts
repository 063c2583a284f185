/** The rules about targets that others have filled, each with the edit that takes it out and the test that must notice. */
import type { Rule } from './rule.ts';

export const ADOPTION_RULES: readonly Rule[] = [
  {
    name: 'adopts-without-yes',
    edits: [
      {
        file: 'src/engine/map/adopt-target.ts',
        find: 'if (!spec.acceptsWarnings) {',
        replace: 'if (spec.skipsIfRunning) {',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'nothing is written without --yes',
  },
  {
    name: 'live-ledger-pushed-aside',
    edits: [
      {
        file: 'src/engine/map/other-ledger.ts',
        find: 'if (!isRunning && !(existsSync(path) && Ledger.peek(path).ledgerName === found.ledger)) return;',
        replace: 'if (existsSync(path) || isRunning) return;',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'its mover still runs',
  },
  {
    name: 'reservation-of-the-lost-ledger-kept',
    edits: [
      {
        file: 'src/engine/map/adopt-target.ts',
        find: 'await reservation.takeOver(own);',
        replace: '',
      },
    ],
    test: 'test/integration/adopt/kinds.test.ts',
    by: 'the reservation names a ledger of another machine',
  },
  {
    name: 'map-takes-strangers-for-copies',
    edits: [
      {
        file: 'src/engine/map/map-rows.ts',
        find: 'if (this.#requiresSourceKey && !this.#placement.hasWholeKey) return false;',
        replace: '',
      },
    ],
    test: 'test/integration/adopt/kinds.test.ts',
    by: 'strangers are left',
  },
  {
    name: 'map-takes-any-key-for-that-of-a-copy',
    edits: [
      {
        file: 'src/engine/map/map-rows.ts',
        find: "return this.#rekey === undefined || this.#rekey.read(row, 0) !== 'refused';",
        replace: 'return true;',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'under derived keys',
  },
  {
    name: 'map-entries-not-seen',
    edits: [
      {
        file: 'src/engine/map/map-rows.ts',
        find: 'addScanned({ hashes, lsn: own,',
        replace: 'addScanned({ hashes, lsn: null,',
      },
      // The kernel maps nearly all documents. test/unit/engine/map compares it with what is mutated here.
      {
        file: 'src/engine/map/map-rows.ts',
        find: 'scan.mapRows(this.#asked, fenceLsn)',
        replace: 'undefined',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'copies that are right stay untouched',
  },
  {
    name: 'copy-leaves-out-what-differs',
    edits: [
      {
        file: 'src/engine/map/mapped-documents.ts',
        find: 'known.etag === null || known.etag.equals(this.#markOf(row))',
        replace: 'known.etag === null || this.#markOf(row).length > 0',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'only what is missing is created',
  },
  {
    name: 'copy-leaves-out-what-has-moved',
    edits: [
      {
        file: 'src/engine/map/mapped-documents.ts',
        find: 'known.slot?.equals(hashToBytes(hashes, 4)) !== true',
        replace: 'known.slot === null',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'each document ends where it belongs',
  },
  {
    name: 'marked-documents-of-the-map-stay',
    edits: [
      {
        file: 'src/engine/copy/copy-reader.ts',
        find: '|| mayHaveRow || this.#mapped?.has() === true',
        replace: '|| mayHaveRow',
      },
    ],
    test: 'test/integration/adopt/kinds.test.ts',
    by: 'marked documents leave the target',
  },
  {
    name: 'no-comparison-due-after-an-adoption',
    edits: [
      {
        file: 'src/engine/leases/anchor.ts',
        find: 'sweepPending: ledger.journal.adoption() !== null,',
        replace: 'sweepPending: false,',
      },
    ],
    test: 'test/integration/adopt/adopt.test.ts',
    by: 'each document ends where it belongs',
  },
  {
    name: 'repair-removes-strangers',
    edits: [
      {
        file: 'src/engine/letters/repair.ts',
        find: "if (await isStranger(context, identity)) return 'kept';",
        replace: '',
      },
    ],
    test: 'test/integration/adopt/kinds.test.ts',
    by: 'strangers are left',
  },
];
