/** Two documents have no difference exactly if they mean the same. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimalOf, firstDifference, readCanonical } from '../../../src/documents/canonical.ts';
import { PageError } from '../../../src/documents/page-error.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyNumber, anyString } from './generate.ts';
import { draws } from '../../helpers/generated.ts';

function difference(
  a: string,
  b: string,
  omitted: ReadonlyArray<readonly string[]> = [],
): ReadonlyArray<string | number> | undefined {
  return firstDifference(readCanonical(Buffer.from(a), omitted), readCanonical(Buffer.from(b), omitted));
}

describe('comparison: equal documents -> no difference', () => {
  test.each([
    ['{"a":1,"b":2}', '{ "b" : 2.0 , "a" : 10e-1 }'],
    ['{"a":1.10}', '{"a":11e-1}'],
    ['{"a":-0}', '{"a":0.000e99999999999999999999}'],
    ['{"a":1e400}', '{"a":10e399}'],
    ['{"a":100}', '{"a":1E+2}'],
    ['{"a":"é\\/😀"}', '{"a":"\\u00e9/\\ud83d\\uDE00"}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"__proto__":{"x":1},"y":2}', '{"y":2,"\\u005f_proto__":{"x":1}}'],
    ['{"a":1,"_ts":5,"_etag":"x"}', '{"_rid":"r","a":1}'],
    ['{"2":1,"1":2}', '{"1":2,"2":1}'],
  ])('%s and %s', (a, b) => {
    expect(difference(a, b)).toBeUndefined();
    expect(difference(b, a)).toBeUndefined();
  });
});

describe('comparison: different documents -> the path of the first difference', () => {
  test.each([
    ['{"a":9223372036854775807}', '{"a":9223372036854775808}', ['a']],
    ['{"a":0.1}', '{"a":0.1000000000000000055511151231257827}', ['a']],
    ['{"a":1e400}', '{"a":1e401}', ['a']],
    ['{"a":5e-324}', '{"a":0}', ['a']],
    ['{"a":1}', '{"a":"1"}', ['a']],
    ['{"a":1}', '{"a":-1}', ['a']],
    ['{"a":null}', '{}', ['a']],
    ['{"a":false}', '{"a":null}', ['a']],
    ['{"a":"null"}', '{"a":null}', ['a']],
    ['{"a":[]}', '{"a":{}}', ['a']],
    ['{"a":[1,2]}', '{"a":[2,1]}', ['a', 0]],
    ['{"a":[1]}', '{"a":[1,2]}', ['a', 1]],
    ['{"a":[[1],2]}', '{"a":[[1,2]]}', ['a', 0, 1]],
    ['{"a":"\\ud800"}', '{"a":"\\ud801"}', ['a']],
    ['{"a":"\\ud800"}', '{"a":"\\ufffd"}', ['a']],
    ['{"a":"e\\u0301"}', '{"a":"é"}', ['a']],
    ['{"x":{"_ts":1}}', '{"x":{"_ts":2}}', ['x', '_ts']],
    ['{"_lsn":7,"a":1}', '{"a":1}', ['_lsn']],
    ['{"x":{"y":1}}', '{"x":{"y":1,"__proto__":2}}', ['x', '__proto__']],
    ['{"ab":"c"}', '{"a":"bc"}', ['ab']],
    ['{"a":1,"b":2}', '{"a":2,"b":1}', ['a']],
  ])('%s and %s', (a, b, path) => {
    expect(difference(b, a)).toBeDefined();
    expect(difference(a, b)).toEqual(path);
  });
});

/** The same document in another spelling: reversed members, rewritten texts and numbers, added spaces. */
function respell(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map((item) => respell(item)).join(' , ')} ]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, item]) => `${quote(name)} :\n${respell(item)}`);
    return `{${members.toReversed().join(' ,')}}`;
  }
  if (typeof value === 'string') return quote(value);
  return String(value);
}

function quote(text: string): string {
  const escapes = Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  );
  return `"${escapes.join('')}"`;
}

/** Numbers as texts, so that JSON.parse and JSON.stringify do not round them. */
function withNumbersAsTexts(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    token.startsWith('"') ? token : `{"#":"${decimalOf(token)}"}`,
  );
}

describe('any document', () => {
  test('comparison: a document in another spelling -> no difference', () => {
    fc.assert(
      fc.property(anyDocument, (json) => {
        const exact = withNumbersAsTexts(json);
        const again = respell(JSON.parse(exact));
        expect(difference(again, exact)).toBeUndefined();
      }),
    );
  });

  test('comparison: any two documents -> no difference exactly if they mean the same', () => {
    const normal = (json: string): string => {
      const sorted = (value: unknown): unknown => {
        if (typeof value !== 'object' || value === null) return value;
        if (Array.isArray(value)) return value.map(sorted);
        return Object.entries(value)
          .map(([name, item]) => [name, sorted(item)])
          .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
      };
      const { a } = JSON.parse(withNumbersAsTexts(`{"a":${json}}`)) as { a: unknown };
      return JSON.stringify(sorted(a));
    };
    const few = fc
      .oneof(anyNumber, anyString, anyDocument)
      .map((json) => ({ json: `{"a":${json}}`, inner: json }));
    fc.assert(
      fc.property(few, few, (a, b) => {
        const equal = normal(a.inner) === normal(b.inner);
        expect(difference(a.json, b.json) === undefined).toBe(equal);
      }),
      { numRuns: draws(3000) },
    );
  });
});

describe('numbers', () => {
  test('decimalOf: two numbers -> the same text exactly if they are equal', () => {
    const exact = (json: string): { digits: bigint; power: number } => {
      const [, mantissa = '', exponent = '0'] = /^([^eE]+)(?:[eE](.+))?$/.exec(json) ?? [];
      const [whole = '', fraction = ''] = mantissa.split('.');
      return { digits: BigInt(whole + fraction), power: Number(exponent) - fraction.length };
    };
    const isEqual = (a: string, b: string): boolean => {
      const [x, y] = [exact(a), exact(b)];
      const low = Math.min(x.power, y.power);
      return x.digits * 10n ** BigInt(x.power - low) === y.digits * 10n ** BigInt(y.power - low);
    };
    fc.assert(
      fc.property(anyNumber, anyNumber, (a, b) => {
        expect(decimalOf(a) === decimalOf(b)).toBe(isEqual(a, b));
      }),
      { numRuns: draws(3000) },
    );
  });
});

test('comparison: values at omitted paths -> not compared, and nothing else is left out', () => {
  const omitted = [['ttl'], ['a', 'pk']];
  const json = '{"a":{"x":1},"b":2}';
  expect(difference(json, '{"ttl":5,"a":{"pk":"k","x":1},"b":2}', omitted)).toBeUndefined();
  expect(difference(json, '{"ttl":5,"a":{"pk":"k","x":1},"b":{"ttl":2}}', omitted)).toEqual(['b']);
  expect(difference(json, '{"a":{"x":{"pk":1}},"b":2}', omitted)).toEqual(['a', 'x']);
});

test.each(['', '{', '{"a":01}', '{"a":"secret', '[1,]', '\ufeff{}'])(
  'readCanonical: invalid JSON %j -> refused without showing it',
  (json) => {
    const error: unknown = (() => {
      try {
        return readCanonical(Buffer.from(json));
      } catch (caught) {
        return caught;
      }
    })();
    expect(error).toBeInstanceOf(PageError);
    expect(String(error)).not.toContain('secret');
  },
);
