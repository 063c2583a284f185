import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileQuery, runPage } from '../../../../../src/emulator/query/query.ts';
import { draws } from '../../../../helpers/generated.ts';
import { offering, stored } from '../asking.ts';
import { resultsOf, sign, type Query, type Value } from './meaning.ts';
import { documents, queries, queryText } from './queries.ts';

/** The whole answer, page by page. */
function answer(query: string, texts: readonly string[], maxItems: number): readonly string[] {
  const compiled = compileQuery({ query });
  const found: string[] = [];
  let continuation: string | undefined;
  do {
    const page = runPage(compiled, offering(stored(texts)), { maxItems, maxBytes: Infinity, continuation });
    found.push(...page.items);
    ({ continuation } = page);
  } while (continuation !== undefined);
  return found.map((item) => sign(JSON.parse(item) as Value));
}

function isOrdered({ orderBy, groupBy, distinct, slice }: Query): boolean {
  return orderBy.length > 0 || (groupBy.length === 0 && !distinct && slice !== undefined);
}

test('queries: random queries about random documents -> what a second evaluator finds', () => {
  fc.assert(
    fc.property(documents, queries, fc.constantFrom(1, 2, Infinity), (items, query, maxItems) => {
      const text = queryText(query);
      const texts = items.map((item) => JSON.stringify(item));
      const found = answer(text, texts, maxItems);
      const expected = resultsOf(
        query,
        items.map((c) => ({ c }) as never),
      ).map(sign);
      const asked = (results: readonly string[]): unknown => ({
        query: text,
        results: isOrdered(query) ? results : results.toSorted(),
      });
      expect(asked(found)).toEqual(asked(expected));
    }),
    { numRuns: draws(3000) },
  );
});
