import { expect, test } from 'vitest';
import { readPlainYaml } from '../../../../src/spec/input/yaml-text.ts';

test.each([
  ['', null],
  ['# nothing', null],
  ['a: 1\nb: [x, "2", true, null, 1.5]', { a: 1, b: ['x', '2', true, null, 1.5] }],
  ['{"a": {"b": []}}', { a: { b: [] } }],
  ['text: |\n  SELECT *\n  FROM c', { text: 'SELECT *\nFROM c\n' }],
])('YAML %j -> plain values', (text, value) => {
  expect(readPlainYaml(text, 100)).toEqual({ value });
});

test('YAML with the name __proto__ -> a property like any other', () => {
  const read = readPlainYaml('__proto__: {a: 1}', 100);
  expect(Object.keys('value' in read ? Object(read.value) : {})).toEqual(['__proto__']);
});

test.each([
  ['a: &x 1\nb: *x', 2, 'it has an alias'],
  ['a: 1\na: 2', 2, 'this name occurs a second time'],
  ['a: !!js/function x', 1, 'it has a tag, and tags are not accepted'],
  ['a: "1', 1, 'a quote, a bracket or a colon is missing'],
  ['a: 1\n---\nb: 2', 2, 'a second document begins there'],
  ['['.repeat(101), null, 'it has more than 100 brackets, braces and dashes'],
])('YAML %j -> refused with line %s', (text, line, why) => {
  expect(readPlainYaml(text, 100)).toEqual({ line, why });
});

test('YAML nested as deeply as a workload file may be -> no overflow', () => {
  expect(readPlainYaml(`${'- '.repeat(4999)}x`, 5000)).toHaveProperty('why');
  expect(readPlainYaml('['.repeat(4999) + ']'.repeat(4999), 5000)).toHaveProperty('why');
});
