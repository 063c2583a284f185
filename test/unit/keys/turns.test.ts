/** Documents that go forth, back and forth again: nothing is lost, and each place is found from the other side. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteOutput } from '../../../src/documents/byte-output.ts';
import { firstDifference, readCanonical } from '../../../src/documents/canonical.ts';
import { latestVersionScan, type PageScan } from '../../../src/documents/page-scan.ts';
import { Edits, spliceDocument } from '../../../src/documents/splice.ts';
import { turnedPlans } from '../../../src/keys/back-plan.ts';
import type { MovePlan } from '../../../src/keys/move-plan.ts';
import { Placement } from '../../../src/keys/placement.ts';
import { makePlan, type PlanOptions } from '../../../src/keys/plan.ts';
import { FormEdits, removerOf } from '../../../src/keys/removal.ts';
import { Rekey, rekeyPaths, type RekeyOptions, type TtlMode } from '../../../src/keys/rekey.ts';
import { must } from '../../../src/lib/assert.ts';
import { draws } from '../../helpers/generated.ts';
import { hashText } from '../../helpers/hash-text.ts';
import { sized } from '../../helpers/nightly.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyNumber, anyString, anyText } from '../documents/generate.ts';

type Turned = Pick<RekeyOptions, 'plan' | 'compared'>;

interface Moved {
  readonly verdict: string;
  readonly reason?: string | undefined;
  readonly identity: string;
  readonly slot: string;
  readonly json: string;
}

/** One direction of one turn. */
class Direction {
  readonly plan: MovePlan;
  readonly scan: PageScan;
  readonly #rekey: Rekey;
  readonly #placement: Placement;
  readonly #turned: Turned;
  readonly #out = new ByteOutput();
  #own = 0;

  constructor(turned: Turned, ttl: TtlMode = { mode: 'restart' }) {
    const { plan, compared } = turned;
    this.plan = plan;
    const forms = compared === undefined ? [] : [...compared.source.inputs, ...compared.target.inputs];
    this.scan = latestVersionScan([...rekeyPaths(plan), ...forms]);
    const kind = plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
    this.#rekey = new Rekey(this.scan, { plan, kind, ttl, own: { of: () => this.#own } });
    this.#placement = new Placement(this.scan, plan);
    this.#turned = turned;
  }

  /** Records what a document of the container that is written to had of its own, as the map does. */
  knows(json: string): this {
    this.#read(json);
    this.#own = removerOf(this.scan, this.plan).own(0);
    return this;
  }

