import { describe, expect, test } from 'vitest';
import { ask } from '../asking.ts';

/** Everything that a parse and a new JSON text would change. */
const ODD = String.raw`{ "big" : 9223372036854775807, "price":1.10, "minus":-0, "exp":1E+2,
  "esc":"\u0041\/\ud800", "__proto__":{"k":1}, "10":1,"9":2, "twice":1, "nested":{"b":{ "z":1 , "a":[1.0, 2.50] }},
  "tw\u0069ce":"last", "a b":true, "nil":null, "_ts":1700000000, "_rid":"abc==" }`;

describe('projection', () => {
  test.each([
    ['SELECT * FROM c', [ODD]],
    ['SELECT VALUE c FROM c', [ODD]],
    ['SELECT c FROM c', [`{"c":${ODD}}`]],
    ['SELECT x AS doc FROM c x', [`{"doc":${ODD}}`]],
    ['SELECT VALUE c.big FROM c', ['9223372036854775807']],
    ['SELECT c.price, c.minus, c.exp FROM c', ['{"price":1.10,"minus":-0,"exp":1E+2}']],
    ['SELECT VALUE c.esc FROM c', [String.raw`"\u0041\/\ud800"`]],
    ['SELECT c["__proto__"] FROM c', ['{"__proto__":{"k":1}}']],
    ['SELECT VALUE c["__proto__"].k FROM c', ['1']],
    ['SELECT VALUE c["10"] FROM c', ['1']],
    ['SELECT VALUE c.twice FROM c', ['"last"']],
    ['SELECT VALUE c.nested.b FROM c', ['{ "z":1 , "a":[1.0, 2.50] }']],
    ['SELECT c.nested.b.a FROM c', ['{"a":[1.0, 2.50]}']],
    ['SELECT c.nested.b.a[1] FROM c', ['{"$1":2.50}']],
    ['SELECT c.nested.b.a[1] AS second, c["a b"] FROM c', ['{"second":2.50,"a b":true}']],
    ['SELECT c._ts, c._rid FROM c', ['{"_ts":1700000000,"_rid":"abc=="}']],
    ['SELECT c.nil, c.missing FROM c', ['{"nil":null}']],
    ['SELECT c.missing FROM c', ['{}']],
    ['SELECT VALUE c.missing FROM c', []],
    ['SELECT VALUE undefined FROM c', []],
    ['SELECT VALUE c.nil FROM c', ['null']],
    ['SELECT 1 + 1, c.price, "x", LENGTH(c._rid) FROM c', ['{"$1":2,"price":1.10,"$2":"x","$3":5}']],
    ['SELECT c._ts + 1 AS next FROM c', ['{"next":1700000001}']],
    [
      'SELECT VALUE {"p": c.price, "none": c.missing, q: [c.minus, c.missing, 1]} FROM c',
      ['{"p":1.10,"q":[-0,1]}'],
    ],
    ['SELECT VALUE [] FROM c', ['[]']],
    ['SELECT VALUE {} FROM c', ['{}']],
    ['SELECT VALUE c.missing ?? c.price FROM c', ['1.10']],
    ['SELECT VALUE c["a b"] ? c.big : c.price FROM c', ['9223372036854775807']],
    [String.raw`SELECT VALUE {"\"": "\u0000\ud800"} FROM c`, [String.raw`{"\"":"\u0000\ud800"}`]],
    ['SELECT VALUE @p FROM c', ['{"__proto__":1}']],
  ])('%s -> %j', (query, expected) => {
    expect(ask(query, [ODD], { p: JSON.parse('{"__proto__":1}') as unknown })).toEqual(expected);
  });

  test('SELECT * or properties -> nothing is parsed', () => {
    const broken = '{"id":"1","n":1';
    expect(ask('SELECT * FROM c', [broken])).toEqual([broken]);
    expect(ask('SELECT VALUE c.id FROM c', [broken])).toEqual(['"1"']);
    expect(ask('SELECT VALUE COUNT(1) FROM c', [broken])).toEqual(['1']);
  });
});
