/** The target document: nothing of the source changes but what is cut, added or replaced. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatchBody } from '../../../src/documents/batch-body.ts';
import { ByteOutput } from '../../../src/documents/byte-output.ts';
import type { Scalar } from '../../../src/documents/scalar.ts';
import { latestVersionScan } from '../../../src/documents/page-scan.ts';
import { SYSTEM_PROPERTIES } from '../../../src/documents/system-properties.ts';
import { Adder, Edits, spliceDocument } from '../../../src/documents/splice.ts';
import type { AddedPath, OnPresent } from '../../../src/documents/splice.ts';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';
import type { Member } from '../../../src/emulator/json/json-text.ts';
import { membersOf as listMembers } from '../../../src/emulator/json/json-text.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyText } from './generate.ts';
import { draws } from '../../helpers/generated.ts';

const PATHS = [['pk'], ['a', 'b'], ['a', 'c/d', 'Zoë'], ['ttl']];
const scan = latestVersionScan(PATHS);
const out = new ByteOutput(4);

/** The row's document after the edits. */
function spliced(json: string, edits?: (row: number) => Edits | undefined): string {
  scan.scan(Buffer.from(`{"Documents":[{}, ${json} ]}`));
  const planned = edits?.(1);
  out.clear();
  spliceDocument(out, scan, 1, planned);
  return out.view().toString();
}

const membersOf = (text: string): Member[] => [...listMembers(text, 0)];
const isSystem = (name: string): boolean => SYSTEM_PROPERTIES.includes(name);

describe('a document without edits', () => {
  test('any document -> every member that is not a system property, byte for byte and in order', () => {
    fc.assert(
      fc.property(anyDocument, (json) => {
        const kept = (text: string): string[] =>
          membersOf(text)
            .filter(({ name }) => !isSystem(name))
            .map(({ start, end }) => text.slice(start, end));
        const result = spliced(json);
        expect(membersOf(result).map(({ start, end }) => result.slice(start, end))).toEqual(kept(json));
        const isUntouched = !membersOf(json).some(({ name }) => isSystem(name));
        expect(result === json).toBe(isUntouched);
      }),
      { numRuns: draws(2000) },
    );
  });

  test.each([
    ['{"_ts":1}', '{}'],
    ['{"_ts":1,"_etag":"x","_lsn":2}', '{}'],
    ['{"a":1,"_ts":1}', '{"a":1}'],
    ['{"_ts":1,"a":1}', '{"a":1}'],
    ['{"_ts":1,"a":1,"_rid":"","b":2,"_lsn":3}', '{"a":1,"b":2}'],
    ['{ "a" : 1 , "_ts" : 1 , "b" : 2 }', '{ "a" : 1 , "b" : 2 }'],
    ['{"_ts":{"_ts":[1,{"_ts":2}]},"x":{"_ts":1}}', '{"x":{"_ts":1}}'],
    ['{"\\u005fts":1,"_t\\u0073":2,"_own":3,"_tsx":4,"":5}', '{"_own":3,"_tsx":4,"":5}'],
    ['{"_ts":1,"_ts":2,"a":{},"_ts":3,"a":9223372036854775807}', '{"a":{},"a":9223372036854775807}'],
    [
      '{"n":[1.10,-0,1e400,5e-324,"\\ud800"],"_attachments":"attachments/"}',
      '{"n":[1.10,-0,1e400,5e-324,"\\ud800"]}',
    ],
    ['{"__proto__":{"_ts":1},"_self":"dbs/"}', '{"__proto__":{"_ts":1}}'],
  ])('%s -> %s', (source, target) => {
    expect(spliced(source)).toBe(target);
  });
});

/** JSON with members in the order of their names. */
function sortedText(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1));
  });
}

function addTo(json: string, added: readonly AddedPath[], values: ReadonlyArray<Scalar | undefined>): string {
  const adder = new Adder(scan, added);
  const edits = new Edits();
  let conflict: readonly string[] | undefined;
  const result = spliced(json, (row) => {
    conflict = adder.plan(row, values, edits);
    return edits;
  });
  return conflict === undefined ? result : `conflict at ${conflict.join('/')}`;
}

const keep = (path: readonly string[]): AddedPath => ({ path, onPresent: 'keep' });