  move(json: string): Moved {
    this.#read(json);
    const rekey = this.#rekey;
    const verdict = rekey.read(0, 1_700_000_000);
    this.#own = 0;
    const places = { identity: hashText(rekey.hashes, 0), slot: hashText(rekey.hashes, 4) };
    if (verdict !== 'moves') return { verdict, reason: rekey.refusal?.reason, ...places, json: '' };
    this.#out.clear();
    rekey.write(this.#out);
    return { verdict, ...places, json: this.#out.view().toString() };
  }

  /** The identity and the slot of a document of the target. */
  place(json: string): { identity: string; slot: string; isCopy: boolean } {
    this.#read(json);
    const isCopy = this.#placement.read(0);
    const { hashes } = this.#placement;
    return { identity: hashText(hashes, 0), slot: hashText(hashes, 4), isCopy };
  }

  /** The id and the source key that a document of the target is a copy of. */
  nameIn(json: string): (string | null)[] {
    this.place(json);
    return this.#placement.name();
  }

  /** A document of one side as it is compared. */
  compared(side: 'source' | 'target', json: string): string {
    const { compared } = this.#turned;
    if (compared === undefined) return side === 'source' ? this.move(json).json : stored(json);
    this.#read(json);
    const edits = new Edits();
    new FormEdits(this.scan, compared, side).plan(0, edits);
    this.#out.clear();
    spliceDocument(this.#out, this.scan, 0, edits);
    return this.#out.view().toString();
  }

  #read(json: string): void {
    this.scan.scan(Buffer.from(`{"Documents":[${json}]}`));
  }
}

class Turns {
  readonly first: Direction;
  readonly back: Direction;
  readonly again: Direction;

  constructor(options: Partial<PlanOptions>, ttl?: TtlMode) {
    const whole: PlanOptions = {
      sourcePaths: ['/a'],
      partitionKey: [],
      derive: [],
      missingKey: 'keep',
      ...options,
    };
    const forth = makePlan({ ...whole, presentWins: true });
    this.first = new Direction({ plan: makePlan(whole) });
    this.back = new Direction(turnedPlans(forth, { direction: 'back', ignoresTtl: false }), ttl);
    this.again = new Direction(turnedPlans(forth, { direction: 'forth', ignoresTtl: false }));
  }
}

const PLANS: ReadonlyArray<Partial<PlanOptions>> = [
  { partitionKey: ['/b'] },
  { partitionKey: ['/b'], missingKey: 'dead-letter' },
  { sourcePaths: ['/a', '/k/x'], partitionKey: ['/b', '/k/pk', '/id'] },
  { derive: ['/pk={a}-{b}'] },
  { derive: ['/pk={b}'] },
  { derive: ['/pk={b}'], missingKey: 'fail' },
  { derive: ['/pk={b|default:none}'] },
  { derive: ['/pk={id|hash:8}'] },
  { derive: ['/k/pk={b}'] },
  { derive: ['/k/pk={b}', '/k/q={id}', '/pk={a}'], partitionKey: ['/k/pk', '/pk'] },
  { derive: ['/pk={b}', '/q={a}'], partitionKey: ['/b', '/pk'] },
  { derive: ['/pk={pk|default:none}'] },
  { derive: ['/a={b}'], keepSourceKeyAs: '/old' },
  { derive: ['/a={a}-{b}'], keepSourceKeyAs: '/old' },
  { derive: ['/a={id|hash:4}'], keepSourceKeyAs: '/k/old' },
  {
    derive: ['/k/x={b}'],
    sourcePaths: ['/k/x', '/a'],
    partitionKey: ['/k/x', '/old'],
    keepSourceKeyAs: '/old',
  },
  { sourcePaths: ['/a', '/__proto__/a'], derive: ['/pk={a}'] },
];

const anyScalar = fc.oneof(
  fc.constantFrom(
    '"x"',
    '"y"',
    '"none"',
    '"\\u0078"',
    '1',
    '1.0',
    '"1"',
    'null',
    'true',
    '"x-x"',
    '{}',
    '[]',
  ),
  { weight: 1, arbitrary: anyNumber },
  { weight: 1, arbitrary: anyString },
);
const space = fc.constantFrom('', '', '', ' ', '\n ');
/** An object with a few of the names, in any order, with any white space. */
const anyObject = (names: readonly string[], value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.shuffledSubarray([...names]),
      fc.array(value, { minLength: names.length, maxLength: names.length }),
      space,
    )
    .map(([some, values, ws]) => {
      const members = some.map((name, i) => `${ws}"${name}"${ws}:${ws}${values[i] ?? '1'}${ws}`);
      return `{${members.join(',')}${members.length === 0 ? ws : ''}}`;
    });
const anyInner = fc.oneof(anyScalar, anyObject(['pk', 'q', 'x', 'old', 'z'], anyScalar));
/** Documents in which the names of the plans are frequent, system properties and odd names between them. */
const denseDocument = fc
  .tuple(
    anyObject(['a', 'b', 'pk', 'q', 'old', 'k', '_ts', '_etag', 'z', '__proto__', 'ttl'], anyInner),
    anyText,
    fc.boolean(),
  )
  .map(([json, id, isLast]) => withId(json, id, isLast));
const sparseDocument = fc
  .tuple(anyDocument, anyText, fc.boolean())
  .map(([json, id, isLast]) => withId(json, id, isLast));
const document = fc.oneof({ weight: 3, arbitrary: denseDocument }, { weight: 1, arbitrary: sparseDocument });

function withId(json: string, id: string, isLast: boolean): string {
  const member = `"id":${JSON.stringify(id === '' ? 'i' : id)}`;
  const isEmpty = /^\{\s*\}\s*$/.test(json);
  if (isLast) return `${json.trimEnd().slice(0, -1)}${isEmpty ? '' : ','}${member}}`;
  return json.replace('{', () => `{${member}${isEmpty ? '' : ','}`);
}

const isSame = (one: string, other: string): boolean =>
  firstDifference(readCanonical(Buffer.from(one)), readCanonical(Buffer.from(other))) === undefined;

/** What the service stores of a document: everything but its own properties. */
const stored = (json: string): string => {
  const scan = latestVersionScan([]).scan(Buffer.from(`{"Documents":[${json}]}`));
  const out = new ByteOutput();
  spliceDocument(out, scan, 0);
  return out.view().toString();
};

/** A document without white space between its tokens, as the service sends it. */
const tight = (json: string): string => json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');

/** Whether the service could store a document: it knows no number beyond a double, and no name twice. */
const isStorable = (json: string): boolean => !/[\d.][eE]\+?\d{3}/.test(json) && !hasRepeated(json);

const hasRepeated = (json: string): boolean => {
  let repeated = false;
  const names: Set<string>[] = [];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g)) {
    if (token === '{') names.push(new Set());
    else if (token === '}') names.pop();
    else if (token.endsWith(':')) {
      const name: unknown = JSON.parse(token.slice(0, -1));
      const seen = must(names.at(-1), 'a name is inside an object');
      if (seen.has(String(name))) repeated = true;
      seen.add(String(name));
    }
  }
  return repeated;
};

