/** Two documents have one canonical form exactly if they mean the same. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decimalOf,
  firstDifference,
  hashCanonical,
  readCanonical,
} from '../../../src/documents/canonical.ts';
import { hashText } from '../../../src/documents/identity.ts';
import { PageError } from '../../../src/documents/page-error.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyNumber, anyString } from './generate.ts';

function hashOf(json: string, omitted: ReadonlyArray<readonly string[]> = []): string {
  const out = new Uint32Array(4);
  hashCanonical(readCanonical(Buffer.from(json), omitted), out, 0);
  return hashText(out, 0);
}

function difference(a: string, b: string): ReadonlyArray<string | number> | undefined {
  return firstDifference(readCanonical(Buffer.from(a)), readCanonical(Buffer.from(b)));
}

describe('documents that mean the same', () => {
  test.each([
    ['{"a":1,"b":2}', '{ "b" : 2.0 , "a" : 10e-1 }'],
    ['{"a":1.10}', '{"a":11e-1}'],
    ['{"a":-0}', '{"a":0.000e99999999999999999999}'],
    ['{"a":1e400}', '{"a":10e399}'],
    ['{"a":100}', '{"a":1E+2}'],
    ['{"a":"é\\/😀"}', '{"a":"\\u00e9/\\ud83d\\uDE00"}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"__proto__":{"x":1},"y":2}', '{"y":2,"\\u005f_proto__":{"x":1}}'],
    ['{"a":1,"_ts":5,"_etag":"x"}', '{"_lsn":7,"a":1}'],
    ['{"2":1,"1":2}', '{"1":2,"2":1}'],
  ])('%s and %s', (a, b) => {
    expect(hashOf(a)).toBe(hashOf(b));
    expect(difference(a, b)).toBeUndefined();
  });
});

describe('documents that do not', () => {
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
    ['{"x":{"y":1}}', '{"x":{"y":1,"__proto__":2}}', ['x', '__proto__']],
    ['{"ab":"c"}', '{"a":"bc"}', ['ab']],
    ['{"a":1,"b":2}', '{"a":2,"b":1}', ['a']],
  ])('%s and %s', (a, b, path) => {
    expect(hashOf(a)).not.toBe(hashOf(b));
    expect(difference(a, b)).toEqual(path);
  });
});

/** The same document, spelled anew: members turned around, texts and numbers rewritten, spaces put in. */
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
  test('keeps its form when it is spelled anew', () => {
    fc.assert(
      fc.property(anyDocument, (json) => {
        const exact = withNumbersAsTexts(json);
        const again = respell(JSON.parse(exact));
        expect(hashOf(again)).toBe(hashOf(exact));
        expect(difference(again, exact)).toBeUndefined();
      }),
    );
  });

  test('two are equal by hash, by difference, and by what they mean, or by none of them', () => {
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
        expect(hashOf(a.json) === hashOf(b.json)).toBe(equal);
        expect(difference(a.json, b.json) === undefined).toBe(equal);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('numbers', () => {
  test('are the same decimal exactly if their quotient is one', () => {
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
      { numRuns: 3000 },
    );
  });
});

test('what is omitted is not compared, and nothing else is left out with it', () => {
  const omitted = [['ttl'], ['a', 'pk']];
  const hash = hashOf('{"a":{"x":1},"b":2}', omitted);
  expect(hashOf('{"ttl":5,"a":{"pk":"k","x":1},"b":2}', omitted)).toBe(hash);
  expect(hashOf('{"ttl":5,"a":{"pk":"k","x":1},"b":{"ttl":2}}', omitted)).not.toBe(hash);
  expect(hashOf('{"a":{"x":{"pk":1}},"b":2}', omitted)).not.toBe(hash);
});

test.each(['', '{', '{"a":01}', '{"a":"secret', '[1,]', '\ufeff{}'])(
  '%j is refused, and not quoted',
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
