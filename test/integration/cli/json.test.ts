import { expect, test } from 'vitest';
import { Move } from '../../helpers/move.ts';
import { PLACES, SPEC, typed } from '../../helpers/typed.ts';

/** An object with the kinds of its members in place of their values; a list has the kind of its first. */
function shapeOf(value: unknown): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, MAYBE[name] ?? shapeOf(member)]),
  );
}

/** It depends on the moment whether there is one. */
const MAYBE: Readonly<Record<string, string>> = { lagSeconds: 'number or null' };

const RANGE = { id: 'string', min: 'string', max: 'string', phase: 'string', documents: 'number' };
const ERROR = { code: 'string', message: 'string', hint: 'string' };
/** Of copy, tail and retry. */
const MOVED = {
  command: 'string',
  migration: 'string',
  phase: 'string',
  complete: 'boolean',
  documents: {
    read: 'number',
    written: 'number',
    deleted: 'number',
    moved: 'number',
    deadLettered: 'number',
  },
  ru: { source: 'number', target: 'number' },
  throttled: 'number',
  durationMs: 'number',
  lagSeconds: MAYBE['lagSeconds'],
  ranges: [RANGE],
};
const COMPARED = {
  command: 'string',
  migration: 'string',
  level: 'string',
  equal: 'boolean',
  source: { count: 'number' },
  target: { count: 'number' },
  differences: { missing: 'number', extra: 'number', different: 'number', wrongSlot: 'number' },
  inFlight: 'number',
  samples: [],
  ru: { source: 'number', target: 'number' },
  durationMs: 'number',
  complete: 'boolean',
};
const LETTER = {
  number: 'number',
  state: 'string',
  id: 'string',
  sourceKey: ['string'],
  targetKey: ['string'],
  reason: 'string',
  code: 'string',
  why: 'string',
  at: 'string',
  attempts: 'number',
};

test('every command prints one object of the shape it is documented with', async () => {
  await using move = await Move.open();
  const ask = async (line: string, ...flags: string[]): Promise<readonly [code: number, shape: unknown]> => {
    const { code, stdout, stderr } = await typed(move, ...line.split(' '), ...flags, '--json');
    for (const said of stderr.split('\n').slice(0, -1))
      expect(shapeOf(JSON.parse(said))).toBeTypeOf('object');
    const [object = '', ...rest] = stdout.split('\n');
    expect([line, rest]).toEqual([line, ['']]);
    return [code, shapeOf(JSON.parse(object))];
  };
  for (let n = 0; n < 20; n += 1)
    await move.put({ id: `o${n}`, customerId: `c${n % 7}`, tenantId: `t${n % 3}` });
  await move.put({ id: 'o1', customerId: 'other', tenantId: 't1' });

  const { command, migration, level, complete } = COMPARED;
  const unended = { command, migration, level, equal: 'null', complete, error: ERROR };
  expect(await ask('verify', ...SPEC)).toEqual([7, unended]);
  expect(await ask('copy', ...SPEC)).toEqual([3, { command: 'string', complete: 'boolean', error: ERROR }]);
  expect(await ask('copy --yes', ...SPEC)).toEqual([5, { ...MOVED, error: ERROR }]);
  expect(await ask('tail --until-caught-up', ...SPEC)).toEqual([5, { ...MOVED, error: ERROR }]);
  expect(await ask('dead-letters list')).toEqual([0, LETTER]);
  const shown = { command: 'string', migration: 'string', ...LETTER, waitsFor: 'string', next: 'string' };
  expect(await ask('dead-letters show 1')).toEqual([0, shown]);
  expect(await ask('dead-letters show 1 --document', ...PLACES)).toEqual([
    0,
    { ...shown, document: 'string' },
  ]);
  expect(await ask('dead-letters retry 1', ...SPEC)).toEqual([
    5,
    { ...MOVED, ranges: [], retried: 'number', closed: 'number', error: ERROR },
  ]);
  expect(await ask('dead-letters discard 1')).toEqual([
    0,
    { command: 'string', migration: 'string', discarded: 'number', deadLetters: { open: 'number' } },
  ]);
  expect(await ask('tail --until-caught-up', ...SPEC)).toEqual([0, MOVED]);

  expect(await ask('verify --level count', ...SPEC)).toMatchObject([0, COMPARED]);
  expect(await ask('verify', ...SPEC)).toMatchObject([0, COMPARED]);
  await move.target.item('o2', 't2').delete();
  const sample = { kind: 'string', id: 'string', sourceKey: ['string'], targetKey: ['string'] };
  expect(await ask('verify --fresh', ...SPEC)).toMatchObject([
    4,
    { ...COMPARED, samples: [sample], error: ERROR },
  ]);
  expect(await ask('verify --repair', ...SPEC)).toMatchObject([0, COMPARED]);

  expect(await ask('status')).toMatchObject([
    0,
    {
      migration: 'string',
      phase: 'string',
      source: 'string',
      target: 'string',
      partitionKey: ['string'],
      ranges: [RANGE],
      documents: MOVED.documents,
      deadLetters: { open: 'number' },
      deletes: 'string',
      lastRun: { command: 'string', pid: 'number', began: 'string', ended: 'string', outcome: 'string' },
      running: 'null',
    },
  ]);
  const cut = 'cutover --writers-stopped --quiet-for 1s --watch 1s';
  expect(await ask(cut, ...SPEC)).toMatchObject([
    0,
    { ...MOVED, ranges: expect.any(Array) as unknown[], stoppedMs: 'number', lateWrites: [] },
  ]);
  expect(await ask('key', '--partition-key', '/tenantId', `${move.ledgerPath}.json`)).toEqual([
    2,
    { command: 'string', complete: 'boolean', error: ERROR },
  ]);
}, 90_000);
