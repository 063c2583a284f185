/** A replace of a document that the ledger does not know shows that the document had another id before. */
import { expect, test } from 'vitest';
import type { Change } from '../../../../src/engine/apply/apply.ts';
import { Renames } from '../../../../src/engine/tail/renames.ts';
import type { LedgerRow } from '../../../../src/state/rows.ts';

/** The copy of the range has seen every document that changed after this LSN. */
const COPIED = 100;

const hashOf = (id: string): Buffer => Buffer.from(id.padEnd(16));

/** A change as text: `create B 105`, or `replace B 105 < 90` with the LSN of the version before. */
function changeOf(text: string): Change {
  const [as, id = '', lsn, , previous] = text.split(' ');
  return {
    identity: { hash: hashOf(id), name: [`"${id}"`, '"a"'] },
    version: as === 'delete' ? 'gone' : null,
    feed: 'AVAD',
    lsn: Number(lsn),
    indexId: 1,
    shown: {
      as: as as NonNullable<Change['shown']>['as'],
      previousLsn: previous === undefined ? null : Number(previous),
    },
  };
}

function rowOf(state: LedgerRow['state'], lsn: number | null, feed: LedgerRow['feed'] = 'AVAD'): LedgerRow {
  const nowhere = { slot: null, targetKey: null, etag: null, copyEtag: null };
  return { identity: hashOf('B'), state, ...nowhere, lsn, feed };
}

const ROWS: Readonly<Record<string, LedgerRow>> = {
  live: rowOf('live', 90, 'LV'),
  quarantined: rowOf('quarantined', 90, 'LV'),
  settled: rowOf('live', null),
  deleted: rowOf('tombstone', 104),
};

test.each<[name: string, row: string, pages: readonly (readonly string[])[], expected: readonly boolean[]]>([
  ['a known document', 'live', [['replace B 105 < 90']], [false]],
  ['a known document, missed versions', 'live', [['replace B 120 < 110']], [false]],
  ['a document with a letter', 'quarantined', [['replace B 105 < 90']], [false]],
  ['an unknown document', 'none', [['replace B 105 < 90']], [true]],
  ['an unknown document, no LSN before', 'none', [['replace B 105']], [true]],
  ['an unknown document is created', 'none', [['create B 105']], [false]],
  ['changed while the range was copied', 'none', [['replace B 100 < 90']], [false]],
  ['created on the same page', 'none', [['create B 105', 'replace B 106 < 105']], [false]],
  ['created on a page in flight', 'none', [['create B 105'], ['replace B 106 < 105']], [false, false]],
  ['created while the range was copied', 'none', [['create B 99'], ['replace B 106 < 99']], [false, false]],
  ['created after another one was renamed', 'none', [['create C 105', 'replace B 106 < 90']], [true]],
  ['changed again', 'none', [['replace B 105 < 90'], ['replace B 106 < 105']], [true, false]],
  ['deleted on a page in flight', 'live', [['delete B 105 < 90'], ['replace B 106 < 90']], [false, true]],
  [
    'deleted and created in flight',
    'live',
    [['delete B 105', 'create B 106'], ['replace B 107']],
    [false, false],
  ],
  [
    'returned in one transaction',
    'live',
    [['create B 105', 'delete B 105 < 90'], ['replace B 106']],
    [false, false],
  ],
  ['deleted before', 'deleted', [['replace B 105 < 103']], [true]],
  ['deleted before, and the other id has changed since', 'deleted', [['replace B 110 < 108']], [false]],
  ['deleted before, and shown again', 'deleted', [['replace B 103 < 90']], [false]],
  ['lost its slot to another', 'deleted', [['replace B 105 < 104']], [false]],
  ['settled after a crash', 'settled', [['replace B 105 < 90']], [true]],
  ['two versions in one transaction', 'none', [['replace B 105 < 105', 'create B 105']], [false]],
])('renames: %s -> suspected or not', (_name, row, pages, expected) => {
  const renames = new Renames({ rowOf: () => ROWS[row] ?? null }, COPIED);
  expect(pages.map((page) => renames.see(page.map(changeOf)))).toEqual(expected);
});

test('renames: pages are committed -> the ledger decides', () => {
  let row: LedgerRow | null = null;
  const renames = new Renames({ rowOf: () => row }, COPIED);
  const pages = [['create B 105', 'replace B 106 < 105'], ['replace B 107 < 106']].map((page) =>
    page.map(changeOf),
  );
  for (const page of pages) expect(renames.see(page)).toBe(false);
  renames.forget(pages[0] ?? []);
  expect(renames.see([changeOf('replace B 108 < 107')])).toBe(false);
  renames.forget(pages[1] ?? []);
  renames.forget([changeOf('replace B 108 < 107')]);
  expect(renames.see([changeOf('replace B 109 < 108')])).toBe(true);
  row = rowOf('live', 109);
  renames.forget([changeOf('replace B 109 < 108')]);
  expect(renames.see([changeOf('replace B 110 < 109')])).toBe(false);
});

test('renames: a latest version -> says nothing', () => {
  const renames = new Renames({ rowOf: () => null }, COPIED);
  const { shown: _shown, ...change } = changeOf('replace B 105 < 90');
  expect(renames.see([{ ...change, feed: 'LV' }])).toBe(false);
  renames.forget([{ ...change, feed: 'LV' }]);
});
