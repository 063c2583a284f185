import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../../src/emulator/http/refusal.ts';
import { compileQuery, runPage } from '../../../../../src/emulator/query/query.ts';
import type { QueryPage, StoredDocument } from '../../../../../src/emulator/query/pages/pages.ts';
import { offering, ONE_PAGE, refusalOf, stored } from '../asking.ts';
import { draws } from '../../../../helpers/generated.ts';

interface PageSize {
  readonly maxItems: number;
  readonly maxBytes: number;
}

const QUERIES = [
  'SELECT * FROM c',
  'SELECT VALUE c.k FROM c',
  'SELECT c.id, c.k FROM c WHERE c.n >= 3',
  'SELECT TOP 7 * FROM c',
  'SELECT * FROM c OFFSET 3 LIMIT 8',
  'SELECT VALUE c.k FROM c OFFSET 2 LIMIT 100',
  'SELECT * FROM c ORDER BY c.k',
  'SELECT * FROM c ORDER BY c.k DESC',
  'SELECT VALUE c.k FROM c ORDER BY c.n DESC',
  'SELECT TOP 7 c.id FROM c ORDER BY c.k',
  'SELECT c.id FROM c WHERE c.n < 8 ORDER BY c.k DESC OFFSET 3 LIMIT 8',
  'SELECT VALUE COUNT(1) FROM c',
  'SELECT VALUE 1',
  'SELECT c.id, x FROM c JOIN x IN c.list',
  'SELECT VALUE x FROM x IN c.list OFFSET 2 LIMIT 9',
  'SELECT c.id, x FROM c JOIN x IN c.list JOIN y IN c.list WHERE x != y ORDER BY c.k DESC, x',
  'SELECT * FROM c ORDER BY c.n DESC, c.k',
  'SELECT DISTINCT VALUE c.k FROM c',
  'SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k OFFSET 1 LIMIT 6',
  'SELECT c.n, COUNT(1) AS count FROM c GROUP BY c.n OFFSET 1 LIMIT 5',
];

const value = fc.oneof(
  fc.constantFrom(null, true, false, 1, 2, -1.5, 1e300, 'a', 'b', 'é', '\ud800', [], [1], {}),
  fc.string({ unit: 'binary', maxLength: 3 }),
  // Alike in the part that an order key keeps.
  fc.constantFrom('x'.repeat(600), `${'x'.repeat(600)}y`),
);
const list = fc.array(fc.nat(3), { maxLength: 4 });
const body = fc.record({ n: fc.nat(9), k: value, list }, { requiredKeys: ['n'] });
const pageSize = fc.record({
  maxItems: fc.constantFrom(1, 2, 3, 5, 100, Infinity),
  maxBytes: fc.constantFrom(1, 60, 2000, Infinity),
});

function texts(bodies: readonly object[]): readonly string[] {
  return bodies.map((fields, index) => JSON.stringify({ id: `d${index}`, ...fields }));
}

/** Reads to the end, each page of the next size; `change` may put other documents in place between pages. */
function readAll(
  query: string,
  sizes: readonly PageSize[],
  documentsAt: (page: number) => readonly StoredDocument[],
) {
  const compiled = compileQuery({ query });
  const pages: QueryPage[] = [];
  let continuation: string | undefined;
  do {
    const size = sizes[pages.length % sizes.length] ?? ONE_PAGE;
    const page = runPage(compiled, offering(documentsAt(pages.length)), { ...size, continuation });
    pages.push(page);
    continuation = page.continuation;
    expect(page.items.length).toBeLessThanOrEqual(size.maxItems);
    expect(pages.length).toBeLessThan(1000);
  } while (continuation !== undefined);
  return pages;
}

