import { expect, test } from 'vitest';
import { hasCompositeIndex } from '../../../../../src/emulator/query/pages/composite-index.ts';
import { compileQuery } from '../../../../../src/emulator/query/query.ts';

const POLICY = {
  compositeIndexes: [
    [
      { path: '/name', order: 'ascending' },
      { path: '/address/"zip code"', order: 'descending' },
    ],
    [{ path: '/n' }, { path: '/name' }, { path: '/id' }],
  ],
};
const ZIP = 'c.address["zip code"]';

test.each([
  ['ORDER BY c.a', true],
  [`ORDER BY c.name, ${ZIP} DESC`, true],
  [`ORDER BY c.name DESC, ${ZIP}`, true],
  [`ORDER BY c.name, ${ZIP}`, false],
  [`ORDER BY ${ZIP} DESC, c.name`, false],
  ['ORDER BY c.n, c.name, c.id', true],
  ['ORDER BY c.n DESC, c.name DESC, c.id DESC', true],
  ['ORDER BY c.n, c.name', false],
])('%s -> composite index found: %s', (clause, isThere) => {
  const { orderBy } = compileQuery({ query: `SELECT * FROM c ${clause}` }).statement;
  expect(hasCompositeIndex(POLICY, orderBy)).toBe(isThere);
  expect(hasCompositeIndex({}, orderBy)).toBe(orderBy.length === 1);
});
