import { describe, expect, test } from 'vitest';
import { printable, printableLine } from '../../../../src/lib/json/printable.ts';
import { planPage } from '../../../../src/report/plan/page.ts';
import {
  bytesText,
  countText,
  dollarsText,
  hoursText,
  shareText,
  timesText,
} from '../../../../src/report/plan/figures.ts';
import { attacked, ATTACKS, crowded, emptyContainer, exactIndex, RESULTS, tenants } from './results.ts';
import { readTags, type Tag } from './tags.ts';

const page = (of: () => Parameters<typeof planPage>[0]): string => planPage(of(), '1.2.3');

/** Everything that a page is made of. What is not listed here cannot load, run or send anything. */
const ELEMENTS = new Set(
  (
    'html head meta title style body a nav div header main footer section article h1 h2 h3 h4 p ul li dl dt dd figure figcaption ' +
    'table thead tbody tr th td span strong small code bdi wbr svg desc text rect line path polyline'
  ).split(' '),
);

describe.each(RESULTS)('page of a plan: %s', (_name, of) => {
  const html = page(of);
  const { tags, texts } = readTags(html);
  const ids = tags.flatMap(({ attributes }) => attributes['id'] ?? []);

  test('every tag is closed, every attribute quoted, every id unique', () => {
    expect(tags.length).toBeGreaterThan(50);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('labels, descriptions and links refer to what is there', () => {
    const named = ['aria-labelledby', 'aria-describedby'].flatMap((name) =>
      tags.flatMap(({ attributes }) => attributes[name] ?? []),
    );
    const links = tags.flatMap(({ attributes }) => attributes['href'] ?? []);
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
    expect(links.filter((link) => !link.startsWith('#') || !ids.includes(link.slice(1)))).toEqual([]);
  });

  test('nothing is loaded, run or sent', () => {
    expect([...new Set(tags.map(({ name }) => name))].filter((name) => !ELEMENTS.has(name))).toEqual([]);
    const attributes = new Set(tags.flatMap((tag) => Object.keys(tag.attributes)));
    expect([...attributes].filter((name) => /^on|^src|^style$|action|xlink|ping/.test(name))).toEqual([]);
    const style = html.slice(html.indexOf('<style>'), html.indexOf('</style>'));
    expect(style).not.toMatch(/url\(|@import|expression|https?:/);
    expect(html).toContain('default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;');
  });

  test('every picture has a title and describes all that it shows, or is decoration', () => {
    const pictures = tags.filter(({ name, attributes }) => name === 'svg' && attributes['x'] === undefined);
    const wrong = pictures.filter(
      ({ attributes }) =>
        attributes['aria-hidden'] !== 'true' &&
        (attributes['role'] !== 'img' ||
          attributes['aria-labelledby'] === undefined ||
          attributes['aria-describedby'] === undefined),
    );
    expect(wrong).toEqual([]);
    const described = texts.filter(({ within }) => within.at(-1)?.name === 'desc');
    expect(described.filter(({ text }) => text.length < 10)).toEqual([]);
  });

  test('headings descend one level at a time', () => {
    const levels = tags.flatMap(({ name }) => (/^h[1-6]$/.test(name) ? [Number(name[1])] : []));
    expect(levels[0]).toBe(1);
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? level) + 1)).toEqual([]);
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
  });

  test('every candidate is named, with a mark of its own', () => {
    const shown = texts.map(({ text }) => text).join('');
    for (const { key } of of().candidates) expect(shown).toContain(printableLine(key));
  });

  test('every figure comes from the result', () => {
    const known = figuresOf(of());
    const wrong = texts.flatMap(({ text, within }) =>
      // A value that is cut has its whole text in the title next to it.
      isProse(within) || text.includes('…')
        ? []
        : numbersIn(text)
            .filter((number) => !known.has(number))
            .map((number) => `${number} in ${text}`),
    );
    expect(wrong).toEqual([]);
  });
});

