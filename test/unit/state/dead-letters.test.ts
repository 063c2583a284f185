import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { execIn } from '../../helpers/database-file.ts';
import type { Ledger } from '../../../src/state/ledger.ts';
import type { Letter, LetterChange } from '../../../src/state/dead-letters.ts';
import { hashOf, NOW_MS, openLedger, temporaryFolder } from './making.ts';

type Opened = Extract<LetterChange, { change: 'open' }>['letter'];

function letterOf(identity: string, letter: Partial<Opened> = {}): Opened {
  return {
    identity: hashOf(identity),
    reason: 'collision',
    code: '409',
    why: 'another document holds its slot',
    id: '"7"',
    sourceKey: '["A"]',
    targetKey: '["P"]',
    slot: hashOf('p'),
    waits: { for: 'slot', slot: hashOf('p') },
    atMs: NOW_MS,
    ...letter,
  };
}

function change(ledger: Ledger, ...letters: LetterChange[]): void {
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, letters }]);
}

function open(identity: string, letter: Partial<Opened> = {}): LetterChange {
  return { change: 'open', letter: letterOf(identity, letter) };
}

function numbersOf(letters: readonly Letter[]): number[] {
  return letters.map(({ number }) => number);
}

function fresh(): Ledger {
  return openLedger(join(temporaryFolder(), 'ledger.db'));
}

describe('dead letters', () => {
  test('an open letter is opened again -> keeps its number, and the ledger is intact', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    {
      using ledger = openLedger(path);
      change(ledger, open('a'), open('a'), open('a', { reason: 'unique-key' }), open('b'));
    }
    using ledger = openLedger(path);
    const listed = ledger.letters.list({ state: 'open', after: 0, limit: 10 });
    expect(numbersOf(listed)).toEqual([1, 2]);
    expect(listed[0]).toMatchObject({ reason: 'unique-key', attempts: 3 });
  });

  test('any letter -> read as written', () => {
    using ledger = fresh();
    const waits = { for: 'key', key: ['P', 7, null, undefined] } as const;
    change(ledger, open('a'), open('b', { reason: 'unique-key', waits }));
    change(
      ledger,
      open('c', { reason: 'missing-key', waits: { for: 'nothing' }, slot: null, targetKey: null }),
    );
    const listed = ledger.letters.list({ state: 'open', after: 0, limit: 10 });
    expect(listed).toEqual([
      { ...letterOf('a'), number: 1, state: 'open', attempts: 1 },
      { ...letterOf('b', { reason: 'unique-key', waits }), number: 2, state: 'open', attempts: 1 },
      {
        ...letterOf('c', { reason: 'missing-key', waits: { for: 'nothing' }, slot: null, targetKey: null }),
        number: 3,
        state: 'open',
        attempts: 1,
      },
    ]);
    expect(numbersOf(ledger.letters.list({ state: 'open', after: 1, limit: 1 }))).toEqual([2]);
    expect(ledger.letters.get(9)).toBeNull();
  });

  test('opened again -> one open letter with its age and its attempts', () => {
    using ledger = fresh();
    change(ledger, open('a'), open('b'));
    change(ledger, open('a', { reason: 'too-large', code: '413', waits: { for: 'nothing' } }));
    expect(ledger.letters.findOpen(hashOf('a'))).toMatchObject({
      number: 1,
      reason: 'too-large',
      attempts: 2,
    });
    expect(ledger.letters.openCount()).toBe(2);
  });

  test('closed or discarded -> kept as history', () => {
    using ledger = fresh();
    change(ledger, open('a'), open('b'), open('c'));
    change(ledger, { change: 'close', identity: hashOf('a'), atMs: NOW_MS + 1 });
    expect(ledger.letters.discard(2, NOW_MS + 2)).toBe(true);
    expect(ledger.letters.discard(2, NOW_MS + 3)).toBe(false);
    expect(ledger.letters.counts()).toEqual([
      { state: 'closed', reason: 'collision', letters: 1 },
      { state: 'discarded', reason: 'collision', letters: 1 },
      { state: 'open', reason: 'collision', letters: 1 },
    ]);
    // Closing what is not open is nothing; a closed document that fails again gets a new letter.
    change(ledger, { change: 'close', identity: hashOf('unknown'), atMs: NOW_MS }, open('a'));
    expect(ledger.letters.findOpen(hashOf('a'))).toMatchObject({ number: 4, attempts: 1 });
  });

  test('discard of a reason -> all of it, listed by number in any state', () => {
    using ledger = fresh();
    change(ledger, open('a'), open('b', { reason: 'too-large' }), open('c'), open('d'));
    change(ledger, { change: 'close', identity: hashOf('a'), atMs: NOW_MS });
    expect(ledger.letters.discardAll('collision', NOW_MS + 1)).toBe(2);
    expect(ledger.letters.discardAll('collision', NOW_MS + 2)).toBe(0);
    const listed = ledger.letters.list({ state: 'any', after: 0, limit: 10 });
    expect(listed.map(({ number, state, atMs }) => [number, state, atMs - NOW_MS])).toEqual([
      [1, 'closed', 0],
      [2, 'open', 0],
      [3, 'discarded', 1],
      [4, 'discarded', 1],
    ]);
    expect(numbersOf(ledger.letters.list({ state: 'any', after: 1, limit: 2 }))).toEqual([2, 3]);
  });

  test('several wait for a slot or a key value -> found in order', () => {
    using ledger = fresh();
    const key = { for: 'key', key: ['P'] } as const;
    change(ledger, open('a'), open('b'), open('c', { waits: { for: 'slot', slot: hashOf('q') } }));
    change(ledger, open('d', { waits: key }), open('e', { waits: key }));
    const { letters } = ledger;
    const slot = hashOf('p');
    expect(letters.nextForSlot({ slot, after: 0 })?.number).toBe(1);
    expect(letters.nextForSlot({ slot, after: 1 })?.number).toBe(2);
    expect(letters.nextForSlot({ slot, after: 2 })).toBeNull();
    expect(letters.nextForKey({ key: ['P'], after: 0 })?.number).toBe(4);
    expect(letters.nextForKey({ key: ['P'], after: 4 })?.number).toBe(5);
    expect(letters.nextForKey({ key: ['Q'], after: 0 })).toBeNull();
    change(ledger, { change: 'close', identity: hashOf('a'), atMs: NOW_MS });
    expect(letters.nextForSlot({ slot, after: 0 })?.number).toBe(2);
  });

  test.each(['id', 'source_key', 'target_key'])('a text that is not JSON as %s -> damage', (column) => {
    const path = join(temporaryFolder(), 'ledger.db');
    const ledger = openLedger(path);
    change(ledger, open('a'));
    execIn(path, `UPDATE dead_letters SET ${column} = '["A'`);
    expect(() => ledger.letters.get(1)).toThrow(/damaged/);
    ledger.close();
    expect(() => openLedger(path)).toThrow(/ledger\.db is damaged/);
  });
});