describe('a property that is added', () => {
  const pk = keep(['pk']);
  const b = keep(['a', 'b']);
  const deep = keep(['a', 'c/d', 'Zoë']);
  const cases: ReadonlyArray<[string, readonly AddedPath[], ReadonlyArray<Scalar | undefined>, string]> = [
    ['{}', [pk], ['k'], '{"pk":"k"}'],
    ['{ }', [pk], [null], '{ "pk":null}'],
    ['{"_ts":1}', [pk], ['k'], '{"pk":"k"}'],
    ['{ "_ts" : 1 }', [pk], ['k'], '{"pk":"k"}'],
    ['{"x":1,"_ts":1}', [pk], [true], '{"x":1,"pk":true}'],
    ['{"_ts":1,"x":1}', [pk], [1.5], '{"x":1,"pk":1.5}'],
    ['{"x":1}', [pk], ['"\\\u0001é\ud800'], '{"x":1,"pk":"\\"\\\\\\u0001é\\ud800"}'],
    ['{"x":1}', [pk, b, deep], ['k', 1, 2], '{"x":1,"pk":"k","a":{"b":1,"c/d":{"Zoë":2}}}'],
    ['{"a":{}}', [b, deep], [1, 2], '{"a":{"b":1,"c/d":{"Zoë":2}}}'],
    ['{"a":{ "z":0 },"_ts":1}', [b, deep, pk], [1, undefined, 'k'], '{"a":{ "z":0 ,"b":1},"pk":"k"}'],
    ['{"a":{"c/d":{"y":0}},"x":0}', [deep, pk], [2, 'k'], '{"a":{"c/d":{"y":0,"Zoë":2}},"x":0,"pk":"k"}'],
    ['{"a":{"_ts":1}}', [b], [1], '{"a":{"_ts":1,"b":1}}'],
    // There already.
    ['{"pk":"\\u006b"}', [pk], ['k'], '{"pk":"\\u006b"}'],
    ['{"pk":1.0}', [pk], [1], '{"pk":1.0}'],
    ['{"pk":-0}', [pk], [0], '{"pk":-0}'],
    ['{"pk":null,"x":1}', [pk], [null], '{"pk":null,"x":1}'],
    ['{"pk":2,"pk":"k"}', [pk], ['k'], '{"pk":2,"pk":"k"}'],
    // Another value, or none to add: the document would read as another key.
    ['{"pk":"l"}', [pk], ['k'], 'conflict at pk'],
    ['{"pk":"1"}', [pk], [1], 'conflict at pk'],
    ['{"pk":"k","pk":2}', [pk], ['k'], 'conflict at pk'],
    ['{"pk":{}}', [pk], ['k'], 'conflict at pk'],
    ['{"pk":["k"]}', [pk], ['k'], 'conflict at pk'],
    ['{"pk":"k"}', [pk], [undefined], 'conflict at pk'],
    ['{"a":{"b":2}}', [b], [1], 'conflict at a/b'],
    ['{"a":5}', [b], [1], 'conflict at a/b'],
    ['{"a":[{"b":1}]}', [b], [1], 'conflict at a/b'],
    ['{"a":{"b":1},"a":null}', [b], [1], 'conflict at a/b'],
    // Nothing to add where nothing can be added.
    ['{"a":5}', [b, pk], [undefined, 'k'], '{"a":5,"pk":"k"}'],
    ['{"a":5}', [b], [undefined], '{"a":5}'],
    ['{"a":5,"a":{}}', [b], [1], '{"a":5,"a":{"b":1}}'],
  ];
  test.each(cases)('%s, %j added, %j -> %s', (source, added, values, target) => {
    expect(addTo(source, added, values)).toBe(target);
  });

  const replace = (path: readonly string[], onPresent: OnPresent): AddedPath => ({ path, onPresent });
  const replacing: ReadonlyArray<[string, readonly AddedPath[], ReadonlyArray<Scalar | undefined>, string]> =
    [
      ['{"pk":"l","x":1}', [replace(['pk'], 'replace')], ['k'], '{"pk":"k","x":1}'],
      ['{"pk":{"y":1}}', [replace(['pk'], 'replace')], ['k'], '{"pk":"k"}'],
      ['{"x":1,"pk":"l"}', [replace(['pk'], 'replace')], [undefined], 'conflict at pk'],
      ['{"x":1}', [replace(['pk'], 'replace')], ['k'], '{"x":1,"pk":"k"}'],
      ['{"pk":1,"pk":2}', [replace(['pk'], 'replace')], [3], '{"pk":1,"pk":3}'],
      ['{"ttl":60,"_ts":1}', [replace(['ttl'], 'replace-or-leave')], [42], '{"ttl":42}'],
      ['{"ttl":-1,"_ts":1}', [replace(['ttl'], 'replace-or-leave')], [undefined], '{"ttl":-1}'],
      ['{"_ts":1}', [pk, replace(['ttl'], 'replace-or-leave')], ['k', 42], '{"pk":"k","ttl":42}'],
      ['{"pk":"l"}', [replace(['pk'], 'replace'), b], ['k', 'l'], '{"pk":"k","a":{"b":"l"}}'],
      [
        '{"a":{"b":1},"ttl":2,"pk":3}',
        [replace(['pk'], 'replace'), replace(['a', 'b'], 'replace'), replace(['ttl'], 'replace')],
        [6, 4, 5],
        '{"a":{"b":4},"ttl":5,"pk":6}',
      ],
    ];
  test.each(replacing)('%s, %j that may replace, %j -> %s', (source, added, values, target) => {
    expect(addTo(source, added, values)).toBe(target);
  });

  test('any document -> the property is in the target, and nothing else is new', () => {
    const value = fc.oneof(anyText, fc.integer(), fc.boolean(), fc.constant(null));
    fc.assert(
      fc.property(anyDocument, value, value, (json, first, second) => {
        const added = [pk, b, deep];
        const result = addTo(json, added, [first, second, undefined]);
        const source = JSON.parse(json) as Record<string, unknown>;
        for (const name of SYSTEM_PROPERTIES) delete source[name];
        const sourceA = source['a'];
        const isOpen = typeof sourceA === 'object' && sourceA !== null && !Array.isArray(sourceA);
        const inA = isOpen ? (sourceA as Record<string, unknown>) : {};
        const isTaken = (holder: Record<string, unknown>, name: string, value: unknown): boolean =>
          Object.hasOwn(holder, name) && holder[name] !== value;
        const cd = inA['c/d'] as Record<string, unknown> | null | undefined;
        const conflicts =
          isTaken(source, 'pk', first) ||
          (Object.hasOwn(source, 'a') && !isOpen) ||
          isTaken(inA, 'b', second) ||
          (typeof cd === 'object' && cd !== null && !Array.isArray(cd) && Object.hasOwn(cd, 'Zoë'));
        expect(result.startsWith('conflict')).toBe(conflicts);
        // The target is the source with the two put in; where they are new, they stand last.
        const expected = { ...source, pk: first, a: { ...inA, b: second } };
        const target: unknown = conflicts ? expected : JSON.parse(result);
        expect(sortedText(target)).toBe(sortedText(expected));
      }),
      { numRuns: draws(2000) },
    );
  });
});