/** For each of four rules and eleven plans. */
const DRAWN = sized({ daily: 60, nightly: 400 });

/** Has every property that the keys are made of; few generated documents have them all. */
const WHOLE = '{"id":"1","a":"x","b":"y","pk":"z"}';
/** The same where the derived property is not taken, since such a document does not move. */
const FREE = '{"id":"1","a":"x","b":"y"}';

describe.each(PLANS)('%o', (options) => {
  const { first, back, again } = new Turns(options);
  const given = document.filter(isStorable);
  // What the application writes into the target, and what the mover has written there.
  const inTarget = fc.oneof(
    given,
    given.map((json) => first.move(json).json || json),
  );

  test('what was moved forth goes back to the same bytes and the same place', () => {
    let moved = 0;
    fc.assert(
      fc.property(given, (json) => {
        const there = first.move(json);
        if (there.verdict !== 'moves') return;
        const here = back.knows(json).move(there.json);
        expect(here).toMatchObject({ verdict: 'moves', identity: there.slot, slot: there.identity });
        moved += 1;
        expect(here.json).toBe(stored(json));
      }),
      { numRuns: draws(DRAWN), examples: [[WHOLE], [FREE]] },
    );
    expect(moved).toBeGreaterThan(0);
  });

  test('what goes back comes forth again as the same document, in the same place', () => {
    let moved = 0;
    fc.assert(
      fc.property(inTarget, (json) => {
        const there = back.move(json);
        if (there.verdict !== 'moves') return;
        moved += 1;
        const here = again.move(there.json);
        expect(here).toMatchObject({ verdict: 'moves', identity: there.slot, slot: there.identity });
        expect(isSame(here.json, stored(json))).toBe(true);
        // Each place is found from the other side too.
        expect(back.place(there.json)).toEqual({ identity: there.identity, slot: there.slot, isCopy: true });
        expect(again.place(json)).toEqual({ identity: there.slot, slot: there.identity, isCopy: true });
        // A third turn changes nothing.
        expect(back.move(here.json).json).toBe(there.json);
      }),
      { numRuns: draws(DRAWN), examples: [WHOLE, FREE].map((json) => [first.move(json).json || json]) },
    );
    expect(moved).toBeGreaterThan(0);
  });

  test('a pair is compared as equal in both directions', () => {
    fc.assert(
      fc.property(given, (json) => {
        const there = again.move(json);
        if (there.verdict !== 'moves') return;
        const form = tight(back.compared('target', json));
        expect(tight(back.compared('source', there.json))).toBe(form);
        expect(tight(again.compared('source', json))).toBe(form);
        expect(tight(again.compared('target', there.json))).toBe(form);
      }),
      { numRuns: draws(DRAWN) },
    );
  });

  test('documents that differ are compared as different', () => {
    fc.assert(
      fc.property(inTarget, inTarget, (one, other) => {
        const [a, b] = [back.move(one), back.move(other)];
        if (a.verdict !== 'moves' || b.verdict !== 'moves' || isSame(stored(one), stored(other))) return;
        expect(isSame(a.json, b.json)).toBe(false);
      }),
      { numRuns: draws(DRAWN) },
    );
  });
});