describe('pages', () => {
  test.each(QUERIES)('any size -> together the whole answer: %s', (query) => {
    fc.assert(
      fc.property(
        fc.array(body, { maxLength: 30 }),
        fc.array(pageSize, { minLength: 1, maxLength: 4 }),
        (bodies, sizes) => {
          const documents = stored(texts(bodies));
          const whole = runPage(compileQuery({ query }), offering(documents), ONE_PAGE);
          expect(whole.continuation).toBeUndefined();
          const pages = readAll(query, sizes, () => documents);
          expect(pages.flatMap((page) => page.items)).toEqual(whole.items);
        },
      ),
      { numRuns: draws(150) },
    );
  });

  test.each([
    'SELECT VALUE c.id FROM c',
    'SELECT VALUE c.id FROM c ORDER BY c.k',
    'SELECT VALUE c.id FROM c ORDER BY c.k DESC',
  ])('documents come and go -> none is repeated, none that stays is lost: %s', (query) => {
    // A document lives from one page to another; it is asked for only while it lives.
    const life = fc.record({ from: fc.nat(6), to: fc.nat(12), k: value });
    fc.assert(
      fc.property(
        fc.array(life, { maxLength: 25 }),
        fc.array(pageSize, { minLength: 1, maxLength: 4 }),
        (lives, sizes) => {
          // Positions rise with birth, as they do in a store.
          const born = lives.toSorted((left, right) => left.from - right.from);
          const documents = born.map(({ k }, index) => ({
            position: index + 1,
            text: JSON.stringify({ id: `d${index}`, k }),
          }));
          const alive = (page: number) =>
            documents.filter((_, index) => {
              const span = born[index];
              return span !== undefined && span.from <= page && page <= span.to;
            });
          const pages = readAll(query, sizes, alive);
          const seen = pages.flatMap((page) => page.items);
          expect(new Set(seen).size).toBe(seen.length);
          const always = documents.filter((_, index) => {
            const span = born[index];
            return span !== undefined && span.from === 0 && span.to >= pages.length - 1;
          });
          const ids = always.map(({ text }) => JSON.stringify((JSON.parse(text) as { id: string }).id));
          expect(seen).toEqual(expect.arrayContaining(ids));
        },
      ),
      { numRuns: draws(150) },
    );
  });

  test('a size limit -> not exceeded, unless by a single item', () => {
    const documents = stored(['{"s":"12345"}', '{"s":"1"}', '{"s":"2"}']);
    const pages = readAll('SELECT VALUE c.s FROM c', [{ maxItems: 10, maxBytes: 8 }], () => documents);
    expect(pages.map((page) => page.items)).toEqual([['"12345"'], ['"1"', '"2"']]);
  });

  test('documents read -> counted', () => {
    const documents = stored(['{"s":"é"}', '{"s":"b"}', '{"s":"c"}']);
    const compiled = compileQuery({ query: 'SELECT * FROM c WHERE c.s = "b"' });
    expect(runPage(compiled, offering(documents), ONE_PAGE)).toMatchObject({ scanned: 3, scannedBytes: 28 });
    // A full page does not look whether another document would follow.
    expect(runPage(compiled, offering(documents), { ...ONE_PAGE, maxItems: 1 })).toMatchObject({
      scanned: 2,
    });
  });

  test.each(['SELECT * FROM c', 'SELECT * FROM c ORDER BY c.k'])(
    'a page that is just full -> a continuation, and an empty last page: %s',
    (query) => {
      const documents = stored(texts([{ k: 1 }, { k: 2 }]));
      const pages = readAll(query, [{ maxItems: 2, maxBytes: Infinity }], () => documents);
      expect(pages.map((page) => page.items.length)).toEqual([2, 0]);
    },
  );

  test.each(['SELECT TOP 2 * FROM c', 'SELECT * FROM c ORDER BY c.k OFFSET 0 LIMIT 2'])(
    'a full page that reaches the limit -> no continuation: %s',
    (query) => {
      const documents = stored(texts([{ k: 1 }, { k: 2 }, { k: 3 }]));
      const pages = readAll(query, [{ maxItems: 2, maxBytes: Infinity }], () => documents);
      expect(pages.map((page) => page.items.length)).toEqual([2]);
    },
  );

  test('long order values -> tokens that fit into a header', () => {
    const documents = stored(
      ['\u0001', '\ud800', '漢'].map((unit) => JSON.stringify({ k: unit.repeat(100_000) })),
    );
    const compiled = compileQuery({ query: 'SELECT VALUE 1 FROM c ORDER BY c.k' });
    const page = runPage(compiled, offering(documents), { ...ONE_PAGE, maxItems: 1 });
    expect(page.continuation?.length).toBeLessThan(6000);
    expect(page.continuation).toMatch(/^[\w-]+$/);
  });

  test('infinite numbers in JSON text -> ordered', () => {
    const documents = stored(['{"k":1e999}', '{"k":-1e999}', '{"k":0}', '{"k":-0}']);
    const pages = readAll(
      'SELECT VALUE c.k FROM c ORDER BY c.k',
      [{ maxItems: 1, maxBytes: 100 }],
      () => documents,
    );
    expect(pages.flatMap((page) => page.items)).toEqual(['-1e999', '0', '-0', '1e999']);
  });
});

