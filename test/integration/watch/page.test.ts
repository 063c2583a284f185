/** The live page in a real browser, from before the migration to after its cutover. */
// A second argument names the state in which the page was hard to read.
// oxlint-disable vitest/valid-expect
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { LivePage } from '../../../src/report/watch/live.ts';
import { startWatch, type RunningWatch } from '../../../src/watch/server.ts';
import { Browser, CHROMIUM, type Page } from '../../helpers/browser/browser.ts';
import { HARD_TO_READ, OVERLAPPING, seriousFaults } from '../../helpers/browser/readable.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig, start } from '../../helpers/migration/typed.ts';
import { putAll } from '../../helpers/migration/verify.ts';
import { until } from '../../helpers/wait.ts';

const orders: Order[] = Array.from({ length: 300 }, (_none, n) => ({
  id: `o${n}`,
  customerId: `c${n % 9}`,
  tenantId: `t${n % 40}`,
  n,
}));

const SCREENS = [
  { width: 390, height: 844 },
  { width: 1280, height: 800, dark: true },
  { width: 2560, height: 1440 },
];

describe.skipIf(CHROMIUM === undefined)('live page in a browser (skipped where Chromium is missing)', () => {
  let move: Move;
  let server: RunningWatch;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    move = await Move.open({ source: { throughput: 20_000 }, target: { throughput: 20_000 } });
    server = await startWatch({
      port: 0,
      token: 'secret',
      shown: new LivePage(move.ledgerPath, { clock: systemClock, version: '1.2.3' }),
      clock: systemClock,
      signal: new AbortController().signal,
    });
    browser = await Browser.open(CHROMIUM ?? '');
    page = await browser.page();
    await page.open(server.url);
  }, 60_000);

  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    await server.close();
    await move[Symbol.asyncDispose]();
  });

  const textOf = async (selector: string): Promise<string> =>
    page.evaluate(`[...document.querySelectorAll('${selector}')].map((one) => one.textContent).join(' | ')`);

  /** Where the partitions are on a screen of 1280 px: nothing above them may make them jump. */
  const topOfRanges = async (): Promise<number> => {
    await page.show({ width: 1280, height: 800 });
    return page.evaluate(`document.getElementById('ranges').getBoundingClientRect().top`);
  };

  /** Waits until the page shows this by itself, and looks at it on every screen. */
  const shows = async (selector: string, wanted: string | RegExp): Promise<void> => {
    const what = `${selector} to show ${String(wanted)}`;
    await until(async () => (await textOf(selector)).search(wanted) >= 0, { what });
    for (const screen of SCREENS) {
      await page.show(screen);
      expect(await page.evaluate('document.documentElement.scrollWidth'), what).toBe(screen.width);
      expect(await page.evaluate<string[]>(HARD_TO_READ), what).toEqual([]);
      expect(await page.evaluate<string[]>(OVERLAPPING), what).toEqual([]);
    }
    expect(await seriousFaults(page), what).toEqual([]);
  };

  test('from before the migration to after the cutover -> each state is shown without a reload', async () => {
    await shows('h1', 'No migration has begun');
    await page.evaluate('window.wasLoaded = true');
    await putAll(move, orders);
    expect((await cosmig(move, 'copy')).code).toBe(0);
    await shows('h1', /^No run since \d\d:\d\d UTC$/);
    await shows('.stages .here', 'Tail');
    await shows('#work', /300/);
    await shows('#events', 'The copy is complete');

    const tail = start(move, 'tail');
    await shows('h1', 'Replicating changes');
    const top = await topOfRanges();
    const partitions = async (): Promise<number> =>
      page.evaluate(`document.querySelectorAll('#ranges .tile').length`);
    const before = await partitions();
    await move.admin.split('shop/orders');
    await until(async () => (await partitions()) > before, { what: 'the split to be shown' });
    await shows('#ranges .tile title', 'new from a split or a merge');

    await move.admin.faults([
      { match: { op: 'batch', coll: 'by-tenant' }, effect: { status: 429, retryAfterMs: 1000 } },
    ]);
    await putAll(move, orders.slice(0, 40));
    await shows('.headline.wait', /It waits: throttled by the target \(range \d+, \d+ s\)\./);
    await shows('.figure.caution', /Target, RU\/s.*429 (once|[1-9]\d* times)/);
    await shows('#work', /[1-9]\d* in flight, the oldest for \d/);
    await until(async () => page.evaluate(`document.querySelector('#ranges .rest') !== null`), {
      what: 'a partition that rests',
    });
    expect(await topOfRanges()).toBe(top);
    await move.admin.calm();
    await shows('.headline.good', 'cosmig tail is running.');
    await shows('#work', 'none in flight');
    expect(await topOfRanges()).toBe(top);
    await shows('#moved', /Created300 .*Updated40 .*Moved0 .*Deleted0 /);
    tail.kill('SIGKILL');
    await tail.ended;
    await shows('h1', 'cosmig tail was killed or crashed');

    expect((await cosmig(move, 'verify')).code).toBe(0);
    await shows('#proof', 'Both sides were equal');
    expect((await cosmig(move, 'cutover', '--on-fence', 'false')).code).toBe(3);
    await shows('h1', 'The cutover backed out');
    expect(
      (await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s')).code,
    ).toBe(0);
    await shows('h1', 'The target is in use');
    await shows('#cutover', 'Committed; the writers were stopped for');
    await shows('.steps', /comparing/);
    await shows('#history', /Since the beginning/);

    expect(await page.evaluate('window.wasLoaded')).toBe(true);
    expect(await page.evaluate('document.title')).toBe('shop/orders -> shop/by-tenant');
    const own = `requested ${server.url}`;
    expect(page.complaints.filter((complaint) => !complaint.startsWith(own))).toEqual([]);
  }, 180_000);

  test('the server ends -> the page says that it shows the last state', async () => {
    await server.close();
    await until(async () => (await textOf('#link')).includes('has ended'), { what: 'the end to be shown' });
    expect(await textOf('h1')).toBe('The target is in use');
  });
});
