/** The oracle of the fault runs against situations made by hand: it must see each kind of wrong, and nothing else. */
import { describe, expect, test } from 'vitest';
import { bucketOf as ours } from '../../src/keys/filters/hash.ts';
import { membersOf } from './harness/migration/json.ts';
import { bucketOf } from './harness/migration/keys.ts';
import { judge, type OpenLetter, type Situation } from './harness/migration/oracle.ts';

type Scenario = Situation['scenario'];

const PLAIN: Scenario = {
  sourceKey: ['/pk'],
  key: { name: 'existing', partitionKey: ['/group'], derive: [] },
  missingKey: 'dead-letter',
  deletes: 'avad',
  ttl: 'none',
  defaultTtl: -1,
  uniqueKeys: false,
};
const DERIVED: Scenario = {
  ...PLAIN,
  key: {
    name: 'concat',
    partitionKey: ['/key'],
    derive: [{ path: '/key', parts: [{ path: '/group' }, ':', { path: '/user' }] }],
  },
};

/** As the service stores it. */
function stored(text: string, ts = 100): string {
  return `${text.slice(0, -1)},"_rid":"r","_self":"s","_etag":"\\"e\\"","_attachments":"a","_ts":${ts}}`;
}

const A7 = '{"id":"7","pk":"A","group":"P","n":1.10}';
const C7 = '{"id":"7","pk":"C","group":"P","n":9223372036854775807}';

interface Made {
  readonly scenario?: Partial<Scenario>;
  readonly source?: readonly string[];
  readonly target?: readonly string[];
  readonly letters?: readonly OpenLetter[];
  readonly strangers?: readonly string[];
  readonly versions?: Readonly<Record<string, readonly string[]>>;
}

function judged({
  scenario,
  source = [],
  target = [],
  letters = [],
  strangers = [],
  versions = {},
}: Made): string[] {
  return judge({
    scenario: { ...PLAIN, ...scenario },
    source: source.map((text) => stored(text)),
    target: target.map((text) => stored(text, 150)),
    letters,
    strangers,
    versions: new Map(Object.entries(versions).map(([identity, texts]) => [identity, new Set(texts)])),
  });
}

const STRANGER = '{"id":"7","group":"P","stranger":1}';

const letter = (reason: string, targetKey: readonly unknown[] | null = ['P'], key = 'C'): OpenLetter => ({
  identity: JSON.stringify(['7', key]),
  reason,
  targetKey,
});

