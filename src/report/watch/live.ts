/** What the server of the live page shows: the newest state of one migration, and how fast its ranges are. */
import type { Clock } from '../../lib/clock.ts';
import type { MetricsFormat } from '../../watch/accept.ts';
import type { Shown } from '../../watch/server.ts';
import { metricsOf } from '../metrics/metrics.ts';
import type { Facts } from './facts.ts';
import { FreshRanges } from './rates/fresh-ranges.ts';
import { ReportRates } from './rates/range-rates.ts';
import { readNewestFacts } from './newest-turn.ts';
import { LIVE_POLICY, partsOf, watchPage, type PageParts } from './page.ts';

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
