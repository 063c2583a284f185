/** A source document becomes a target document, from which its identity and its slot can be read again. */
import { hashText } from '../../helpers/hash-text.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteOutput } from '../../../src/documents/byte-output.ts';
import { allVersionsScan, latestVersionScan, replyScan } from '../../../src/documents/page-scan.ts';
import type { PageScan } from '../../../src/documents/page-scan.ts';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';
import { effectiveKey } from '../../../src/epk/effective-key.ts';
import { makePlan } from '../../../src/keys/plan.ts';
import type { KeyPlan, PlanOptions } from '../../../src/keys/plan.ts';
import { Placement } from '../../../src/keys/placement.ts';
import { DOCUMENT_BYTES_MAX, Deletion, Rekey, rekeyPaths } from '../../../src/keys/rekey.ts';
import type { TtlMode } from '../../../src/keys/rekey.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyText } from '../documents/generate.ts';
import { draws } from '../../helpers/generated.ts';

const NOW = 1_700_000_000;
const SOURCE: PlanOptions = { sourcePaths: ['/a'], partitionKey: [], derive: [], missingKey: 'keep' };

interface Outcome {
  readonly verdict: string;
  readonly reason?: string;
  readonly why?: string;
  readonly key?: readonly unknown[];
  readonly place?: string;
  readonly target?: string;
  readonly identity: string;
  readonly slot?: string;
}

class Migration {
  readonly plan: KeyPlan;
  readonly scan: PageScan;
  readonly #rekey: Rekey;
  readonly #placement: Placement;
  readonly #out = new ByteOutput(16);

  constructor(options: Partial<PlanOptions>, ttl: TtlMode = { mode: 'restart' }) {
    this.plan = makePlan({ ...SOURCE, ...options });
    this.scan = latestVersionScan(rekeyPaths(this.plan));
    const kind = this.plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
    this.#rekey = new Rekey(this.scan, { plan: this.plan, kind, ttl });
    this.#placement = new Placement(this.scan, this.plan);
  }