describe('back', () => {
  test.each<[string, Partial<PlanOptions>, string, string]>([
    ['derived', { derive: ['/pk={b}'] }, '{"id":"i","a":1,"pk":"x","b":"x"}', '{"id":"i","a":1,"b":"x"}'],
    [
      'written by the application',
      { derive: ['/pk={b}'] },
      '{"id":"i","pk":"y","b":"x"}',
      '{"id":"i","pk":"y","b":"x"}',
    ],
    ['an object', { derive: ['/pk={b}'] }, '{"id":"i","pk":{},"b":"x"}', '{"id":"i","pk":{},"b":"x"}'],
    ['nothing to derive from', { derive: ['/pk={b}'] }, '{"id":"i","pk":"y"}', '{"id":"i","pk":"y"}'],
    [
      'a number that the service has spelled in another way',
      { derive: ['/pk={b}'] },
      '{"id":"i","pk":1.50E+2,"b":150}',
      '{"id":"i","b":150}',
    ],
    [
      'digits that a double loses',
      { derive: ['/pk={b}'] },
      '{"id":"i","pk":9007199254740993,"b":9007199254740992}',
      '{"id":"i","pk":9007199254740993,"b":9007199254740992}',
    ],
    [
      'between system properties',
      { derive: ['/pk={b}'] },
      '{"_ts":1,"pk":"x","_rid":"r","id":"i","b":"x"}',
      '{"id":"i","b":"x"}',
    ],
    [
      'first, then a system property',
      { derive: ['/pk={b}'] },
      '{ "pk" : "x" , "_ts":1 , "id":"i","b":"x"}',
      '{   "id":"i","b":"x"}',
    ],
    ['the only member', { derive: ['/k/pk={b}'] }, '{"id":"i","k":{"pk":"x"},"b":"x"}', '{"id":"i","b":"x"}'],
    [
      'one of two members',
      { derive: ['/k/pk={b}'] },
      '{"id":"i","k":{"pk":"x","z":{}},"b":"x"}',
      '{"id":"i","k":{"z":{}},"b":"x"}',
    ],
    [
      'a name with a quote',
      { derive: ['/"p\\"k"={b}'] },
      '{"id":"i","p\\"k":"x","b":"x"}',
      '{"id":"i","b":"x"}',
    ],
    [
      'an old key',
      { derive: ['/a={b}'], keepSourceKeyAs: '/old' },
      '{"old":1.0,"id":"i","a":"x","b":"x"}',
      '{"id":"i","a":1.0,"b":"x"}',
    ],
    [
      'no old key',
      { derive: ['/a={b}'], keepSourceKeyAs: '/old' },
      '{"id":"i","a":"x","b":"x"}',
      '{"id":"i","b":"x"}',
    ],
    ['no key value', { partitionKey: ['/b'] }, '{"id":"i"}', '{"id":"i"}'],
  ])('%s', (_name, options, json, expected) => {
    expect(new Turns(options).back.move(json)).toMatchObject({ verdict: 'moves', json: expected });
  });

  test.each<[string, Partial<PlanOptions>, string]>([
    ['key-conflict', { derive: ['/pk={b}'] }, '{"id":"i","b":"x"}'],
    [
      'key-conflict',
      { derive: ['/pk={a}', '/q={b}'], partitionKey: ['/pk'] },
      '{"id":"i","a":1,"pk":1,"b":"x"}',
    ],
    ['key-conflict', { derive: ['/a={b}'], keepSourceKeyAs: '/old' }, '{"id":"i","a":"y","b":"x","old":1}'],
    ['key-conflict', { derive: ['/a={b}'], keepSourceKeyAs: '/old' }, '{"id":"i","b":"x","old":1}'],
    ['missing-key', { derive: ['/a={b}'], keepSourceKeyAs: '/old' }, '{"id":"i","a":"x","old":1}'],
    ['missing-key', { partitionKey: ['/b'], missingKey: 'dead-letter' }, '{"id":"i","a":1}'],
    ['missing-key', { derive: ['/pk={b}'], missingKey: 'fail' }, '{"id":"i","a":1}'],
    ['invalid-key', { derive: ['/pk={b}'] }, '{"id":"i","a":1,"b":{}}'],
    ['invalid-key', { derive: ['/a={b}'], keepSourceKeyAs: '/old' }, '{"id":"i","a":"x","b":"x","old":[]}'],
    ['key-too-long', { derive: ['/pk={b}'] }, `{"id":"i","a":"${'x'.repeat(3000)}","b":"x","pk":"x"}`],
  ])('%s -> refused: %o', (reason, options, json) => {
    expect(new Turns(options).back.move(json)).toMatchObject({ verdict: 'refused', reason });
  });

  test('with --ttl remaining -> the lifetime is rewritten, and the derived property is taken out', () => {
    const { back } = new Turns({ derive: ['/pk={b}'] }, { mode: 'remaining', defaultTtl: 100 });
    const rest = '"id":"i","b":"x","_ts":1699999990';
    expect(back.move(`{"pk":"x",${rest}}`).json).toBe('{"id":"i","b":"x","ttl":90}');
    expect(back.move(`{${rest},"ttl":50,"pk":"x"}`).json).toBe('{"id":"i","b":"x","ttl":40}');
  });

  test('a copy is named by the key of the document that it came from', () => {
    const { back } = new Turns({
      derive: ['/pk={b}-{c|default:none}', '/q={n}'],
      partitionKey: ['/pk', '/q'],
    });
    expect(back.nameIn('{"id":"\\u0069","b":"x","n":1.50}')).toEqual([
      String.raw`"\u0069"`,
      '"x-none"',
      '1.5',
    ]);
    expect(back.nameIn('{"id":"i","pk":null,"b":"x"}')).toEqual(['"i"', 'null', null]);
  });

  test('a document of the source that has no new key -> no copy, and the identity of no document', () => {
    const { back } = new Turns({ derive: ['/pk={b}'], missingKey: 'dead-letter' });
    const [one, other] = [back.place('{"id":"i","a":1}'), back.place('{"id":"i","a":2}')];
    expect([one.isCopy, other.isCopy]).toEqual([false, false]);
    expect(one.identity).not.toBe(other.identity);
    expect(back.place('{"id":"i","a":1,"b":"x"}').isCopy).toBe(true);
  });
});
