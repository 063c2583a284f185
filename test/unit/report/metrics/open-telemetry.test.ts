/** The figures as instruments of a meter provider that something else in the process has registered. */
import { afterEach, expect, test } from 'vitest';
import type { Metric } from '../../../../src/report/metrics/exposition.ts';
import {
  registeredProvider,
  withOpenTelemetry,
  type MeterProvider,
} from '../../../../src/report/metrics/open-telemetry.ts';
import { HurriedClock, VirtualClock } from '../../../helpers/clock.ts';

const API = Symbol.for('opentelemetry.js.api.1');
type Read = Parameters<
  ReturnType<ReturnType<MeterProvider['getMeter']>['createObservableGauge']>['addCallback']
>[0];

/** Keeps the instruments, and reads them when they are exported. */
class Recorder implements MeterProvider {
  readonly instruments = new Map<string, { readonly about: readonly unknown[]; readonly reads: Set<Read> }>();
  exported: Array<readonly [name: string, value: number, labels: object]> = [];

  getMeter(): ReturnType<MeterProvider['getMeter']> {
    const create =
      (kind: string) =>
      (name: string, { description, unit }: { readonly description: string; readonly unit?: string }) => {
        const reads = new Set<Read>();
        this.instruments.set(name, { about: [kind, unit, description], reads });
        return {
          addCallback: (read: Read) => void reads.add(read),
          removeCallback: (read: Read) => void reads.delete(read),
        };
      };
    return { createObservableCounter: create('counter'), createObservableGauge: create('gauge') };
  }

  async forceFlush(): Promise<void> {
    for (const [name, { reads }] of this.instruments)
      for (const read of reads)
        read({ observe: (value, labels) => void this.exported.push([name, value, labels]) });
  }
}

const metric = (name: string, value: number | null, more: Partial<Metric> = {}): Metric => ({
  name,
  type: 'gauge',
  help: `what ${name} is`,
  samples: [[{ side: 'source' }, value]],
  ...more,
});

let warnings: string[] = [];
const warn = (text: string): void => void warnings.push(text);

afterEach(() => {
  warnings = [];
  delete (globalThis as { [API]?: unknown })[API];
});

test('open telemetry: nothing is registered, or only traces -> no provider', () => {
  expect(registeredProvider()).toBeNull();
  Object.assign(globalThis, { [API]: { version: '1.9.0' } });
  expect(registeredProvider()).toBeNull();
  const provider = new Recorder();
  Object.assign(globalThis, { [API]: { version: '1.9.0', metrics: provider } });
  expect(registeredProvider()).toBe(provider);
});

test('open telemetry: counters, gauges, units, what is unknown -> the last figures are exported, then nothing', async () => {
  const provider = new Recorder();
  let read = 1;
  const figures = (): Metric[] => [
    metric('documents_read', read, { type: 'counter' }),
    metric('feed_lag_seconds', 2.5, { unit: 'seconds' }),
    metric('build', 1, { type: 'info' }),
    metric('waiting', null),
    metric('request_duration_seconds', 3, { type: 'histogram', unit: 'seconds' }),
  ];
  const clock = new HurriedClock();
  const result = await withOpenTelemetry({ provider, read: figures, clock, warn }, async () => {
    read = 7;
    clock.advance(1000);
    return 'the result';
  });
  expect(result).toBe('the result');
  expect([...provider.instruments].map(([name, { about }]) => [name, ...about])).toEqual([
    ['cosmig_documents_read', 'counter', undefined, 'what documents_read is'],
    ['cosmig_feed_lag_seconds', 'gauge', 's', 'what feed_lag_seconds is'],
    ['cosmig_build_info', 'gauge', undefined, 'what build is'],
  ]);
  const labels = { side: 'source' };
  expect(provider.exported).toEqual([
    ['cosmig_documents_read', 7, labels],
    ['cosmig_feed_lag_seconds', 2.5, labels],
    ['cosmig_build_info', 1, labels],
  ]);
  await provider.forceFlush();
  expect(provider.exported).toHaveLength(3);
});

test('open telemetry: a figure that becomes known later -> an instrument within 5 s', async () => {
  const provider = new Recorder();
  const clock = new VirtualClock();
  let lag: number | null = null;
  await withOpenTelemetry({ provider, read: () => [metric('lag', lag)], clock, warn }, async () => {
    expect([...provider.instruments.keys()]).toEqual([]);
    lag = 4;
    clock.advance(5000);
    await new Promise((resolve) => void setImmediate(resolve));
    expect([...provider.instruments.keys()]).toEqual(['cosmig_lag']);
  });
});

test.each<readonly [string, Partial<MeterProvider>]>([
  ['never ends', { forceFlush: () => new Promise<void>(() => {}) }],
  ['fails', { forceFlush: () => Promise.reject(new Error('no collector')) }],
])('open telemetry: the export %s -> the command ends as without it', async (_what, broken) => {
  const provider = Object.assign(new Recorder(), broken);
  const clock = new HurriedClock();
  const began = clock.monotonicMs();
  const parts = { provider, read: () => [metric('lag', 1)], clock, warn };
  await expect(
    withOpenTelemetry(parts, async () => {
      throw new Error('how the command has ended');
    }),
  ).rejects.toThrow('how the command has ended');
  expect(clock.monotonicMs() - began).toBeLessThan(60_000);
});

test('open telemetry: a provider that throws -> one warning, and the command is done', async () => {
  const getMeter = (): never => {
    throw new Error('of another version');
  };
  const parts = {
    provider: { getMeter },
    read: () => [metric('lag', 1)],
    clock: new HurriedClock(),
    warn,
  };
  expect(await withOpenTelemetry(parts, async () => 'done')).toBe('done');
  expect(warnings).toEqual([
    'the figures cannot be given to OpenTelemetry: Error: of another version; the command does not need it',
  ]);
});