/** Sentences of the page itself, such as limits, and the scales of pictures. */
function isProse(within: readonly Tag[]): boolean {
  const classes = within.map(({ attributes }) => attributes['class'] ?? '');
  return (
    within.some(({ name }) => ['h2', 'nav', 'title', 'footer'].includes(name)) ||
    classes.some((name) => /\b(?:lead|prose|axis alarm|always)\b/.test(name)) ||
    (classes.some((name) => /\baxis\b/.test(name)) &&
      within.some(({ attributes }) => /^(?:growth|heat)/.test(attributes['aria-labelledby'] ?? ''))) ||
    within.some(({ name, attributes }) => name === 'th' && attributes['scope'] === 'col')
  );
}

const NUMBER = /\d(?:[\d,]*\d)?(?:\.\d+)?/g;

function numbersIn(text: string): readonly string[] {
  return text.match(NUMBER) ?? [];
}

/** All numbers of a result in every format, and all numbers in its texts. */
function figuresOf(value: unknown, key = ''): Set<string> {
  const known = new Set(['14', '20', '2', '4', '99', '10', '0.1', '99.9', '70', '100', '8']);
  const add = (text: string): void => {
    for (const number of numbersIn(text)) known.add(number);
  };
  const visit = (part: unknown, name: string): void => {
    if (typeof part === 'string') {
      add(printableLine(part));
      add(part);
    }
    if (typeof part === 'number' && name !== 'rows') {
      for (const format of [countText, shareText, timesText, dollarsText, hoursText, bytesText, String])
        add(format(part));
    }
    if (Array.isArray(part)) {
      add(String(part.length));
      for (const item of part) visit(item, name);
    } else if (typeof part === 'object' && part !== null) {
      for (const [inner, item] of Object.entries(part)) {
        add(inner);
        visit(item, inner);
      }
    }
  };
  visit(value, key);
  return known;
}

describe('page of a plan', () => {
  test('texts of documents stay texts', () => {
    const html = page(attacked);
    const { texts } = readTags(html);
    for (const text of ATTACKS) {
      expect(html).not.toContain(text);
      expect(texts.some((one) => one.text.includes(printableLine(text)))).toBe(true);
    }
    expect(printable(html)).toBe(html);
    expect(html.match(/<script|<img|onerror="|onmouseover="/g)).toBeNull();
  });

  test('the recommendation comes first, as one sentence', () => {
    const { texts } = readTags(page(tenants));
    const verdict = texts.filter(({ within }) =>
      within.some(({ attributes }) => attributes['class'] === 'verdict'),
    );
    expect(verdict.map(({ text }) => text).join('')).toBe('Migrate to /tenantId,/userId.');
    expect(page(tenants).indexOf('class="verdict"')).toBeLessThan(page(tenants).indexOf('id="candidates"'));
  });

  test.each([
    ['no workload', exactIndex, ['workload'], ['growth', 'heat', 'balance', 'values']],
    [
      'an empty container',
      emptyContainer,
      ['workload', 'growth', 'heat', 'balance', 'values', 'costs', 'breaks'],
      ['candidates', 'certainty'],
    ],
    [
      'everything',
      tenants,
      [],
      ['workload', 'growth', 'heat', 'balance', 'values', 'costs', 'breaks', 'certainty'],
    ],
  ])('%s -> only sections that have something to show', (_name, of, without, having) => {
    const ids = readTags(page(of)).tags.flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(without.filter((id) => ids.includes(id))).toEqual([]);
    expect(having.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test('a sample -> its ranges and its size are named', () => {
    const html = page(crowded);
    expect(html).toContain('about 31,400,000 (31,310,000 to 31,490,000)');
    expect(html).toContain('A sample of 1,570,000 documents was read');
  });

  test('eight candidates -> below 600 KB', () => {
    expect(page(crowded).length).toBeLessThan(600_000);
  });
});
