/** What the server of the live page shows: the newest state of one migration, and how fast its ranges are. */
import type { Clock } from '../../lib/clock.ts';
import type { SideReport } from '../../state/runs.ts';
import type { MetricsFormat } from '../../watch/accept.ts';
import type { Shown } from '../../watch/server.ts';
import { metricsOf } from '../metrics/metrics.ts';
import type { Facts } from './facts.ts';
import { FreshRanges } from './rates/fresh-ranges.ts';
import { readNewestFacts } from './newest-turn.ts';
import { LIVE_POLICY, partsOf, watchPage, type PageParts } from './page.ts';
import type { RangeRates } from './ranges.ts';

/** Viewers and scrapers that come at the same time share one look at the files. */
const FRESH_MS = 500;

export class LivePage implements Shown {
  readonly policy = LIVE_POLICY;
  readonly #ledger: string;
  readonly #clock: Clock;
  readonly #version: string;
  readonly #rates = new ReportRates();
  readonly #fresh = new FreshRanges();
  #migration: string | undefined;
  #last: { readonly facts: Facts; readonly lookedMs: number } | undefined;

  constructor(ledger: string, { clock, version }: { readonly clock: Clock; readonly version: string }) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#version = version;
  }

  page(): string {
    return watchPage(this.#look(), this.parts(), { live: true, version: this.#version });
  }

  parts(): PageParts {
    return partsOf(this.#look(), this.#rates.current, this.#fresh.at(this.#clock.monotonicMs()));
  }

  metrics(format: MetricsFormat): string {
    const facts = this.#look();
    // A ledger that can no longer be read keeps its name.
    if (facts.is === 'known') this.#migration = facts.status.migration;
    return metricsOf(facts, { format, version: this.#version, migration: this.#migration });
  }

  #look(): Facts {
    const nowMs = this.#clock.monotonicMs();
    if (this.#last === undefined || nowMs - this.#last.lookedMs >= FRESH_MS) {
      const facts = readNewestFacts(this.#ledger, this.#clock.now());
      if (facts.is === 'known' && facts.report !== null) this.#rates.add(facts.report);
      if (facts.is === 'known') this.#fresh.add(facts, nowMs);
      this.#last = { facts, lookedMs: nowMs };
    }
    return this.#last.facts;
  }
}

type Report = Readonly<Record<'source' | 'target', SideReport>> & { readonly atMs: number };

/** The RU/s of each range between the last two reports of a run. */
class ReportRates {
  current: RangeRates = { source: new Map(), target: new Map() };
  #last: Report | undefined;

  add(report: Report): void {
    const last = this.#last;
    if (last?.atMs === report.atMs) return;
    this.#last = report;
    if (last === undefined) return;
    const rates = (side: 'source' | 'target'): Map<string, number> => ratesOf(last, report, side);
    this.current = { source: rates('source'), target: rates('target') };
  }
}

function ratesOf(last: Report, report: Report, side: 'source' | 'target'): Map<string, number> {
  const before = new Map(last[side].ranges.map(({ id, ru }) => [id, ru]));
  const passedS = (report.atMs - last.atMs) / 1000;
  return new Map(
    report[side].ranges.flatMap(({ id, ru }): Array<[string, number]> => {
      const from = before.get(id);
      // Another run counts from zero.
      return from === undefined || ru < from || passedS <= 0 ? [] : [[id, (ru - from) / passedS]];
    }),
  );
}
