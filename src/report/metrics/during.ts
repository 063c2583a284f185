/**
 * The figures of a migration while a command works on it: for OpenTelemetry, where it is registered, and in the file of
 * `--metrics-file`, also after the command has ended.
 */
import type { Context } from '../../cli/command.ts';
import { asCosmigError } from '../../lib/errors.ts';
import { readVersion } from '../../lib/version.ts';
import { loadSpec, type SpecInput } from '../../spec/load.ts';
import { migrationName } from '../../spec/migration-name.ts';
import type { Metric } from './exposition.ts';
import type { About } from './metrics.ts';

/** Prometheus scrapes every 15 s or more rarely. */
const WRITE_EVERY_MS = 5000;

type MetricsContext = Pick<SpecInput, 'options' | 'env' | 'turn'> & Pick<Context, 'clock' | 'log'>;

/** Runs `body`; reports the figures meanwhile. */
export async function withMetrics<T>(
  context: MetricsContext,
  command: string,
  body: () => Promise<T>,
): Promise<T> {
  const { clock, log } = context;
  const { spec } = loadSpec(context);
  const { metricsFile } = spec;
  // The newest turn is found from the ledger of the first, as for the live page.
  const { ledger } = loadSpec({ ...context, turn: undefined }).spec;
  const about = { version: readVersion(), migration: migrationName(spec) };
  return withTelemetry({ ledger, clock, log, ...about }, async () =>
    metricsFile === null ? body() : withFile({ metricsFile, ledger, command, about, clock, log }, body),
  );
}

/** Runs `body`. OpenTelemetry gets the figures of the ledger meanwhile, where it is registered. */
export async function withTelemetry<T>(
  {
    ledger,
    clock,
    log,
    ...about
  }: Pick<Context, 'clock' | 'log'> & { readonly ledger: string } & Pick<About, 'version' | 'migration'>,
  body: () => Promise<T>,
): Promise<T> {
  const { registeredProvider, withOpenTelemetry } = await import('./open-telemetry.ts');
  const provider = registeredProvider();
  if (provider === null) return body();
  const { readNewestFacts } = await import('../watch/newest-turn.ts');
  const { metricsIn } = await import('./metrics.ts');
  const read = (): readonly Metric[] => metricsIn(readNewestFacts(ledger, clock.now()), about);
  return withOpenTelemetry({ provider, read, clock, warn: (text) => log.warn(text) }, body);
}

interface FileParts extends Pick<Context, 'clock' | 'log'> {
  readonly metricsFile: string;
  readonly ledger: string;
  readonly command: string;
  readonly about: Pick<About, 'version' | 'migration'>;
}

async function withFile<T>(
  { metricsFile, ledger, command, about, clock, log }: FileParts,
  body: () => Promise<T>,
): Promise<T> {
  // Loaded on demand, since --help needs no database.
  const { readNewestFacts } = await import('../watch/newest-turn.ts');
  const { metricsOf } = await import('./metrics.ts');
  const { MetricsFile } = await import('./metrics-file.ts');
  const file = new MetricsFile(metricsFile, log);
  const beganMs = clock.now();
  const write = (exitCode?: number): void => {
    const atMs = clock.now();
    const end = exitCode === undefined ? null : { atMs, exitCode };
    file.write(() =>
      metricsOf(readNewestFacts(ledger, atMs), {
        ...about,
        format: 'prometheus',
        command: { command, beganMs, end },
      }),
    );
  };
  const over = new AbortController();
  const keep = async (): Promise<void> => {
    while (!over.signal.aborted) {
      write();
      await clock.sleep(WRITE_EVERY_MS, over.signal);
    }
  };
  // Its sleep rejects when the command is over; `write` does not throw.
  const keeping = keep().catch(() => {});
  let exitCode = 0;
  try {
    return await body();
  } catch (error) {
    exitCode = asCosmigError(error).exitCode;
    throw error;
  } finally {
    over.abort(new Error('the command is over'));
    await keeping;
    write(exitCode);
  }
}