  move(json: string): Outcome {
    this.scan.scan(Buffer.from(`{"Documents":[{"id":"before","a":1},${json}]}`));
    const rekey = this.#rekey;
    rekey.read(0, NOW);
    const verdict = rekey.read(1, NOW);
    const identity = hashText(rekey.hashes, 0);
    if (rekey.refusal !== undefined) return { verdict, identity, ...rekey.refusal };
    if (verdict === 'expired') return { verdict, identity };
    this.#out.clear();
    rekey.write(this.#out);
    const target = this.#out.view().toString();
    return {
      verdict,
      key: rekey.key,
      place: rekey.effectiveKey(),
      target,
      identity,
      slot: hashText(rekey.hashes, 4),
    };
  }

  /** Identity and slot, read from a document of the target. */
  place(json: string): { identity: string; slot: string } {
    this.scan.scan(Buffer.from(`{"Documents":[${json}]}`));
    this.#placement.read(0);
    return { identity: hashText(this.#placement.hashes, 0), slot: hashText(this.#placement.hashes, 4) };
  }
}

describe('rekey: a document moves', () => {
  const cases: ReadonlyArray<[string, Partial<PlanOptions>, string, readonly KeyComponent[], string]> = [
    [
      'an existing path',
      { partitionKey: ['/b'] },
      '{"id":"i","a":1,"b":"x","_ts":5}',
      ['x'],
      '{"id":"i","a":1,"b":"x"}',
    ],
    [
      'a nested path',
      { partitionKey: ['/b/c'] },
      '{"id":"i","b":{"c":1.0,"_ts":1}}',
      [1],
      '{"id":"i","b":{"c":1.0,"_ts":1}}',
    ],
    ['no value at the path', { partitionKey: ['/b'] }, '{"id":"i","a":1}', [undefined], '{"id":"i","a":1}'],
    ['null at the path', { partitionKey: ['/b'] }, '{"id":"i","b":null}', [null], '{"id":"i","b":null}'],
    [
      'a path through an array',
      { partitionKey: ['/b/c'] },
      '{"id":"i","b":[{"c":1}]}',
      [undefined],
      '{"id":"i","b":[{"c":1}]}',
    ],
    [
      'a path through a text',
      { partitionKey: ['/b/length'] },
      '{"id":"i","b":"xyz"}',
      [undefined],
      '{"id":"i","b":"xyz"}',
    ],
    [
      'an object at the path',
      { partitionKey: ['/b'] },
      '{"id":"i","a":{"x":[1]},"b":{"c":1.0}}',
      [undefined],
      '{"id":"i","a":{"x":[1]},"b":{"c":1.0}}',
    ],
    [
      'a hierarchical key with an array and an object',
      { sourcePaths: ['/a', '/c'], partitionKey: ['/b', '/a', '/id'] },
      '{"id":"i","a":[true],"b":{},"c":"x"}',
      [undefined, undefined, 'i'],
      '{"id":"i","a":[true],"b":{},"c":"x"}',
    ],
    [
      'a hierarchical key',
      { partitionKey: ['/b', '/a', '/id'] },
      '{"id":"i","a":true,"b":"x"}',
      ['x', true, 'i'],
      '{"id":"i","a":true,"b":"x"}',
    ],
    [
      'a derived key',
      { derive: ['/pk={a}-{b}'] },
      '{"id":"i","a":"x","b":"\\u0079","_lsn":1}',
      ['x-y'],
      '{"id":"i","a":"x","b":"\\u0079","pk":"x-y"}',
    ],
    [
      'a derived nested key',
      { derive: ['/k/pk={a}'] },
      '{"a":"x","id":"i"}',
      ['x'],
      '{"a":"x","id":"i","k":{"pk":"x"}}',
    ],
    [
      'a derived key that is there',
      { derive: ['/pk={a}'] },
      '{"pk":"x","a":"x","id":"i"}',
      ['x'],
      '{"pk":"x","a":"x","id":"i"}',
    ],
    [
      'an old key kept',
      { derive: ['/a={b}'], keepSourceKeyAs: '/old' },
      '{"id":"i","a":7,"b":"x"}',
      ['x'],
      '{"id":"i","a":"x","b":"x","old":7}',
    ],
    [
      'the last of two',
      { partitionKey: ['/b'] },
      '{"id":"h","b":1,"b":2,"id":"i"}',
      [2],
      '{"id":"h","b":1,"b":2,"id":"i"}',
    ],
  ];
  test.each(cases)('by %s -> this key and target document', (_name, options, source, key, target) => {
    const migration = new Migration(options);
    const moved = migration.move(source);
    const kind = key.length > 1 ? 'multi-hash' : 'hash-v2';
    const place = effectiveKey(kind, key);
    expect(moved).toMatchObject({ verdict: 'moves', key, place, target });
    expect(migration.place(target)).toEqual({ identity: moved.identity, slot: moved.slot });
  });

  const ids = ['/?#%', 'a b', 'é', '😀', 'x'.repeat(1023), 'é'.repeat(511), '"\\', '\u0000', '\ud800', ' '];
  test.each(ids)('the id %j, spelt in two ways -> one slot', (id) => {
    const migration = new Migration({ partitionKey: ['/b'] });
    const spelled = [JSON.stringify(id), `"${escaped(id)}"`];
    const moved = spelled.map((json) => migration.move(`{"b":"x","id":${json}}`));
    expect(moved.map(({ verdict }) => verdict)).toEqual(['moves', 'moves']);
    expect(new Set(moved.map(({ slot }) => slot)).size).toBe(1);
  });
});

const escaped = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

describe('rekey: a document is refused', () => {
  const long = 'x'.repeat(3000);
  test.each<[string, Partial<PlanOptions>, string]>([
    ['bad-id', { partitionKey: ['/a'] }, '{"a":1}'],
    ['bad-id', { partitionKey: ['/a'] }, '{"a":1,"id":5}'],
    ['bad-id', { partitionKey: ['/a'] }, '{"a":1,"id":null}'],
    ['bad-id', { partitionKey: ['/a'] }, '{"a":1,"id":""}'],
    ['bad-id', { partitionKey: ['/a'] }, `{"a":1,"id":"${'x'.repeat(1024)}"}`],
    ['bad-id', { partitionKey: ['/a'] }, `{"a":1,"id":"${'é'.repeat(512)}"}`],
    ['bad-id', { partitionKey: ['/a'] }, `{"a":1,"id":"${escaped('x'.repeat(1024))}"}`],
    ['missing-key', { partitionKey: ['/b'], missingKey: 'dead-letter' }, '{"id":"i","a":1}'],
    ['missing-key', { derive: ['/pk={b}'], missingKey: 'fail' }, '{"id":"i","a":1}'],
    ['missing-key', { partitionKey: ['/b'], missingKey: 'dead-letter' }, '{"id":"i","b":{"c":1}}'],
    ['missing-key', { partitionKey: ['/b'], missingKey: 'fail' }, '{"id":"i","b":[]}'],
    ['invalid-key', { derive: ['/pk={b}'] }, '{"id":"i","b":{"c":1}}'],
    ['invalid-key', { derive: ['/a={b}'], keepSourceKeyAs: '/old' }, '{"id":"i","a":{"x":1},"b":"y"}'],
    ['invalid-key', { partitionKey: ['/b'] }, '{"id":"i","b":1e400}'],
    ['key-too-long', { partitionKey: ['/b'] }, `{"id":"i","b":"${long}"}`],
    ['key-conflict', { derive: ['/pk={a}'] }, '{"id":"i","a":"x","pk":"y"}'],
    ['key-conflict', { derive: ['/pk={a}'] }, '{"id":"i","a":"1","pk":1}'],
    ['key-conflict', { derive: ['/pk={a}'] }, '{"id":"i","pk":"y"}'],
    ['key-conflict', { derive: ['/k/pk={a}'] }, '{"id":"i","a":"x","k":[]}'],
    ['key-conflict', { derive: ['/a={b}'], keepSourceKeyAs: '/old' }, '{"id":"i","a":1,"b":"x","old":2}'],
  ])('%s -> %o', (reason, options, source) => {
    const refused = new Migration(options).move(source);
    expect(refused).toMatchObject({ verdict: 'refused', reason });
    // The reason says why without a value of the document.
    expect(refused.why).toBeTruthy();
    expect(refused.why).not.toContain(long);
  });

  test('one byte too large -> refused, one less -> moves', () => {
    const migration = new Migration({ derive: ['/pk={a}'] });
    const shell = '{"id":"i","a":"é","z":"","_ts":1}';
    const target = '{"id":"i","a":"é","z":"","pk":"é"}';
    const fill = DOCUMENT_BYTES_MAX - Buffer.byteLength(target);
    const of = (size: number): Outcome => migration.move(shell.replace('""', `"${'z'.repeat(size)}"`));
    expect(of(fill)).toMatchObject({ verdict: 'moves' });
    expect(Buffer.byteLength(of(fill).target ?? '')).toBe(DOCUMENT_BYTES_MAX);
    expect(of(fill + 1)).toMatchObject({ verdict: 'refused', reason: 'too-large' });
  });
});

test.each(['9007199254740993', '1.0', '1e3', '-0', '-1.50', '"\\u0041\\/"', '"\\ud800"', 'null'])(
  'rekey: --keep-source-key-as, %s -> the old key keeps its spelling',
  (old) => {
    const migration = new Migration({ derive: ['/a={b}'], keepSourceKeyAs: '/kept/a' });
    const { target, identity } = migration.move(`{"id":"i","a":${old},"b":"x"}`);
    expect(target).toBe(`{"id":"i","a":"x","b":"x","kept":{"a":${old}}}`);
    expect(migration.place(target ?? '').identity).toBe(identity);
  },
);

describe('rekey: time to live', () => {
  const remaining = (defaultTtl: number): Migration =>
    new Migration({ partitionKey: ['/a'] }, { mode: 'remaining', defaultTtl });
  const aged = (seconds: number, ttl = ''): string => `{"id":"i","a":1${ttl},"_ts":${NOW - seconds}}`;
  test.each([
    [-1, aged(40, ',"ttl":100'), '{"id":"i","a":1,"ttl":60}'],
    [-1, aged(0, ',"ttl":100.0'), '{"id":"i","a":1,"ttl":100}'],
    [-1, aged(40), '{"id":"i","a":1}'],
    [100, aged(40), '{"id":"i","a":1,"ttl":60}'],
    [100, aged(40, ',"ttl":-1'), '{"id":"i","a":1,"ttl":-1}'],
    [100, aged(40, ',"ttl":"100"'), '{"id":"i","a":1,"ttl":"100"}'],
    [100, aged(40, ',"ttl":null'), '{"id":"i","a":1,"ttl":null}'],
    [100, aged(40, ',"ttl":1.5'), '{"id":"i","a":1,"ttl":1.5}'],
    [100, aged(40, ',"ttl":2147483648'), '{"id":"i","a":1,"ttl":2147483648}'],
    [100, '{"id":"i","a":1}', '{"id":"i","a":1}'],
    [100, aged(100), undefined],
    [-1, aged(400, ',"ttl":100'), undefined],
  ])('default %i, %s -> what remains of it', (defaultTtl, source, target) => {
    const moved = remaining(defaultTtl).move(source);
    expect([moved.verdict, moved.target]).toEqual(
      target === undefined ? ['expired', undefined] : ['moves', target],
    );
  });

  test('restart -> the bytes are unchanged', () => {
    const moved = new Migration({ partitionKey: ['/a'] }).move(aged(400, ',"ttl":100'));
    expect(moved).toMatchObject({ verdict: 'moves', target: '{"id":"i","a":1,"ttl":100}' });
  });
});

describe('any document that moves', () => {
  const plans: ReadonlyArray<Partial<PlanOptions>> = [
    { partitionKey: ['/b'] },
    { partitionKey: ['/a/b', '/pk', '/id'] },
    { derive: ['/new/pk={id}-{a|default:none}'] },
    { derive: ['/pk={id|hash:8}'] },
    { derive: ['/a={id}'], keepSourceKeyAs: '/kept/a' },
    { sourcePaths: ['/a/b', '/__proto__/a'], partitionKey: ['/pk'] },
  ];
  test.each(plans)('%o -> its identity and slot can be read from the target', (options) => {
    const migration = new Migration(options);
    const withId = fc
      .tuple(anyDocument, anyText)
      .map(
        ([json, id]) =>
          `${json.trimEnd().slice(0, -1)}${/^\{\s*\}\s*$/.test(json) ? '' : ','}"id":${JSON.stringify(id)}}`,
      );
    let moves = 0;
    fc.assert(
      fc.property(withId, (json) => {
        const moved = migration.move(json);
        const { identity, slot } = moved.target === undefined ? moved : migration.place(moved.target);
        expect({ identity, slot }).toEqual({ identity: moved.identity, slot: moved.slot });
        if (moved.verdict === 'moves') moves += 1;
      }),
      { numRuns: draws(1000) },
    );
    expect(moves).toBeGreaterThan(draws(1000) / 8);
  });
});

test('rekey: pages of the other feeds -> read in the same way', () => {
  const plan = makePlan({ ...SOURCE, partitionKey: ['/b'] });
  const document = '{"id":"i","a":"x","b":"y","_ts":1}';
  const wrapped: ReadonlyArray<[PageScan, string]> = [
    [latestVersionScan(rekeyPaths(plan)), `{"Documents":[${document}]}`],
    [
      allVersionsScan(rekeyPaths(plan), plan.sourcePaths),
      `{"Documents":[{"metadata":{"id":"no","a":1,"lsn":5},"current":${document}}]}`,
    ],
    [replyScan(rekeyPaths(plan)), `[{"statusCode":200,"id":"no","resourceBody":${document}}]`],
  ];
  const read = wrapped.map(([scan, page]) => {
    scan.scan(Buffer.from(page));
    const rekey = new Rekey(scan, { plan, kind: 'hash-v1', ttl: { mode: 'restart' } });
    const out = new ByteOutput();
    expect(rekey.read(0, NOW)).toBe('moves');
    rekey.write(out);
    return [hashText(rekey.hashes, 0), hashText(rekey.hashes, 4), out.view().toString()];
  });
  expect(new Set(read.map(String)).size).toBe(1);
});

test('rekey: the source key property changes from one object to another -> the same identity and slot', () => {
  const migration = new Migration({ sourcePaths: ['/a', '/b'], partitionKey: ['/c'] });
  const keys = ['"b":"x"', '"a":{},"b":"x"', '"a":{"x":1},"b":"x"', '"a":[{"x":1}],"b":"\\u0078"'];
  const moved = keys.map((key) => migration.move(`{"id":"i",${key},"c":{"d":1}}`));
  expect(new Set(moved.map(({ identity, slot }) => `${identity} ${slot}`)).size).toBe(1);
  expect(migration.move('{"id":"i","a":null,"b":"x"}').identity).not.toBe(moved[0]?.identity);
});

describe('deletion', () => {
  const paths = ['/a', '/b/c'];
  const plan = makePlan({ ...SOURCE, sourcePaths: paths, partitionKey: ['/a'] });
  const source = new Migration({ sourcePaths: paths, partitionKey: ['/a'] });
  const scan = allVersionsScan(rekeyPaths(plan), plan.sourcePaths);
  const identityOf = (entry: string): string | undefined => {
    const out = new Uint32Array(4);
    scan.scan(Buffer.from(`{"Documents":[{},${entry}]}`));
    return new Deletion(scan).read(1, out, 0) ? hashText(out, 0) : undefined;
  };
  const { identity } = source.move('{"id":"i","a":"x","b":{"c":1}}');

  test.each([
    '{"metadata":{"operationType":"delete","id":"i","partitionKey":{"a":"x","b/c":1}}}',
    '{"metadata":{"operationType":"delete","id":"\\u0069","partitionKey":{"a":"x","b":{"c":1.0}}},"current":{}}',
    '{"current":null,"metadata":{"operationType":"delete"},"previous":{"id":"i","a":"x","b":{"c":1}}}',
    '{"metadata":{"id":"i","partitionKey":{"a":"x"}},"previous":{"id":"i","a":"x","b":{"c":1}}}',
    '{"metadata":{"id":"i","partitionKey":{"a":"x","b/c":{}}},"previous":{"id":"i","a":"x","b":{"c":1}}}',
  ])('deletion: %s -> identified', (entry) => {
    expect(identityOf(entry)).toBe(identity);
  });

  test.each([
    '{"metadata":{"operationType":"delete","id":"i"}}',
    '{"metadata":{"operationType":"delete","id":"i","partitionKey":{"a":"x"}}}',
    '{"metadata":{"operationType":"delete","partitionKey":{"a":"x","b/c":1}}}',
    '{"metadata":{"operationType":"delete","partitionKey":["x",1],"id":"i"}}',
    '{"metadata":{"operationType":"delete","id":"i","partitionKey":{"a":{},"b/c":1}}}',
    '{"metadata":{"operationType":"delete","id":"i","partitionKey":{"a":"x","b/c":[1]}}}',
  ])('deletion: %s -> not identified', (entry) => {
    expect(identityOf(entry)).toBeUndefined();
  });

  test('an object as key value in the previous image -> identified, and named as a missing value', () => {
    const entry =
      '{"metadata":{"id":"i","partitionKey":{"b/c":1}},"previous":{"id":"i","a":{"x":1},"b":{"c":1}}}';
    expect(identityOf(entry)).toBe(source.move('{"id":"i","b":{"c":1}}').identity);
    expect(new Deletion(scan).name(1)).toEqual(['"i"', null, '1']);
  });

  test('no key value, with the previous image -> identified', () => {
    const entry = '{"metadata":{"id":"i","partitionKey":{}},"previous":{"id":"i","a":null}}';
    expect(identityOf(entry)).toBe(source.move('{"id":"i","a":null}').identity);
    expect(identityOf(entry)).not.toBe(source.move('{"id":"i"}').identity);
  });
});