describe('oracle: a correct migration -> no findings', () => {
  const large = `{"id":"7","pk":"C","group":"P","user":"u","pad":"${'y'.repeat(2 * 1024 * 1024)}"}`;
  test.each<[string, Made]>([
    ['with nothing at all', {}],
    ['where each document is where it belongs', { source: [A7], target: [A7] }],
    ['where a collision has a letter', { source: [A7, C7], target: [A7], letters: [letter('collision')] }],
    [
      'where a document without a key has a letter',
      { source: ['{"id":"7","pk":"C"}'], letters: [letter('missing-key', null)] },
    ],
    [
      'where a key was derived',
      {
        scenario: DERIVED,
        source: ['{"id":"7","pk":"A","group":"P","user":4}'],
        target: ['{"id":"7","pk":"A","group":"P","user":4,"key":"P:4"}'],
      },
    ],
    [
      'where something is in the way of a key, and an older version stays where it still belongs',
      {
        scenario: DERIVED,
        source: ['{"id":"7","pk":"C","group":"P","user":4,"key":"own"}'],
        target: ['{"id":"7","pk":"C","group":"P","user":4,"key":"P:4"}'],
        letters: [letter('key-conflict', ['P:4'])],
      },
    ],
    [
      'where no key was derived and none is needed',
      {
        scenario: { ...DERIVED, missingKey: 'keep' },
        source: ['{"id":"7","pk":"A","user":4}'],
        target: ['{"id":"7","pk":"A","user":4}'],
      },
    ],
    [
      'where the source key was overwritten and kept',
      {
        scenario: {
          key: {
            name: 'overlap',
            partitionKey: ['/pk'],
            derive: [{ path: '/pk', parts: [{ path: '/group' }] }],
            keepSourceKeyAs: '/oldPk',
          },
        },
        source: ['{"id":"7","pk":"A","group":"P"}'],
        target: ['{"id":"7","pk":"P","group":"P","oldPk":"A"}'],
      },
    ],
    [
      'where a document is gone and no feed reported it',
      { scenario: { deletes: 'reconcile' }, target: [A7], versions: { '["7","A"]': [A7] } },
    ],
    [
      'where the document that holds a slot is gone and no feed reported it',
      {
        scenario: { deletes: 'reconcile' },
        source: [C7],
        target: [A7],
        letters: [letter('collision')],
        versions: { '["7","A"]': [A7] },
      },
    ],
    [
      'where a mark says deleted',
      { scenario: { deletes: 'marker' }, source: ['{"id":"7","pk":"A","group":"P","isDeleted":true}'] },
    ],
    [
      'where a lifetime was rewritten',
      {
        scenario: { ttl: 'remaining' },
        source: ['{"id":"7","pk":"A","group":"P","ttl":1000}'],
        target: ['{"id":"7","pk":"A","group":"P","ttl":951}'],
      },
    ],
    [
      'where a unique value is taken',
      {
        scenario: { uniqueKeys: true },
        source: ['{"id":"7","pk":"A","group":"P","unique":1}', '{"id":"8","pk":"C","group":"P","unique":1}'],
        target: ['{"id":"7","pk":"A","group":"P","unique":1}'],
        letters: [{ ...letter('unique-key'), identity: '["8","C"]' }],
      },
    ],
    [
      'where a stranger is in the way',
      { source: [C7], target: [STRANGER], strangers: [STRANGER], letters: [letter('foreign-document')] },
    ],
    [
      'where a document is too large with its key',
      { scenario: DERIVED, source: [large], letters: [letter('too-large', ['P:u'])] },
    ],
  ])('%s', (_name, made) => {
    expect(judged(made)).toEqual([]);
  });
});

