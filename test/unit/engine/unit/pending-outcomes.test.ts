import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PendingOutcomes, type OpenLetter } from '../../../../src/engine/unit/pending-outcomes.ts';
import type { KeyComponent } from '../../../../src/epk/effective-key.ts';
import type { LetterChange } from '../../../../src/state/dead-letters.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import {
  beginLease,
  buildIndex,
  hashOf,
  intendPage,
  openLedger,
  rowOf,
  temporaryFolder,
  wordsOf,
} from '../../state/making.ts';

function begin(): { ledger: Ledger; memory: PendingOutcomes } {
  const ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  return { ledger, memory: new PendingOutcomes(ledger) };
}

const letterOf = (identity: string, slot: string): OpenLetter => ({
  identity: hashOf(identity),
  reason: 'collision',
  code: 'slot-taken',
  why: 'taken',
  id: JSON.stringify(identity),
  sourceKey: '["a"]',
  targetKey: '["P"]',
  slot: hashOf(slot),
  waits: { for: 'slot', slot: hashOf(slot) },
  atMs: 1,
});

describe('outcomes: a document', () => {
  test('several outcomes -> the newest counts, before and after the commit', () => {
    const { ledger, memory } = begin();
    using _ = ledger;
    const identity = hashOf('d');
    memory.touch(identity);
    memory.setRow(rowOf('d', 'P'));
    expect(memory.rowOf(identity, null)).toEqual(rowOf('d', 'P'));
    memory.touch(identity);
    memory.setRow(rowOf('d', 'Q'));
    // Both units commit what is newest; the first to let go leaves it in memory for the other.
    expect(memory.newest(identity).row).toEqual(rowOf('d', 'Q'));
    memory.letGo([identity], []);
    expect(memory.rowOf(identity, null)).toEqual(rowOf('d', 'Q'));
    memory.letGo([identity], []);
    expect(memory.rowOf(identity, null)).toBeNull();
  });

  test('an override before its commit -> voids earlier copies, and not later ones', () => {
    const { ledger, memory } = begin();
    using _ = ledger;
    const lease = beginLease(ledger);
    intendPage(ledger, { lease, documents: [{ identity: 'd', slot: 'P' }], position: '"1"' })();
    buildIndex(ledger, lease.indexId);
    expect(memory.rowOf(hashOf('d'), lease.indexId)?.slot).toEqual(hashOf('P'));
    const earlier = { identity: hashOf('d'), slot: hashOf('P'), sequence: 0 };
    memory.setOverride(earlier);
    expect(memory.rowOf(hashOf('d'), lease.indexId)).not.toBeNull();
    const later = { ...earlier, sequence: ledger.units.nextSequence() };
    memory.setOverride(later);
    expect(memory.rowOf(hashOf('d'), lease.indexId)).toBeNull();
    memory.letGo([], [earlier, later]);
    expect(memory.rowOf(hashOf('d'), lease.indexId)).not.toBeNull();
  });
});

test('outcomes: several units touched a document -> its attempts count once', () => {
  const { ledger, memory } = begin();
  using _ = ledger;
  const identity = hashOf('d');
  const commit = (): void => {
    const { letter } = memory.newest(identity);
    if (letter !== undefined)
      ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters: [letter] }]);
    memory.letGo([identity], []);
  };
  for (let unit = 0; unit < 3; unit += 1) memory.touch(identity);
  memory.setLetter(identity, { change: 'open', letter: letterOf('d', 'P') });
  commit();
  expect(ledger.letters.findOpen(identity)?.attempts).toBe(1);
  memory.setLetter(identity, { change: 'open', letter: letterOf('d', 'Q') });
  commit();
  commit();
  expect(ledger.letters.findOpen(identity)?.attempts).toBe(2);
  for (let unit = 0; unit < 2; unit += 1) memory.touch(identity);
  for (let n = 0; n < 3; n += 1) memory.setLetter(identity, { change: 'open', letter: letterOf('d', 'P') });
  commit();
  commit();
  expect(ledger.letters.findOpen(identity)?.attempts).toBe(5);
});

