/** `cosmig status --report` of a whole migration: each figure against the data, and the page in a real browser. */
// A second argument names the screen on which the page was hard to read.
// oxlint-disable vitest/valid-expect
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { effectiveKey } from '../../../src/epk/effective-key.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { reportPage } from '../../../src/report/status/report-file.ts';
import { lastSpread, type PartitionCount } from '../../../src/verify/spread.ts';
import { verifyPath } from '../../../src/verify/store.ts';
import { Browser, CHROMIUM } from '../../helpers/browser/browser.ts';
import { HARD_TO_READ, seriousFaults } from '../../helpers/browser/readable.ts';
import { Move, type Order } from '../../helpers/migration/move.ts';
import { cosmig } from '../../helpers/migration/typed.ts';
import { putAll, verifyMove } from '../../helpers/migration/verify.ts';

/** One customer has more than half of all orders; the tenants are even. */
const orders: Order[] = Array.from({ length: 400 }, (_none, n) => ({
  id: `o${n}`,
  customerId: n % 5 < 3 ? 'big' : `c${n}`,
  tenantId: `t${n % 80}`,
  text: 'x'.repeat(200),
}));

const textIn = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

/** How many of the orders are in an interval of the hash space by the values of one property. */
function countedIn({ min, max }: PartitionCount, property: string): number {
  return orders.filter((order) => {
    const key = effectiveKey('hash-v2', [String(order[property])]);
    return key >= min && key < max;
  }).length;
}

