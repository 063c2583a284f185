/** Applies what the source says now of one document, as a change that no feed has reported. */
import { apply } from '../apply/apply.ts';
import type { SourceIdentity } from '../apply/identity.ts';
import type { RunContext } from '../context.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';

/** The caller commits the unit. */
export async function reapply(context: RunContext, identity: SourceIdentity): Promise<UnitOfWork> {
  const unit = new UnitOfWork(context, { lease: null, feed: 'LV' });
  const change = { identity, version: null, feed: 'LV', lsn: null, indexId: null } as const;
  await apply({ context, unit, change });
  return unit;
}
