/**
 * What a benchmark passes to a copy or a comparison: a spec with a temporary ledger, and otherwise the real parts of
 * the program.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunParts } from '../src/engine/run.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createLog } from '../src/lib/log.ts';
import { systemRandom } from '../src/lib/random.ts';
import { loadSpec } from '../src/spec/load.ts';
import type { MigrationSpec } from '../src/spec/migration-spec.ts';

export interface Places {
  readonly endpoint: string;
  readonly key: string;
  readonly source: string;
  readonly target: string;
  /** What becomes of times to live; `restart` by default. */
  readonly ttl?: MigrationSpec['ttl'] | undefined;
}

export type ClientParts = Pick<RunParts, 'spec' | 'connections' | 'clock' | 'random' | 'log'>;

export async function withLedger<T>(
  { endpoint, key, source, target, ttl = 'restart' }: Places,
  work: (parts: ClientParts) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-bench-ledger-'));
  const clock = systemClock;
  const write = (line: string): void => void process.stderr.write(line);
  try {
    const { spec, connections } = loadSpec({
      options: {
        source: [`bench/${source}`],
        target: [`bench/${target}`],
        sourceEndpoint: [endpoint],
        partitionKey: ['/tenantId'],
        ttl: [ttl],
        ledger: [join(folder, 'ledger.db')],
        yes: ['true'],
      },
      env: { COSMIG_SOURCE_KEY: key },
      clock,
      folder,
    });
    const log = createLog({ level: 'error', format: 'text', clock, write });
    return await work({ spec, connections, clock, random: systemRandom, log });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