describe('status --report', () => {
  let move: Move;
  const page = (): string => reportPage(move.ledgerPath, systemClock.now());

  beforeAll(async () => {
    const partitioned = (path: string, throughput: number): object => ({
      throughput,
      partitionKey: { paths: [path], kind: 'Hash', version: 2 },
    });
    move = await Move.open({
      source: partitioned('/customerId', 30_000),
      target: partitioned('/tenantId', 42_000),
    });
    await putAll(move, orders);
  });
  afterAll(async () => {
    await move[Symbol.asyncDispose]();
  });

  test('before the migration and before a comparison -> says what is not known, and why', async () => {
    expect(textIn(page())).toContain('No migration has begun');
    expect((await cosmig(move, 'copy')).code).toBe(0);
    const text = textIn(page());
    expect(text).toContain('the documents of each partition are counted by cosmig verify');
    expect(text).toContain('What this migration used to read the source and to write the target.');
    expect(text).not.toContain('The last cutover, step by step');
  });

  test('after a comparison -> the documents of each partition are those that hash there', async () => {
    // Another customer's order with the id and the tenant of one that was copied.
    await move.put({ id: 'o0', customerId: 'c-second', tenantId: 't0' });
    expect((await cosmig(move, 'tail', '--until-caught-up')).code).toBe(5);
    expect(textIn(page())).toContain('1 document not in the target');
    await move.source.item('o0', 'c-second').delete();
    await cosmig(move, 'dead-letters', 'retry', '--all');
    expect((await cosmig(move, 'verify')).code).toBe(0);
    const spread = lastSpread(verifyPath(move.ledgerPath));
    const sides = [
      [spread?.counts.source ?? [], 'customerId', 5],
      [spread?.counts.target ?? [], 'tenantId', 7],
    ] as const;
    for (const [counts, property, partitions] of sides) {
      expect(counts).toHaveLength(partitions);
      expect(counts.map(({ documents }) => documents)).toEqual(counts.map((one) => countedIn(one, property)));
    }
    const share = (counts: readonly PartitionCount[]): string =>
      `${Math.round((Math.max(...counts.map(({ documents }) => documents)) / 400) * 100)} %`;
    const [before, after] = [share(sides[0][0]), share(sides[1][0])];
    expect(textIn(page())).toContain(
      `The fullest partition has ${before} of the documents before (even: 20 %), ${after} after (even: 14 %).`,
    );
  });

  test('a comparison of other settings, and a comparison that runs -> not taken for the counts', async () => {
    const before = lastSpread(verifyPath(move.ledgerPath));
    await expect(
      verifyMove(move, {
        fresh: true,
        timing: { pageSize: 20 },
        onProgress: () => {
          expect(lastSpread(verifyPath(move.ledgerPath))).toEqual(before);
          throw new Error('stopped in the middle');
        },
      }),
    ).rejects.toThrow('stopped in the middle');
    expect(lastSpread(verifyPath(move.ledgerPath))).toEqual(before);
  });

  test('a split while the source is read -> the halves are counted together, and the sum is right', async () => {
    const { source = [] } = lastSpread(verifyPath(move.ledgerPath))?.counts ?? {};
    const [rangeId = ''] = source.toSorted((one, other) => other.documents - one.documents)[0]?.ids ?? [];
    const splits: Array<Promise<unknown>> = [];
    await verifyMove(move, {
      fresh: true,
      timing: { pageSize: 5 },
      onProgress: ({ source: read }) => {
        // The others have 160 documents together, so the fullest partition is being read.
        if (read > 200 && splits.length === 0) splits.push(move.admin.split('shop/orders', { rangeId }));
      },
    });
    await Promise.all(splits);
    const counts = lastSpread(verifyPath(move.ledgerPath))?.counts.source ?? [];
    expect(counts.some(({ ids }) => ids.length > 1)).toBe(true);
    expect(counts.map(({ documents }) => documents)).toEqual(
      counts.map((one) => countedIn(one, 'customerId')),
    );
    expect(textIn(page())).toContain('Partitions that were split while they were read are counted together.');
  });

  test('after a cutover -> counts, history, proof, dead letters, the timeline and the events are in one file', async () => {
    expect((await cosmig(move, 'verify', '--fresh')).code).toBe(0);
    expect((await cosmig(move, 'cutover', '--on-fence', 'false')).code).toBe(3);
    const backedOut = textIn(page());
    expect(backedOut).toContain('The last cutover, step by step');
    expect(backedOut).toContain('The writers are being stopped');
    expect(backedOut).toContain('The cutover ended without a commit');
    const argv = ['--on-fence', 'true', '--quiet-for', '1s', '--watch-writes', '1s'];
    expect((await cosmig(move, 'cutover', ...argv)).code).toBe(0);
    const text = textIn(page());
    for (const shown of [
      'The target is in use Keep the source for as long as you may need it.',
      'copied',
      'Before and after',
      '400 documents',
      'Since the beginning',
      'Both sides were equal',
      'Committed; the writers were stopped for',
      'writers stopped: ',
      'Every change was replicated while the writers were stopped',
      'The watch for late writes ended',
      'None is open. 1 closed',
    ])
      expect(text).toContain(shown);
    expect(lastSpread(verifyPath(move.ledgerPath))?.counts.source).toHaveLength(6);
  });

  test.skipIf(CHROMIUM === undefined)(
    'in a browser -> readable on a phone, on a screen and on paper, and loads nothing',
    async () => {
      const path = join(dirname(move.ledgerPath), 'report.html');
      writeFileSync(path, page());
      await using browser = await Browser.open(CHROMIUM ?? '');
      const shown = await browser.page();
      await shown.open(pathToFileURL(path).href);
      const keep = process.env['COSMIG_PICTURES'];
      for (const screen of [
        { width: 390, height: 844, dark: true },
        { width: 390, height: 844 },
        { width: 1280, height: 900 },
        { width: 1280, height: 900, dark: true },
      ]) {
        const what = JSON.stringify(screen);
        await shown.show(screen);
        expect(await shown.evaluate('document.documentElement.scrollWidth'), what).toBe(screen.width);
        expect(await shown.evaluate<string[]>(HARD_TO_READ), what).toEqual([]);
        expect(await seriousFaults(shown), what).toEqual([]);
        if (keep !== undefined)
          writeFileSync(
            join(keep, `report-${screen.width}${screen.dark === true ? '-dark' : ''}.png`),
            await shown.screenshot(),
          );
      }
      // Paper is light, whatever the screen prefers.
      const features = [{ name: 'prefers-color-scheme', value: 'dark' }];
      await shown.send('Emulation.setEmulatedMedia', { media: 'print', features });
      expect(await shown.evaluate<string[]>(HARD_TO_READ), 'paper').toEqual([]);
      expect(await shown.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
        'rgb(255, 255, 255)',
      );
      const pdf = await shown.pdf();
      if (keep !== undefined) writeFileSync(join(keep, 'report.pdf'), pdf);
      expect(pdf.length).toBeGreaterThan(10_000);
      expect(await shown.evaluate('document.scripts.length')).toBe(0);
      expect(shown.complaints).toEqual([]);
    },
  );
});