describe('outcomes: the letter that waits for a slot', () => {
  test('several letters -> the oldest open one that was not tried yet', () => {
    const { ledger, memory } = begin();
    using _ = ledger;
    const letters = [letterOf('old', 'P'), letterOf('other', 'Q'), letterOf('young', 'P')];
    ledger.units.commit([
      {
        unit: ledger.units.nextUnit(),
        move: null,
        letters: letters.map((letter) => ({ change: 'open', letter })),
      },
    ]);
    const next = (...tried: string[]): string | undefined =>
      memory.nextForSlot(hashOf('P'), new Set(tried.map((one) => hashOf(one).toString('latin1'))))?.id;
    expect([next(), next('old'), next('old', 'young')]).toEqual(['"old"', '"young"', undefined]);

    memory.touch(hashOf('old'));
    memory.setLetter(hashOf('old'), { change: 'close', identity: hashOf('old'), atMs: 2 });
    memory.touch(hashOf('new'));
    memory.setLetter(hashOf('new'), { change: 'open', letter: letterOf('new', 'P') });
    expect([next(), next('young')]).toEqual(['"young"', '"new"']);
    // It waits for another place now, and then it is committed.
    memory.setLetter(hashOf('new'), { change: 'open', letter: letterOf('new', 'Q') });
    expect([next('young'), memory.nextForSlot(hashOf('Q'), new Set())?.id]).toEqual([undefined, '"other"']);
    memory.letGo([hashOf('old'), hashOf('new')], []);
    expect(next()).toBe('"old"');
  });
});

test('outcomes: letters that wait for a target key value -> listed once each, by their newest state', () => {
  const { ledger, memory } = begin();
  using _ = ledger;
  const waiting = (identity: string, ...key: KeyComponent[]): LetterChange => ({
    change: 'open',
    letter: { ...letterOf(identity, 'x'), reason: 'unique-key', waits: { for: 'key', key } },
  });
  const names = (...key: KeyComponent[]): string[] => memory.waitingForKey(key).map(({ id }) => id);
  const letters = [waiting('stays', 'P'), waiting('goes', 'P'), waiting('closes', 'P'), waiting('far', 'Q')];
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters }]);
  const news = {
    stays: waiting('stays', 'P'),
    goes: waiting('goes', 'Q'),
    closes: { change: 'close', identity: hashOf('closes'), atMs: 2 },
    comes: waiting('comes', 'P'),
    one: waiting('one', 1),
    none: waiting('none', undefined),
  } as const;
  for (const [identity, letter] of Object.entries(news)) {
    memory.touch(hashOf(identity));
    memory.setLetter(hashOf(identity), letter);
  }
  expect(names('P')).toEqual(['"stays"', '"comes"']);
  expect(names('Q')).toEqual(['"far"', '"goes"']);
  expect([names(1), names(undefined), names('1'), names(null)]).toEqual([['"one"'], ['"none"'], [], []]);
});

test('row filter: a document with a row -> yes', () => {
  const { ledger, memory } = begin();
  using _ = ledger;
  expect(memory.filter.mayHave(wordsOf('d0'), 0)).toBe(false);
  for (let n = 0; n < 1000; n += 1) memory.filter.add(hashOf(`d${n}`));
  const known = Array.from({ length: 1000 }, (_row, n) => memory.filter.mayHave(wordsOf(`d${n}`), 0));
  expect(known.every(Boolean)).toBe(true);
  const strangers = Array.from({ length: 1000 }, (_row, n) => memory.filter.mayHave(wordsOf(`x${n}`), 0));
  expect(strangers.filter(Boolean).length).toBeLessThan(5);
});

test('row filter: rows of earlier runs -> included from the start', () => {
  const { ledger } = begin();
  using _ = ledger;
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, rows: [rowOf('d', 'P')] }]);
  const { filter } = new PendingOutcomes(ledger);
  expect([filter.mayHave(wordsOf('d'), 0), filter.mayHave(wordsOf('e'), 0)]).toEqual([true, false]);
});

test('row filter: after the copy -> no rows are read, and yes for every document', () => {
  const { ledger } = begin();
  using _ = ledger;
  const copying = beginLease(ledger);
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, rows: [rowOf('d', 'P')] }]);
  const answers = (): readonly boolean[] => {
    const { filter } = new PendingOutcomes(ledger);
    return [filter.mayHave(wordsOf('d'), 0), filter.mayHave(wordsOf('e'), 0)];
  };
  expect(answers()).toEqual([true, false]);
  ledger.leases.change(copying.number, { phase: 'tail' });
  expect(answers()).toEqual([true, true]);
});
