/**
 * The RU/s of each range, from the reports that a page has seen of a run. They are taken over the same time as the RU/s
 * of a side, so that both agree where requests come in bursts.
 */
import type { SideReport } from '../../../state/runs.ts';
import type { RangeRates } from '../ranges.ts';
import { WINDOW_MS } from './pace.ts';

type Report = Readonly<Record<'source' | 'target', SideReport>> & { readonly atMs: number };

export class ReportRates {
  /** The reports of a window, and the last one before it. */
  #seen: Report[] = [];

  add(report: Report): void {
    const last = this.#seen.at(-1);
    if (last?.atMs === report.atMs) return;
    // Another run counts from zero.
    if (last !== undefined && (report.source.ru < last.source.ru || report.target.ru < last.target.ru))
      this.#seen = [];
    this.#seen.push(report);
    const from = this.#seen.findLastIndex(({ atMs }) => atMs <= report.atMs - WINDOW_MS);
    if (from > 0) this.#seen.splice(0, from);
  }

  get current(): RangeRates {
    return { source: ratesOf(this.#seen, 'source'), target: ratesOf(this.#seen, 'target') };
  }
}

function ratesOf(seen: readonly Report[], side: 'source' | 'target'): ReadonlyMap<string, number> {
  const last = seen.at(-1);
  const rates = new Map<string, number>();
  for (const { id, ru } of last?.[side].ranges ?? [])
    for (const { atMs, [side]: before } of seen) {
      // A range of a split is in the reports since then.
      const from = before.ranges.find((range) => range.id === id);
      if (from === undefined || last === undefined || rates.has(id) || last.atMs <= atMs) continue;
      rates.set(id, Math.max(0, ru - from.ru) / ((last.atMs - atMs) / 1000));
    }
  return rates;
}