describe('oracle: a planted fault -> found', () => {
  const marked = '{"id":"7","pk":"A","group":"P","isDeleted":true}';
  test.each<[string, string, Made]>([
    ['a stranger who was driven out', 'which is gone', { source: [C7], target: [C7], strangers: [STRANGER] }],
    [
      'a stranger who was written over',
      'was changed',
      { target: [STRANGER.replace('"P"', '"P","n":1')], strangers: [STRANGER] },
    ],
    [
      'a letter for a stranger who never was',
      'no stranger',
      { source: [C7], letters: [letter('foreign-document')] },
    ],
    ['a lost document', 'is lost', { source: [A7] }],
    ['a resurrected one', 'is gone, and a copy is at', { target: [A7], versions: { '["7","A"]': [A7] } }],
    ['an invented one', 'was never written', { scenario: { deletes: 'reconcile' }, target: [A7] }],
    [
      'a version that never was',
      'is none of its versions',
      {
        scenario: { deletes: 'reconcile' },
        target: [A7],
        versions: { '["7","A"]': [C7.replace('"C"', '"A"')] },
      },
    ],
    ['a duplicate', 'and a copy is at', { source: [A7], target: [A7, A7.replace('"P"', '"Q"')] }],
    [
      'a duplicate of a deleted one',
      'is in the target 2 times',
      {
        scenario: { deletes: 'reconcile' },
        target: [A7, A7.replace('"P"', '"Q"')],
        versions: { '["7","A"]': [A7, A7.replace('"P"', '"Q"')] },
      },
    ],
    [
      'an old slot that was not left',
      'and a copy is at',
      { source: [A7], target: [A7.replace('"P"', '"Q"')] },
    ],
    ['a stale version', 'differs', { source: [A7], target: [A7.replace('1.10', '1.11')] }],
    [
      'a number that was parsed and printed',
      'differs',
      { source: [A7], target: [A7.replace('1.10', '1.1')] },
    ],
    [
      'a long integer that was rounded',
      'differs',
      { source: [C7], target: [C7.replace('9223372036854775807', '9223372036854775808')] },
    ],
    [
      'members in another order',
      'differs',
      { source: [A7], target: ['{"pk":"A","id":"7","group":"P","n":1.10}'] },
    ],
    ['a silent merge of two documents', 'is lost', { source: [A7, C7], target: [C7] }],
    [
      'a letter for a slot that no document holds',
      'no document holds',
      { source: [C7], letters: [letter('collision')] },
    ],
    [
      'a letter for a slot that its holder should have left',
      'no longer belongs to',
      { source: [A7.replace('"P"', '"Q"'), C7], target: [A7], letters: [letter('collision')] },
    ],
    [
      'a letter that should be closed',
      'is where it belongs',
      { source: [C7], target: [C7], letters: [letter('collision')] },
    ],
    ['a letter of a deleted document', 'is gone, and its letter', { letters: [letter('collision')] }],
    [
      'a letter for a key that has changed',
      'it speaks of',
      { source: [A7, C7], target: [A7], letters: [letter('collision', ['Q'])] },
    ],
    ['a letter without a reason', 'is a reason', { source: [C7], letters: [letter('bad-id')] }],
    [
      'a letter for a document that is not too large',
      'it has',
      { source: [C7], letters: [letter('too-large')] },
    ],
    ['a document without a key and without a letter', 'has no letter', { source: ['{"id":"7","pk":"C"}'] }],
    [
      'a stale copy of a document that has lost its key',
      'belongs nowhere',
      { source: ['{"id":"7","pk":"C"}'], target: [C7], letters: [letter('missing-key', null)] },
    ],
    [
      'an older version where it belongs no more, with something in the way',
      'belongs to',
      {
        scenario: DERIVED,
        source: ['{"id":"7","pk":"C","group":"Q","user":4,"key":"own"}'],
        target: ['{"id":"7","pk":"C","group":"P","user":4,"key":"P:4"}'],
        letters: [letter('key-conflict', ['Q:4'])],
      },
    ],
    [
      'a derived key that is missing',
      'has not "P:4"',
      {
        scenario: { ...DERIVED, key: { ...DERIVED.key, partitionKey: ['/group'] } },
        source: ['{"id":"7","pk":"A","group":"P","user":4}'],
        target: ['{"id":"7","pk":"A","group":"P","user":4}'],
      },
    ],
    [
      'a marked document that is still there',
      'a copy is at',
      {
        scenario: { deletes: 'marker' },
        source: [marked],
        target: [marked],
        versions: { '["7","A"]': [marked] },
      },
    ],
    [
      'a lifetime that began again',
      'too late',
      {
        scenario: { ttl: 'remaining' },
        source: ['{"id":"7","pk":"A","group":"P","ttl":1000}'],
        target: ['{"id":"7","pk":"A","group":"P","ttl":1000}'],
      },
    ],
    [
      'a unique value that no document has',
      'no document under its key',
      {
        scenario: { uniqueKeys: true },
        source: ['{"id":"7","pk":"C","group":"P","unique":1}'],
        letters: [letter('unique-key')],
      },
    ],
  ])('%s', (_name, words, made) => {
    expect(judged(made).join('\n')).toContain(words);
  });
});

test('oracle: hash buckets -> those that the documentation promises', () => {
  const values = [
    '',
    'a',
    'é€',
    'x'.repeat(15),
    'x'.repeat(16),
    'x'.repeat(200),
    0,
    -0,
    7,
    -1.5,
    1e21,
    null,
    true,
    false,
  ];
  for (const value of values) expect([value, bucketOf(value, 1000)]).toEqual([value, ours(value, 1000)]);
});

test('oracle: removed members -> cut as they are written', () => {
  const text = '{ "a" : 1.10 ,"\\u0062":{"c":[1, "}"]}, "":"\\"," , "__proto__":null}';
  expect(membersOf(text).map(({ name, text: value }) => `${name}=${value}`)).toEqual([
    'a=1.10',
    'b={"c":[1, "}"]}',
    '="\\","',
    '__proto__=null',
  ]);
});
