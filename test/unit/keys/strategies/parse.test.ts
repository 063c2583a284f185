import { describe, expect, test } from 'vitest';
import { FILTERS, parseDerivation } from '../../../../src/keys/strategies/parse.ts';
import { complaint, derive, FILTER_HINT } from '../../../helpers/key-plan.ts';

const DOCUMENT = {
  id: 'o-1',
  n: 7,
  a: { b: { c: 'deep' }, 'b c': 'spaced', 'x.y': 'dotted' },
  'first name': 'Ada',
  'p|q}': 'odd',
};

describe('a template', () => {
  test.each([
    ['{id}', 'o-1'],
    ['{/id}', 'o-1'],
    ['{a.b.c}', 'deep'],
    ['{/a/b/c}', 'deep'],
    ['{a."b c"}', 'spaced'],
    ['{/a/"b c"}', 'spaced'],
    ['{a."x.y"}', 'dotted'],
    ['{/a/x.y}', 'dotted'],
    ['{"first name"}', 'Ada'],
    ['{"p|q}"}', 'odd'],
    ['{ id | upper }', 'O-1'],
    ['{id|slice:0:1|upper}', 'O'],
    ['{{', '{'],
    ['}}', '}'],
    ['{{{n}}}', '{7}'],
    ['{{n}}', '{n}'],
    ['constant', 'constant'],
    ['a=b&{id}', 'a=b&o-1'],
    ['{id}{id}', 'o-1o-1'],
    ['日本-{id}-🎉', '日本-o-1-🎉'],
    ['{x|default:"a|b}c"}', 'a|b}c'],
    [String.raw`{x|default:"say \"hi\""}`, 'say "hi"'],
    ['{x|default:""}', ''],
    ['{x|default:a:b }', 'a:b'],
    ['{ x | default:a b | upper }', 'A B'],
    ['{x|default:"a " }', 'a '],
    ['{ x | default:2024-05-06 | date:yyyy-MM }', '2024-05'],
    ['{ id | slice:0:1 }', 'o'],
  ])('%s -> %j', (template, expected) => {
    expect(derive(template, DOCUMENT)).toBe(expected);
  });

  test('a path in several places -> read once, in their order', () => {
    expect(parseDerivation('/pk={b}-{a.c}-{/b}').strategy.paths).toEqual([['b'], ['a', 'c']]);
    expect(parseDerivation('/"p=k"/"x y"=1').path).toEqual(['p=k', 'x y']);
  });
});

const TEMPLATE_HINT = "for example '/pk={tenantId}-{createdAt|month}'";
const BRACES_HINT = 'write {{ and }} for braces of the text itself';
const PATH_HINT = 'write a path like /tenantId, /address/zip or /a/"b c"';

describe('a mistake is reported with its position', () => {
  test.each([
    ['pk={a}', 1, 'it begins with the path to write', TEMPLATE_HINT],
    ['/pk', 4, 'an equals sign and a template follow the path', TEMPLATE_HINT],
    ['/pk=', 5, 'the template is empty', TEMPLATE_HINT],
    ['/=x', 2, 'a step has a name', PATH_HINT],
    ['/pk={', 5, 'this brace is never closed', BRACES_HINT],
    ['/pk={a', 5, 'this brace is never closed', BRACES_HINT],
    ['/pk={a|lower', 5, 'this brace is never closed', BRACES_HINT],
    ['/pk={}', 5, 'the braces are empty', BRACES_HINT],
    ['/pk=a}', 6, 'this brace closes nothing', BRACES_HINT],
    ['/pk={a}}', 8, 'this brace closes nothing', BRACES_HINT],
    ['/pk={a b}', 8, 'a bar or a closing brace is expected here', BRACES_HINT],
    ['/pk={a{b}', 7, 'a bar or a closing brace is expected here', BRACES_HINT],
    ['/pk={a..b}', 8, 'a step has a name', PATH_HINT],
    ['/pk={"a}', 6, 'this quote is never closed', PATH_HINT],
    ['/pk={a|}', 8, 'a filter is missing here', FILTER_HINT],
    ['/pk={a|uper}', 8, 'there is no filter uper', FILTER_HINT],
    ['/pk={a|lower|Month}', 14, 'there is no filter Month', FILTER_HINT],
    ['/pk={a|toString}', 8, 'there is no filter toString', FILTER_HINT],
    ['/pk={a|lower:x}', 8, 'lower takes nothing', 'for example lower'],
    ['/pk={a|month:2}', 8, 'month takes nothing', 'for example month'],
    ['/pk={a|slice}', 8, 'slice takes one or two whole numbers', 'for example slice:0:3'],
    ['/pk={a|slice:0:1:2}', 8, 'slice takes one or two whole numbers', 'for example slice:0:3'],
    ['/pk={a|slice:1.5}', 8, 'slice takes one or two whole numbers', 'for example slice:0:3'],
    ['/pk={a|hash}', 8, 'hash takes a whole number from 2 to 1000000', 'for example hash:400'],
    ['/pk={a|hash:1}', 8, 'hash takes a whole number from 2 to 1000000', 'for example hash:400'],
    ['/pk={a|hash:1000001}', 8, 'hash takes a whole number from 2 to 1000000', 'for example hash:400'],
    ['/pk={a|pad:0}', 8, 'pad takes a whole number from 1 to 64', 'for example pad:3'],
    ['/pk={a|pad:65}', 8, 'pad takes a whole number from 1 to 64', 'for example pad:3'],
    ['/pk={a|default}', 8, 'default takes a text; the empty one is default:""', 'for example default:x'],
    ['/pk={a|default:"x}', 16, 'this quote is never closed', BRACES_HINT],
    ['/pk={a|date}', 8, 'date takes a pattern of yyyy, MM, dd, HH, mm, ss, SSS', 'for example date:yyyy-MM'],
    [
      '/pk={a|date:YYYY-MM}',
      8,
      "date takes a pattern of yyyy, MM, dd, HH, mm, ss, SSS, and 'YYYY-' is none of them",
      'for example date:yyyy-MM',
    ],
  ])('%s -> refused at %i', (text, position, why, hint) => {
    expect(complaint(() => parseDerivation(text))).toEqual([
      `${text} is wrong at character ${position}`,
      why,
      hint,
    ]);
  });

  test('an empty text -> refused', () => {
    expect(complaint(() => parseDerivation(''))[0]).toBe('an empty derivation is wrong at character 1');
  });
});

test('template: the example of every filter -> valid', () => {
  for (const { example } of FILTERS) expect(parseDerivation(`/pk={x|${example}}`).path).toEqual(['pk']);
});
