/** The examples of Microsoft's documentation of the query language give just the documented results. */
// A second argument names the example that has failed.
// oxlint-disable vitest/valid-expect
import { expect, it } from 'vitest';
import { forEachBackend } from '../backend.ts';
import { EXPRESSIONS, WITH_DATA } from './documented-examples.ts';

forEachBackend('documented examples of queries', (backend) => {
  it('expressions -> the documented values', async () => {
    const { wire } = await backend.container();
    for (const [expression, value] of EXPRESSIONS) {
      const reply = await wire.query(`SELECT VALUE ${expression}`);
      const { Documents: found } = JSON.parse(reply.text) as { readonly Documents: unknown };
      expect(found, expression).toEqual(value === undefined ? [] : [value]);
    }
  });

  it('queries over data -> the documented results', async () => {
    for (const { data, examples } of WITH_DATA) {
      const { container, wire } = await backend.container();
      await wire.seed(data.map((item) => ({ ...item, id: String(item['id']), pk: String(item['id']) })));
      for (const { query, result } of examples) {
        const { resources } = await container.items.query<unknown>(query).fetchAll();
        const texts = (results: readonly unknown[]): string[] => {
          const found = results.map((item) => JSON.stringify(item));
          // Results come in any order unless the query sorts them.
          return query.includes('ORDER BY') ? found : found.toSorted();
        };
        expect(texts(resources), query).toEqual(texts(result));
      }
    }
  });
});
