import { describe, expect, test } from 'vitest';
import { lex } from '../../../../../src/emulator/query/parse/lexer.ts';
import { refusalOf } from '../asking.ts';

function tokens(source: string): readonly string[] {
  const seen: string[] = [];
  for (const { kind, text } of lex(source)) {
    if (kind === 'end') return seen;
    seen.push(`${kind}:${text}`);
  }
  return seen;
}

describe('lex', () => {
  test.each([
    ['', []],
    [' \t\r\n ', []],
    ['-- only a comment', []],
    ['c -- a comment\r\n.a', ['name:c', 'symbol:.', 'name:a']],
    ['select SeLeCt selected', ['keyword:SELECT', 'keyword:SELECT', 'name:selected']],
    ['c._ts', ['name:c', 'symbol:.', 'name:_ts']],
    ['größe ключ', ['name:größe', 'name:ключ']],
    // U+FB00 grows to FF in capitals, which must not make OFFSET of it.
    ['oﬀset 1', ['name:oﬀset', 'number:1']],
    [
      '1 1.5 .5 1. 1e3 1E-2',
      ['number:1', 'number:1.5', 'number:.5', 'number:1.', 'number:1e3', 'number:1E-2'],
    ],
    ['@p @p_1', ['parameter:@p', 'parameter:@p_1']],
    [
      'a<=b<>c!=d>=e',
      'name:a symbol:<= name:b symbol:<> name:c symbol:!= name:d symbol:>= name:e'.split(' '),
    ],
    ['a??b?c:d||e', 'name:a symbol:?? name:b symbol:? name:c symbol:: name:d symbol:|| name:e'.split(' ')],
    [String.raw`'it\'s' "a\"b"`, [`string:it's`, 'string:a"b']],
    [`"it's" 'a"b'`, [`string:it's`, 'string:a"b']],
    [String.raw`'\b\f\n\r\t\/\\\u0041\ud83D'`, ['string:\b\f\n\r\t/\\A\ud83d']],
    [`''`, ['string:']],
    [`'-- not a comment'`, ['string:-- not a comment']],
  ])('%j -> its tokens', (source, expected) => {
    expect(tokens(source)).toEqual(expected);
  });

  test('several tokens -> each with its start', () => {
    const [first, second] = lex('  a\n  "b"');
    expect([first?.at, second?.at]).toEqual([2, 6]);
  });

  test.each([
    [`c.a = 'open`, 'position 6'],
    [`'open\\'`, 'position 0'],
    [String.raw`'\x'`, 'position 1'],
    [String.raw`'ab\u12'`, 'position 3'],
    ['a ; b', 'position 2'],
    ['a # b', 'position 2'],
    ['12abc', 'position 0'],
    ['1e999', 'position 0'],
    ['@', 'position 0'],
  ])('%j -> refused with its position', (source, place) => {
    expect(refusalOf(() => tokens(source))).toContain(place);
  });
});
