import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planPage } from '../../../src/report/plan/page.ts';
import { Browser, CHROMIUM, type Page, type Screen } from '../../helpers/browser/browser.ts';
import { HARD_TO_READ, OVERLAPPING, seriousFaults } from '../../helpers/browser/readable.ts';
import { Move } from '../../helpers/migration/move.ts';
import { typed } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { RESULTS } from '../../unit/report/plan/results.ts';

const SCREENS: ReadonlyArray<readonly [name: string, screen: Screen]> = [
  ['phone, light', { width: 360, height: 740 }],
  ['phone, dark', { width: 390, height: 844, dark: true }],
  ['tablet, light', { width: 768, height: 1024 }],
  ['laptop, light', { width: 1280, height: 800 }],
  ['laptop, dark', { width: 1440, height: 900, dark: true }],
];

describe.skipIf(CHROMIUM === undefined)(
  'page of a plan in a browser (skipped where Chromium is missing)',
  () => {
    let browser: Browser;
    let page: Page;
    let folder: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'cosmig-page-'));
      browser = await Browser.open(CHROMIUM ?? '');
      page = await browser.page();
    });

    afterAll(async () => {
      await browser[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    });

    describe.each([...RESULTS, ['measured', null] as const])('%s', (name, of) => {
      const path = (): string => join(folder, `${name}.html`);
      if (of === null) beforeAll(async () => measured(path()), 60_000);

      if (of !== null) beforeAll(() => writeFileSync(path(), planPage(of(), '1.2.3')));
      // The page has no scripts, so that on another screen it is as if it had been loaded there.
      beforeAll(async () => page.open(pathToFileURL(path()).href));

      test.each(SCREENS)(
        '%s: everything is readable, and nothing runs over the edge',
        async (_name, screen) => {
          await page.show(screen);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width);
          expect(await page.evaluate<string[]>(HARD_TO_READ)).toEqual([]);
          expect(await page.evaluate<string[]>(OVERLAPPING)).toEqual([]);
          expect(page.complaints).toEqual([]);
        },
      );

      test('the browser finds no fault in the page, and no script, image or frame', async () => {
        await page.show({ width: 1280, height: 800 });
        const strict = `new DOMParser().parseFromString(new XMLSerializer().serializeToString(document), 'application/xhtml+xml').querySelector('parsererror')?.textContent ?? null`;
        expect(await page.evaluate(strict)).toBeNull();
        expect(
          await page.evaluate(
            `document.querySelectorAll('script,img,image,iframe,object,embed,link,form').length`,
          ),
        ).toBe(0);
        expect(page.complaints).toEqual([]);
        expect(await seriousFaults(page)).toEqual([]);
      });

      test('a screen reader gets a name and a description for every picture, and tables as tables', async () => {
        await page.show({ width: 390, height: 844 });
        const { nodes } = await page.send('Accessibility.getFullAXTree');
        const shown = (nodes as readonly AccessibilityNode[]).filter(({ ignored }) => !ignored);
        const roles = shown.map(({ role }) => role?.value);
        const pictures = shown.filter(({ role }) => role?.value === 'image' || role?.value === 'img');
        expect(
          pictures.filter(
            (node) => (node.name?.value ?? '') === '' || (node.description?.value ?? '') === '',
          ),
        ).toEqual([]);
        expect(roles.filter((role) => role === 'main')).toHaveLength(1);
        // The table of candidates is drawn as cards here.
        expect(roles).toEqual(expect.arrayContaining(['table', 'row', 'cell', 'rowheader', 'heading']));
      });

      test('printed in dark mode: on white, and within the paper', async () => {
        await page.show({ width: 794, height: 1123, dark: true });
        await page.send('Emulation.setEmulatedMedia', {
          media: 'print',
          features: [{ name: 'prefers-color-scheme', value: 'dark' }],
        });
        expect(await page.evaluate<string[]>(HARD_TO_READ)).toEqual([]);
        expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(28, 32, 38)');
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(794);
        expect((await page.pdf()).subarray(0, 5).toString()).toBe('%PDF-');
      });
    });
  },
);

/** The page of a container that is measured and observed, with the queries of a workload file. */
async function measured(page: string): Promise<void> {
  await using move = await Move.open({ source: { throughput: 30_000 } });
  const orders = Array.from({ length: 800 }, (_none, n) => ({
    id: `o${n}`,
    customerId: n % 10 < 7 ? 'the giant of all customers' : `c${n % 9}`,
    tenantId: `t${n % 220}`,
    createdAt: new Date(Date.now() - n * 3_600_000).toISOString(),
  }));
  await putAll(move, orders);
  const workload = `${page}.yaml`;
  writeFileSync(
    workload,
    `queries:
  - query: SELECT * FROM c WHERE c.tenantId = @tenant
    perSecond: 5
  - query: SELECT * FROM c WHERE UPPER(c.customerId) = @name OR c.total > 10
    perSecond: 1
`,
  );
  const argv = ['plan', '--source', 'shop/orders', '--created', '/createdAt', '--observe', '2s'];
  const planning = typed(move, ...argv, '--workload', workload, '--report', page);
  const writing = new AbortController();
  const written = (async () => {
    for (let n = 0; !writing.signal.aborted; n += 1)
      await move.source.items.upsert({ ...orders[n % 20], tenantId: `t${n % 50}` });
  })();
  const { code, stderr } = await planning;
  writing.abort();
  await written;
  if (code !== 0) throw new Error(stderr);
}

interface AccessibilityNode {
  readonly ignored: boolean;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
  readonly description?: { readonly value: string };
}