describe('a continuation', () => {
  const documents = offering(stored(texts([{ k: 1 }, { k: 2 }, { k: 3 }])));
  const PLAIN = 'SELECT * FROM c';
  const ORDERED = 'SELECT * FROM c ORDER BY c.k';

  function tokenOf(query: string, parameters: readonly { name: string; value: unknown }[] = []): string {
    const page = runPage(compileQuery({ query, parameters }), documents, { ...ONE_PAGE, maxItems: 1 });
    return page.continuation ?? '';
  }

  function resumeWith(query: string, continuation: string): string {
    return refusalOf(() => runPage(compileQuery({ query }), documents, { ...ONE_PAGE, continuation }));
  }

  function outcomeOf(query: string, continuation: string): string {
    try {
      runPage(compileQuery({ query }), documents, { ...ONE_PAGE, continuation });
      return 'answered';
    } catch (error) {
      return error instanceof Refusal && error.status === 400 ? 'refused' : String(error);
    }
  }

  test('of another query -> refused', () => {
    expect(resumeWith(`${PLAIN} `, tokenOf(PLAIN))).toContain('another query');
    expect(resumeWith(PLAIN, tokenOf(ORDERED))).toContain('another query');
    expect(resumeWith('SELECT VALUE COUNT(1) FROM c', tokenOf(PLAIN))).toContain('another query');
    expect(resumeWith(PLAIN, tokenOf(PLAIN, [{ name: '@p', value: 1 }]))).toContain('another query');
  });

  test('of the same order with another filter or selection -> continues after the value', () => {
    const narrowed = compileQuery({ query: 'SELECT VALUE c.k FROM c WHERE c.k >= 2 ORDER BY c.k' });
    const page = runPage(narrowed, documents, { ...ONE_PAGE, continuation: tokenOf(ORDERED) });
    expect(page.items).toEqual(['2', '3']);
  });

  test.each([`${ORDERED} DESC`, 'SELECT * FROM c ORDER BY c.n', PLAIN])(
    'of another order -> refused: %s',
    (query) => {
      expect(resumeWith(query, tokenOf(ORDERED))).toContain('another query');
    },
  );

  test.each(['', 'garbage', '{}', '[]', 'é', 'W10', Buffer.from('[1,2,3]').toString('base64url')])(
    'garbage %j -> refused',
    (token) => {
      expect(resumeWith(PLAIN, token)).toContain('continuation token');
    },
  );

  test('one part exchanged -> refused or understood', () => {
    const parts = JSON.parse(Buffer.from(tokenOf(ORDERED), 'base64url').toString()) as unknown[];
    fc.assert(
      fc.property(fc.nat(parts.length), fc.jsonValue(), (index, part) => {
        const forged = Buffer.from(JSON.stringify(parts.with(Math.min(index, parts.length - 1), part)));
        const continuation = forged.toString('base64url');
        expect(outcomeOf(ORDERED, continuation)).toMatch(/^(answered|refused)$/);
      }),
    );
  });
});