describe('the body of a batch', () => {
  const keys: ReadonlyArray<[readonly KeyComponent[], unknown[]]> = [
    [['a'], ['a']],
    [[''], ['']],
    [
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ],
    [[undefined], [{}]],
    [
      ['t', undefined, null],
      ['t', {}, null],
    ],
    [
      [1, -0, 1.5],
      [1, 0, 1.5],
    ],
    [
      [true, false],
      [true, false],
    ],
    [['"\\/\u0000é😀'], ['"\\/\u0000é😀']],
    [
      ['plain', '"'],
      ['plain', '"'],
    ],
    [['\ud800'], ['\ud800']],
    [[], []],
  ];
  test.each(keys)('a key of %j -> written the same way in each operation', (key, wire) => {
    const body = new BatchBody();
    body.create(key);
    body.out.putText('{}');
    body.end();
    body.delete(key, { id: 'x' });
    const [create, remove] = JSON.parse(body.finish().toString()) as Array<{ partitionKey: string }>;
    expect(JSON.parse(create?.partitionKey ?? '')).toEqual(wire);
    expect(remove).toEqual({ operationType: 'Delete', id: 'x', partitionKey: create?.partitionKey });
  });

  test('any texts as keys -> read back as they were', () => {
    const body = new BatchBody(new ByteOutput(1));
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 3 }), (key) => {
        body.clear();
        body.read(key, { id: key[0] ?? '' });
        const [read] = JSON.parse(body.finish().toString()) as Array<{ partitionKey: string; id: string }>;
        expect(JSON.parse(read?.partitionKey ?? '')).toEqual(key);
        expect(read?.id).toBe(key[0]);
      }),
    );
  });

  test('operations of every kind -> as the service spells them', () => {
    const body = new BatchBody();
    scan.scan(Buffer.from('{"Documents":[{"id":"i/?#%\\u00e9","x":1.10,"_ts":1}]}'));
    const id = scan.bytes(0, scan.nodes.id);
    body.create(['a']);
    spliceDocument(body.out, scan, 0);
    body.end();
    body.replace(['a', undefined], { id, ifMatch: '"00-1"' });
    spliceDocument(body.out, scan, 0);
    body.end();
    body.delete([1], { id, ifMatch: '"00-2"' });
    body.read([null], { id: 'é' });
    const bytes = body.finish();
    expect(bytes.toString()).toBe(
      `[${[
        '{"operationType":"Create","partitionKey":"[\\"a\\"]","resourceBody":{"id":"i/?#%\\u00e9","x":1.10}}',
        '{"operationType":"Replace","partitionKey":"[\\"a\\",{}]","id":"i/?#%\\u00e9","ifMatch":"\\"00-1\\"","resourceBody":{"id":"i/?#%\\u00e9","x":1.10}}',
        '{"operationType":"Delete","partitionKey":"[1]","id":"i/?#%\\u00e9","ifMatch":"\\"00-2\\""}',
        '{"operationType":"Read","partitionKey":"[null]","id":"é"}',
      ].join(',')}]`,
    );
    body.clear();
    expect(body.finish().toString()).toBe('[]');
  });
});
