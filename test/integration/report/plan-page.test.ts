import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planPage } from '../../../src/report/plan/page.ts';
import { Browser, CHROMIUM, type Page, type Screen } from '../../helpers/browser/browser.ts';
import { HARD_TO_READ, OVERLAPPING } from '../../helpers/browser/readable.ts';
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

    describe.each(RESULTS)('%s', (name, of) => {
      const open = async (screen: Screen): Promise<void> => {
        const path = join(folder, `${name}.html`);
        writeFileSync(path, planPage(of(), '1.2.3'));
        await page.show(screen);
        await page.open(pathToFileURL(path).href);
      };

      test.each(SCREENS)(
        '%s: everything is readable, and nothing runs over the edge',
        async (_name, screen) => {
          await open(screen);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width);
          expect(await page.evaluate<string[]>(HARD_TO_READ)).toEqual([]);
          expect(await page.evaluate<string[]>(OVERLAPPING)).toEqual([]);
          expect(page.complaints).toEqual([]);
        },
      );

      test('the browser finds no fault in the page, and no script, image or frame', async () => {
        await open({ width: 1280, height: 800 });
        const strict = `new DOMParser().parseFromString(new XMLSerializer().serializeToString(document), 'application/xhtml+xml').querySelector('parsererror')?.textContent ?? null`;
        expect(await page.evaluate(strict)).toBeNull();
        expect(
          await page.evaluate(
            `document.querySelectorAll('script,img,image,iframe,object,embed,link,form').length`,
          ),
        ).toBe(0);
        expect(page.complaints).toEqual([]);
      });

      test('a screen reader gets a name and a description for every picture, and tables as tables', async () => {
        await open({ width: 390, height: 844 });
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
        await open({ width: 794, height: 1123, dark: true });
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

interface AccessibilityNode {
  readonly ignored: boolean;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
  readonly description?: { readonly value: string };
}
