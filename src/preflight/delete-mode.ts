/**
 * Chooses how deletes will be found. Invariant: a mode requested by name is used or refused, never replaced by another.
 */
import type { DeleteMode } from '../state/migration.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { servesAllVersions } from './permissions.ts';

/** Returns the delete mode of the migration, with notes about it for the operator. */
export async function deletesFor(
  spec: Pick<MigrationSpec, 'deletes'>,
  source: ContainerFacts,
  asking: Parameters<typeof servesAllVersions>[0],
): Promise<{ readonly mode: DeleteMode; readonly notes: readonly string[] }> {
  const { kind } = spec.deletes;
  if (kind === 'marker') return { mode: 'marker', notes: [] };
  if (kind === 'reconcile') return { mode: 'reconcile', notes: [RECONCILED] };
  const isMultiWrite = source.account.multiWrite === true;
  if (isMultiWrite && kind === 'avad') {
    throw new NotReadyError('deletes cannot be read from the feed of an account with several write regions', {
      why: 'its feed of all versions has no single order, and may omit writes that lost a conflict',
      hint: 'use --deletes reconcile, or marker:/path',
    });
  }
  if (isMultiWrite) return { mode: 'reconcile', notes: [RECONCILED] };
  const served = await servesAllVersions(asking);
  if (served === 'yes') return { mode: 'avad', notes: [] };
  if (kind === 'auto') {
    const why =
      served === 'merged once'
        ? 'the source cannot serve a feed of all versions, because partitions of its account were merged once'
        : 'the source has no feed of all versions';
    return { mode: 'reconcile', notes: [`${why}; ${RECONCILED}`] };
  }
  throw new NotReadyError('the source does not serve all versions and deletes', MISSING[served]);
}

const MISSING = {
  no: {
    why: 'the account needs continuous backup and the feature All versions and deletes change feed',
    hint: 'enable it (takes up to 30 minutes), or use --deletes reconcile',
  },
  'merged once': {
    why: 'partitions of its account were merged once, and the service cannot read this feed after a merge',
    hint: 'use --deletes reconcile, or marker:/path',
  },
} as const;

const RECONCILED = 'deletes are found by comparing both sides: cosmig verify --repair, and cosmig cutover';
