/** Applies the current version of one document, as a change that no feed has reported. */
import { apply } from '../apply/apply.ts';
import type { SourceIdentity } from '../apply/identity.ts';
import type { RunContext } from '../context.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';

/** Applies the document and returns its unit of work, which the caller commits. */
export async function reapply(context: RunContext, identity: SourceIdentity): Promise<UnitOfWork> {
  const unit = new UnitOfWork(context, { lease: null, feed: 'LV' });
  const change = { identity, version: null, feed: 'LV', lsn: null, indexId: null } as const;
  await apply({ context, unit, change });
  return unit;
}
