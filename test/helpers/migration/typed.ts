/** What an operator types for the migration of a `Move`: in this process, or as a process of its own. */
import { systemClock } from '../../../src/lib/clock.ts';
import { startCosmig, type CosmigProcess } from '../process/cosmig-process.ts';
import type { Move } from './move.ts';
import { runCosmig, type Ran } from '../run-cosmig.ts';

export const PLACES = ['--source', 'shop/orders', '--target', 'shop/by-tenant'];
export const SPEC = [...PLACES, '--partition-key', '/tenantId'];
/** A command line with the whole spec; a copy ignores warnings of the sample, since tests have few documents. */
export function withSpec(argv: readonly string[]): string[] {
  return [...argv, ...SPEC, ...(argv[0] === 'copy' ? ['--yes'] : [])];
}

/** The account and the ledger; hooks are found by PATH. */
export function envOf({
  connectionString,
  ledgerPath,
}: Pick<Move, 'connectionString' | 'ledgerPath'>): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    COSMIG_SOURCE_CONNECTION_STRING: connectionString,
    COSMIG_LEDGER: ledgerPath,
  };
}

/** Runs these words and no others. */
export function typed(move: Move, ...argv: readonly string[]): Promise<Ran> {
  return runCosmig(argv, { env: envOf(move), clock: systemClock });
}

/** Runs a command that wants the spec. */
export function cosmig(move: Move, ...argv: readonly string[]): Promise<Ran> {
  return typed(move, ...withSpec(argv));
}

/** Like `cosmig`, without a terminal, and without anyone to answer. */
export function start(move: Move, ...argv: readonly string[]): CosmigProcess {
  return startCosmig(withSpec(argv), envOf(move));
}
