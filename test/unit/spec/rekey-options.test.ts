import { expect, test } from 'vitest';
import { UsageError } from '../../../src/lib/errors.ts';
import { rekeyOptionsOf } from '../../../src/spec/rekey-options.ts';
import { KEY, load, WHOLE, type Flags } from './loading.ts';

const specOf = (flags: Flags = {}): Parameters<typeof rekeyOptionsOf>[0] =>
  load({ flags: { ...WHOLE, ...flags }, env: { COSMIG_SOURCE_KEY: KEY } }).spec;
const source = { keyPaths: ['/pk'], keyKind: 'hash-v2', defaultTtl: 60 } as const;

test.each([
  ['one level', {}, null, 'hash-v2'],
  ['several levels', { partitionKey: ['/a', '/b'] }, null, 'multi-hash'],
  ['a target that is there', {}, { keyKind: 'hash-v1', keyPaths: ['/pk'] }, 'hash-v1'],
] as const)(
  'the kind of the key: %s -> as the target has it, or by the number of levels',
  (_name, flags, target, kind) => {
    expect(rekeyOptionsOf(specOf(flags), source, target).kind).toBe(kind);
  },
);

test.each([
  ['hash-v1', 101, 'key'],
  ['hash-v1', 102, 'refused'],
  ['hash-v2', 102, 'key'],
  ['hash-v2', 2049, 'refused'],
] as const)('the longest key: %s, %i bytes -> %s', (keyKind, bytes, kind) => {
  const { plan } = rekeyOptionsOf(specOf(), source, { keyKind, keyPaths: ['/pk'] });
  expect(plan.compute(['x'.repeat(bytes)]).kind).toBe(kind);
});

test.each([
  [{}, 60, { mode: 'restart' }],
  [{ ttl: 'remaining' }, 60, { mode: 'remaining', defaultTtl: 60 }],
  [{ ttl: 'remaining' }, -1, { mode: 'remaining', defaultTtl: -1 }],
  [{ ttl: 'remaining' }, null, { mode: 'restart' }],
] as const)('the lifetime: %j, source with %j -> %j', (flags, defaultTtl, ttl) => {
  expect(rekeyOptionsOf(specOf(flags), { ...source, defaultTtl }, null).ttl).toEqual(ttl);
});

test('rekey options of a turn back -> the key of the document goes back, with the limit of its container', () => {
  const derived = { partitionKey: [], derive: '/tenant={a}' };
  const inTurn = (number: number): Parameters<typeof rekeyOptionsOf>[0] => ({
    ...specOf(derived),
    turn: { number, previous: '/before' },
  });
  const containers = {
    old: { keyPaths: ['/pk'], keyKind: 'hash-v1', defaultTtl: null },
    new: { keyPaths: ['/tenant'], keyKind: 'hash-v2', defaultTtl: null },
  } as const;
  const back = rekeyOptionsOf(inTurn(1), containers.new, containers.old);
  expect(back).toMatchObject({ kind: 'hash-v1', plan: { sourcePaths: [['tenant']], targetPaths: [['pk']] } });
  const keyOf = (pk: string): unknown => {
    const document: Record<string, string> = { a: 'x', tenant: 'x', pk };
    return back.plan.compute(back.plan.inputs.map(([name = '']) => document[name]));
  };
  expect(keyOf('y')).toMatchObject({ kind: 'key', values: ['y'] });
  expect(keyOf('y'.repeat(102))).toMatchObject({ kind: 'refused', reason: 'key-too-long' });
  const again = rekeyOptionsOf(inTurn(2), containers.old, containers.new);
  expect(again).toMatchObject({
    kind: 'hash-v2',
    plan: { sourcePaths: [['pk']], targetPaths: [['tenant']] },
  });
  expect(again.plan.presentPaths).toEqual([['tenant']]);
  expect([back.compared?.ignoresTtl, again.compared?.ignoresTtl]).toEqual([false, false]);
  const remaining = { ...specOf({ ttl: 'remaining' }), turn: { number: 1, previous: '/before' } };
  expect(rekeyOptionsOf(remaining, containers.new, containers.old).compared?.ignoresTtl).toBe(true);
});

test('rekey options: derived key replaces the source key -> refused unless it is kept', () => {
  const derived = { partitionKey: [], derive: '/pk={tenantId}' };
  expect(() => rekeyOptionsOf(specOf(derived), source, null)).toThrow(UsageError);
  const { plan } = rekeyOptionsOf(specOf({ ...derived, keepSourceKeyAs: '/old' }), source, null);
  expect(plan.sourcePathsInTarget).toEqual([['old']]);
});
