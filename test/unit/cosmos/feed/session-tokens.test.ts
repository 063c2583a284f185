import { expect, test } from 'vitest';
import { lsnOf, SessionTokens } from '../../../../src/cosmos/feed/session-tokens.ts';

test.each([
  ['0:-1#17', 17],
  ['3:1#9#4=8#5=7', 9],
  ['0:42', 42],
  ['0:-1#5,1:-1#9', 9],
  ['', undefined],
  ['nonsense', undefined],
  ['0:1#', undefined],
  [undefined, undefined],
])('lsnOf: %s -> %s', (token, lsn) => {
  expect(lsnOf(token)).toBe(lsn);
});

test.each([
  ['0:-1#5', '0:-1#7', '0:-1#7'],
  ['0:-1#7', '0:-1#5', '0:-1#7'],
  // A newer version counts alone: the account's regions have changed.
  ['0:1#900', '0:2#7', '0:2#7'],
  ['0:1#9#4=8#5=7', '0:1#8#4=9#6=1', '0:1#9#4=9#5=7#6=1'],
  ['0:-1#5', '1:-1#2', '0:-1#5,1:-1#2'],
  [undefined, '0:-1#5', '0:-1#5'],
  ['0:-1#5', undefined, '0:-1#5'],
])('two tokens: %s and %s -> the newest of both', (one, other, newest) => {
  const sessions = new SessionTokens();
  sessions.add(one);
  sessions.add(other);
  expect(
    sessions
      .takeNew()
      .map(({ token }) => token)
      .join(),
  ).toBe(newest);
});

test('a child range -> read with the tokens of its parents', () => {
  const sessions = new SessionTokens();
  sessions.add('0:-1#5');
  sessions.add('9:-1#1');
  const child = { id: '2', parents: ['0', '1'] };
  expect(sessions.of(child)).toBe('0:-1#5');
  sessions.add('2:-1#8');
  expect(sessions.of(child)).toBe('0:-1#5,2:-1#8');
  expect(sessions.of({ id: '7', parents: [] })).toBeUndefined();
});

test.each([
  ['0:-1#5', { id: '0', parents: [] }, 1, '0:-1#6', 6],
  ['0:1#9#4=8#5=7', { id: '0', parents: [] }, 4, '0:1#13#4=8#5=7', 13],
  // Its parents had come further than the child has reported.
  ['0:-1#50,1:-1#70,2:-1#8', { id: '2', parents: ['0', '1'] }, 1, '2:-1#71', 71],
  ['0:-1#50', { id: '2', parents: ['0'] }, 2, '2:-1#52', 52],
])('beyond: after %s, %j, %i more -> %s', (seen, range, more, token, lsn) => {
  const sessions = new SessionTokens();
  sessions.add(seen);
  expect(sessions.beyond(range, more)).toEqual({ token, lsn });
});

test('tokens that were taken -> taken again only when their range has come further', () => {
  const sessions = new SessionTokens();
  sessions.add('0:1#5#4=8,1:-1#9');
  expect(sessions.takeNew().map(({ rangeId }) => rangeId)).toEqual(['0', '1']);
  sessions.add('0:1#5#4=8');
  sessions.add('0:1#3#4=7,1:-1#9');
  expect(sessions.takeNew()).toEqual([]);
  sessions.add('0:1#5#4=9,1:-1#9');
  expect(sessions.takeNew()).toEqual([{ rangeId: '0', token: '0:1#5#4=9' }]);
  expect(sessions.of({ id: '1', parents: [] })).toBe('1:-1#9');
});
