/** Runs generated queries on the emulator, whose parser is another one, and compares what they find with what they name. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCandidate } from '../../../../src/plan/candidates/candidate.ts';
import { classify, levelsOf } from '../../../../src/plan/workload/classify.ts';
import { conditionsOf } from '../../../../src/plan/workload/query/conditions.ts';
import { draws } from '../../../helpers/generated.ts';
import { ask } from '../../emulator/query/asking.ts';

type Values = Readonly<Record<string, number | null>>;

const VALUES = [1, 2, null, undefined] as const;
const DOCUMENTS = VALUES.flatMap((a) =>
  VALUES.flatMap((b) => [1, 2].map((d) => JSON.stringify({ id: `${a} ${b} ${d}`, a, b, d }))),
);

const property = fc.constantFrom('c.a', 'c.b', 'c["d"]', "c['a']");
const literal = fc.constantFrom('1', '2', '-1', 'null', "'x'", '@one');
const leaf = fc.oneof(
  { arbitrary: fc.tuple(property, literal).map(([one, value]) => `${one} = ${value}`), weight: 5 },
  fc.tuple(property, literal).map(([one, value]) => `${value} = ${one}`),
  fc
    .tuple(property, fc.array(literal, { minLength: 1, maxLength: 3 }))
    .map(([one, all]) => `${one} IN (${all.join(', ')})`),
  fc.tuple(property, fc.constantFrom('<', '>=', '!=')).map(([one, mark]) => `${one} ${mark} 2`),
  property.map((one) => `${one} BETWEEN 1 AND 2`),
  property.map((one) => `ABS(${one}) = 1`),
  property.map((one) => `IS_DEFINED(${one})`),
  property.map((one) => `${one} = 3 - c.d`),
  property.map((one) => `3 = ${one} + c.d`),
  property.map((one) => `${one} = 1 = false`),
  fc.tuple(property, literal).map(([one, value]) => `${one} IN (${value}, c.d)`),
  property.map((one) => `(${one} = 1 ? true : false)`),
  fc.tuple(property, property).map(([one, other]) => `${one} = ${other}`),
);
const condition: fc.Arbitrary<string> = fc.letrec<{ all: string }>((tie) => ({
  all: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('all'), { minLength: 2, maxLength: 3 }).map((parts) => parts.join(' AND ')),
    fc.array(tie('all'), { minLength: 2, maxLength: 3 }).map((parts) => parts.join(' OR ')),
    tie('all').map((one) => `(${one})`),
    tie('all').map((one) => `NOT ${one}`),
  ),
})).all;

const KEYS = ['/a', '/b', '/a,/b', '/d,/a', '/pk={a}-{b}'];

test('any query -> finds no more key values than it is said to name', () => {
  const known = new Map<string, number>();
  fc.assert(
    fc.property(condition, (where) => {
      const query = `SELECT * FROM c WHERE ${where}`;
      const found = ask(query, DOCUMENTS, { one: 1 }).map((text) => JSON.parse(text) as Values);
      const conditions = conditionsOf(query) ?? null;
      expect(conditions).not.toBeNull();
      for (const key of KEYS) {
        const levels = levelsOf(parseCandidate(key));
        const call = {
          text: query,
          does: { kind: 'query', conditions },
          executions: 1,
          ru: null,
          partitions: null,
          results: null,
          knows: [],
          namesKey: false,
        } as const;
        const classed = classify(call, levels, []);
        known.set(classed.class, (known.get(classed.class) ?? 0) + 1);
        if (classed.class === 'fan-out') continue;
        const isPrefix = /the first of/.test(classed.why);
        const paths = levels.flatMap(({ path, from }) => from ?? [path]).slice(0, isPrefix ? 1 : undefined);
        const values = new Set(found.map((one) => JSON.stringify(paths.map(([name = '']) => one[name]))));
        expect(values.size, `${where} with ${key}: ${classed.why}`).toBeLessThanOrEqual(classed.values);
      }
    }),
    { numRuns: draws(2000) },
  );
  // The generated queries are of every kind, so the comparison above has a meaning.
  for (const kind of ['single-partition', 'prefix', 'fan-out']) expect(known.get(kind)).toBeGreaterThan(20);
});
