/** Owns the migration that the model's documents make: from the key /tenant to the key /key. */
import { systemClock } from '../../../src/lib/clock.ts';
import type { ContainerPair } from '../../../src/engine/assemble.ts';
import { loadSpec } from '../../../src/spec/load.ts';
import type { MigrationSpec } from '../../../src/spec/migration-spec.ts';
import type { Timing } from '../../../src/spec/timing.ts';
import { containerFacts } from '../../helpers/migration/container-facts.ts';
import type { Scenario } from '../scenario.ts';

export const ENDPOINT = 'https://model.example/';
export const KEY = Buffer.from('a key of no account').toString('base64');

/** The times of the product, but nothing is shown. */
export const TIMING: Timing = { requestTimeoutMs: 45_000, pollMs: 1000, showMs: 86_400_000 };

const FLAGS = { avad: 'avad', marker: 'marker:/marked', reconcile: 'reconcile' } as const;

const specs = new Map<string, MigrationSpec>();

export function specFor(deletes: Scenario['deletes']): MigrationSpec {
  const known = specs.get(deletes);
  if (known !== undefined) return known;
  const { spec } = loadSpec({
    options: {
      source: ['shop/orders'],
      target: ['shop/by-key'],
      ledger: ['/model/ledger.db'],
      partitionKey: ['/key'],
      missingKey: ['dead-letter'],
      deletes: [FLAGS[deletes]],
      yes: ['true'],
    },
    env: { COSMIG_SOURCE_CONNECTION_STRING: `AccountEndpoint=${ENDPOINT};AccountKey=${KEY};` },
    clock: systemClock,
  });
  specs.set(deletes, spec);
  return spec;
}

export function containersFor({ deletes, uniqueKeys }: Scenario): ContainerPair {
  const uniqueKeyPolicy = { uniqueKeys: uniqueKeys ? [{ paths: ['/unique'] }] : [] };
  const plain = containerFacts({ throughput: { kind: 'serverless' }, documentCount: null, sizeBytes: null });
  return {
    source: { ...plain, rid: 'source', keyPaths: ['/tenant'] },
    target: {
      ...plain,
      name: { database: 'shop', container: 'by-key' },
      rid: 'target',
      keyPaths: ['/key'],
      settings: { ...plain.settings, uniqueKeyPolicy },
    },
    deletes,
  };
}
