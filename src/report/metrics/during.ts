/** `--metrics-file`: keeps the figures of a migration in a file while a command works on it, and after it has ended. */
import type { Context } from '../../cli/command.ts';
import { asCosmigError } from '../../lib/errors.ts';
import { readVersion } from '../../lib/version.ts';
import { loadSpec, type SpecInput } from '../../spec/load.ts';
import { migrationName } from '../../spec/migration-name.ts';

/** Prometheus scrapes every 15 s or more rarely. */
const WRITE_EVERY_MS = 5000;

type MetricsContext = Pick<SpecInput, 'options' | 'env' | 'turn'> & Pick<Context, 'clock' | 'log'>;

/** Runs `body`; keeps the file of the spec, if it names one. */
export async function withMetricsFile<T>(
  context: MetricsContext,
  command: string,
  body: () => Promise<T>,
): Promise<T> {
  const { clock, log } = context;
  const { spec } = loadSpec(context);
  const { metricsFile, ledger } = spec;
  if (metricsFile === null) return body();
  // Loaded on demand, since --help needs no database.
  const { readFacts } = await import('../watch/facts.ts');
  const { metricsOf } = await import('./metrics.ts');
  const { MetricsFile } = await import('./metrics-file.ts');
  const file = new MetricsFile(metricsFile, log);
  const about = { format: 'prometheus', version: readVersion(), migration: migrationName(spec) } as const;
  const beganMs = clock.now();
  const write = (exitCode?: number): void => {
    const atMs = clock.now();
    const end = exitCode === undefined ? null : { atMs, exitCode };
    file.write(() => metricsOf(readFacts(ledger, atMs), { ...about, command: { command, beganMs, end } }));
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
