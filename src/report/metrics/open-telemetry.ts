/**
 * The figures of /metrics as instruments of OpenTelemetry, where something else in this process has registered a meter
 * provider: an application that calls cosmig, or a module that node loads before cosmig (NODE_OPTIONS). Invariants:
 * cosmig depends on no package for it, no exporter can fail or delay the command for longer than FLUSH_WITHIN_MS, and
 * without a provider nothing is done.
 */
import type { Clock } from '../../lib/clock.ts';
import { readVersion } from '../../lib/version.ts';
import type { Labels, Metric, Sample } from './exposition.ts';

/** Where every version 1 of `@opentelemetry/api` finds what any of them has registered. */
const API = Symbol.for('opentelemetry.js.api.1');
/** Instruments that are read at the same time share one look at the files. */
const FRESH_MS = 500;
/** How often new instruments are looked for. A figure that was not known yet has none. */
const LOOK_EVERY_MS = 5000;
/** How long the end waits until the last figures are exported. */
const FLUSH_WITHIN_MS = 3000;

/** The parts of the API that are used here, as version 1 defines them. */
export interface MeterProvider {
  getMeter(name: string, version: string): Meter;
  /** Of the SDK, not of the API. */
  forceFlush?(): Promise<void>;
}
interface Meter {
  createObservableCounter(name: string, options: InstrumentOptions): Observable;
  createObservableGauge(name: string, options: InstrumentOptions): Observable;
}
interface InstrumentOptions {
  readonly description: string;
  readonly unit?: string;
}
interface Observable {
  addCallback(callback: ReadInstrument): void;
  removeCallback(callback: ReadInstrument): void;
}
type ReadInstrument = (result: { observe(value: number, attributes: Labels): void }) => void;

/** Returns the provider that was registered in this process; null: none was. */
export function registeredProvider(): MeterProvider | null {
  const api = (globalThis as { [API]?: { readonly metrics?: MeterProvider } })[API];
  return api?.metrics ?? null;
}

interface TelemetryParts {
  readonly provider: MeterProvider;
  readonly read: () => readonly Metric[];
  readonly clock: Clock;
  /** Reports that the provider does not work. Called once. */
  readonly warn: (text: string) => void;
}

/** Runs `body`. Meanwhile the provider gets the figures that `read` returns. */
export async function withOpenTelemetry<T>(
  { provider, read, clock, warn }: TelemetryParts,
  body: () => Promise<T>,
): Promise<T> {
  const instruments = new Instruments({ provider, read, clock, warn });
  const over = new AbortController();
  const keep = async (): Promise<void> => {
    while (!over.signal.aborted) {
      instruments.add();
      await clock.sleep(LOOK_EVERY_MS, over.signal);
    }
  };
  // Its sleep rejects when the command is over; `add` does not throw.
  const keeping = keep().catch(() => {});
  try {
    return await body();
  } finally {
    over.abort(new Error('the command is over'));
    await keeping;
    instruments.add();
    await flush(provider, clock);
    instruments.remove();
  }
}

/** Lets the SDK export what there is now: the process may exit before the next time it would. */
async function flush(provider: MeterProvider, clock: Clock): Promise<void> {
  const over = new AbortController();
  const flushed = async (): Promise<void> => {
    try {
      await provider.forceFlush?.();
    } catch {
      // The exporter reports it where the SDK reports its errors.
    }
  };
  const limit = clock.sleep(FLUSH_WITHIN_MS, over.signal).catch(() => {});
  await Promise.race([flushed(), limit]);
  over.abort(new Error('the figures are exported'));
  await limit;
}

/** Invariant: a provider that throws costs a warning, not the command. */
class Instruments {
  readonly #parts: TelemetryParts;
  readonly #added = new Map<string, readonly [Observable, ReadInstrument]>();
  #last: { readonly metrics: ReadonlyMap<string, Metric>; readonly readMs: number } | undefined;
  #hasWarned = false;

  constructor(parts: TelemetryParts) {
    this.#parts = parts;
  }

  /** Looks at the files again, and adds an instrument for each figure that is known and has none. */
  add(): void {
    this.#safely(() => {
      this.#last = undefined;
      const meter = this.#parts.provider.getMeter('cosmig', readVersion());
      for (const metric of this.#metrics().values())
        // An instrument that is read now and then cannot carry a histogram.
        if (metric.type !== 'histogram' && !this.#added.has(metric.name) && metric.samples.some(isKnown))
          this.#added.set(metric.name, this.#instrument(meter, metric));
    });
  }

  remove(): void {
    this.#safely(() => {
      for (const [instrument, callback] of this.#added.values()) instrument.removeCallback(callback);
    });
  }

  #instrument(
    meter: Meter,
    { name, type, help, unit }: Metric,
  ): readonly [instrument: Observable, callback: ReadInstrument] {
    const options = { description: help, ...(unit === undefined ? {} : { unit: 's' }) };
    const full = `cosmig_${name}${type === 'info' ? '_info' : ''}`;
    const instrument =
      type === 'counter'
        ? meter.createObservableCounter(full, options)
        : meter.createObservableGauge(full, options);
    const callback: ReadInstrument = (result) =>
      this.#safely(() => {
        for (const [labels, value] of this.#metrics().get(name)?.samples ?? [])
          if (value !== null && Number.isFinite(value)) result.observe(value, labels);
      });
    instrument.addCallback(callback);
    return [instrument, callback];
  }

  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (this.#hasWarned) return;
      this.#hasWarned = true;
      this.#parts.warn(
        `the figures cannot be given to OpenTelemetry: ${String(error)}; the command does not need it`,
      );
    }
  }

  #metrics(): ReadonlyMap<string, Metric> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#last === undefined || nowMs - this.#last.readMs >= FRESH_MS) {
      const metrics = new Map(this.#parts.read().map((metric) => [metric.name, metric]));
      this.#last = { metrics, readMs: nowMs };
    }
    return this.#last.metrics;
  }
}

function isKnown([, value]: Sample): boolean {
  return value !== null && Number.isFinite(value);
}
