import { expect, test } from 'vitest';
import {
  currentCandidate,
  kindOf,
  parseCandidate,
  planOf,
  refuseRepeated,
} from '../../../../src/plan/candidates/candidate.ts';

test.each([
  ['/tenantId', ['/tenantId'], []],
  ['/tenantId,/userId', ['/tenantId', '/userId'], []],
  ['/tenantId, /userId', ['/tenantId', '/userId'], []],
  ['/address/"zip, code"', ['/address/"zip, code"'], []],
  ['/pk={deviceId}-{createdAt|month}', ['/pk'], ['/pk={deviceId}-{createdAt|month}']],
  ["/pk={a|default:'x,y'},/userId", ['/pk', '/userId'], ["/pk={a|default:'x,y'}"]],
  ['/"a=b"', ['/"a=b"'], []],
])('%s -> its paths and templates', (key, paths, derive) => {
  expect(parseCandidate(key)).toEqual({ key, paths, derive, isCurrent: false, proposed: null });
});

test.each([
  ['', /an empty path/],
  ['tenantId', /begins with a slash|wrong at character 1/],
  ['/a,/b,/c,/d', /4 key paths are too many/],
  ['/pk={a', /\/pk=\{a is wrong at character/],
  ['/_ts', /cannot be a key path/],
  ['/a,/a', /twice/],
])('%j -> refused', (key, message) => {
  expect(() => parseCandidate(key)).toThrow(message);
});

test('the present key, or the same one twice -> refused', () => {
  const current = currentCandidate(['/tenantId']);
  expect(() => refuseRepeated([current, parseCandidate('/tenantId')])).toThrow('is the present key');
  expect(() => refuseRepeated([current, parseCandidate('/a'), parseCandidate('/a')])).toThrow(
    'is named twice',
  );
  refuseRepeated([current, parseCandidate('/a'), parseCandidate('/a,/b'), parseCandidate('/tenantId={a}')]);
});

test('the kind of hash -> as the present container has it, or as a new one would', () => {
  expect(kindOf(currentCandidate(['/a']), 'hash-v1')).toBe('hash-v1');
  expect(kindOf(parseCandidate('/a'), 'hash-v1')).toBe('hash-v2');
  expect(kindOf(parseCandidate('/a,/b'), 'hash-v2')).toBe('multi-hash');
});

test('a template that overwrites the source key -> refused when the source is known', () => {
  const candidate = parseCandidate('/tenantId={tenantId}-{id}');
  expect(() => planOf(candidate, ['/tenantId'])).toThrow('is the source key and cannot be overwritten');
});
