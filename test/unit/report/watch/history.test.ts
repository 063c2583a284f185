/** The curves of a page that is opened after twelve hours, with a pause in the middle. */
import { expect, test } from 'vitest';
import { partsOf } from '../../../../src/report/watch/page.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import { beginLease, NOW_MS } from '../../state/making.ts';
import { factsOf } from './making.ts';

const HOUR_MS = 3_600_000;
const NO_RATES = { source: new Map(), target: new Map() };

/** Reports every 20 s; nothing runs from hour 5 to hour 8. */
function twelveHours(ledger: Ledger): void {
  beginLease(ledger, { phase: 'tail' });
  ledger.migration.enter({ phase: 'tailing', why: null }, NOW_MS);
  ledger.runs.begin({ command: 'tail', pid: 1, nowMs: NOW_MS });
  let read = 0;
  for (let passedMs = 0; passedMs <= 12 * HOUR_MS; passedMs += 20_000) {
    if (passedMs > 5 * HOUR_MS && passedMs < 8 * HOUR_MS) continue;
    read += passedMs < 5 * HOUR_MS ? 20_000 : 200;
    ledger.history.add({
      atMs: NOW_MS + passedMs,
      command: 'tail',
      read,
      written: read,
      deleted: 0,
      moved: 0,
      sourceRu: read,
      targetRu: read * 5,
      throttled: 0,
      openLetters: 0,
      lagSeconds: 3,
    });
  }
}

test('history of twelve hours with a pause -> all of it, at its rates, and no line through the pause', () => {
  const { history = '' } = partsOf(factsOf(twelveHours, NOW_MS + 12 * HOUR_MS), NO_RATES);
  expect(history).toContain('Since the beginning <span class="muted">12 h; times in UTC</span>');
  const [documents = '', ru = '', lag = ''] = history.split('<figure>').slice(1);
  expect(documents).toContain('Up to 1,000 documents a second, now 10.');
  expect(ru).toContain('Source: Up to 1,000 RU/s, now 10. Target: Up to 5,000 RU/s, now 50.');
  expect(lag).toContain('Up to 3 seconds, now 3.');
  const linesOf = (figure: string): number[][][] =>
    [...figure.matchAll(/<polyline [^>]*points="([^"]+)"/g)].map(([, points = '']) =>
      points.split(' ').map((point) => point.split(',').map(Number)),
    );
  const lines = linesOf(documents);
  expect([lines, linesOf(ru), linesOf(lag)].map(({ length }) => length)).toEqual([2, 4, 2]);
  const xOf = (line: number, at: number): number => lines[line]?.at(at)?.[0] ?? 0;
  // The axis is 328 units long and begins at 46: a twelfth of it is an hour.
  const hourAt = (x: number): number => ((x - 46) / 328) * 12;
  expect(hourAt(xOf(0, 0))).toBeLessThan(0.3);
  expect(hourAt(xOf(0, -1))).toBeCloseTo(5, 0);
  expect(hourAt(xOf(1, 0))).toBeGreaterThan(7.9);
  expect(hourAt(xOf(1, -1))).toBeGreaterThan(11.8);
  // A page is sent every second, so it stays small however long the history is.
  expect(history.length).toBeLessThan(20_000);
});
