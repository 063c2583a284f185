/**
 * Where the source ends once its writers are stopped, and that nobody writes behind it any more. What always holds: an end
 * is given only if nobody has moved it from before the proof until after it; whoever moves one is named.
 *
 * Watch and proof run side by side where everything that happens is told. Elsewhere the proof follows the watch.
 */
import { ChildSignal } from '../../lib/abort.ts';
import { settled } from '../../lib/outcome.ts';
import { told } from './after-commit.ts';
import { catchUp } from './gate.ts';
import { step, type Stopped } from './contract.ts';
import { prove } from './proof.ts';
import { findStraggler, readFence, type Fence, type Straggler } from './source-ends.ts';
import type { LeasesParts } from '../leases/run-leases.ts';
import type { RunContext } from '../context.ts';
import { enter } from '../phases.ts';

/** The ends that nobody has moved while both sides were found to hold the same; null: somebody has, or it is not certain. */
export async function fenceOff(leases: LeasesParts, parts: Stopped): Promise<Fence | null> {
  const { context, reading } = leases;
  step(parts, 'draining');
  const from = await readFence(context, 'as told', reading);
  await catchUp(leases);
  const watch = async (): Promise<Fence | null> => {
    await context.clock.sleep(parts.quietMs, reading);
    return endsUnmoved(leases, parts, from);
  };
  // Where nobody tells what was deleted and what has expired, that the ends have not moved is not known either.
  const isTold = context.deletes === 'avad' || !context.expires;
  const ends = await (isTold ? besideProof : beforeProof)(leases, parts, watch);
  if (ends === null) return null;
  // What has expired meanwhile.
  await catchUp(leases);
  return endsUnmoved(leases, parts, ends);
}

/** The ends as they are now; null when somebody has moved them, who is named. */
async function endsUnmoved(
  { context, reading }: LeasesParts,
  parts: Stopped,
  from: Fence,
): Promise<Fence | null> {
  const to = await readFence(context, 'newest', reading);
  const straggler = await findStraggler(context, { from, to }, reading);
  parts.stillWritten = straggler === null || straggler.what === 'split' ? null : told(straggler);
  if (straggler === null) return to;
  tell(context, parts, straggler);
  return null;
}

/** Watches while both sides are compared. Whatever a comparison says beside somebody who writes is not listened to. */
async function besideProof(
  leases: LeasesParts,
  parts: Stopped,
  watch: () => Promise<Fence | null>,
): Promise<Fence | null> {
  const { context, reading } = leases;
  using over = new ChildSignal(reading);
  let isWatching = true;
  const proving = settled(async () => {
    const isEqual = await prove({ ...leases, reading: over.signal }, parts);
    if (isWatching) step(parts, 'watching the fence');
    return isEqual;
  });
  let ends: Fence | null = null;
  try {
    ends = await watch();
    if (ends !== null) enter(context, 'drained');
  } finally {
    isWatching = false;
    if (ends === null) over.abort(new Error('somebody still writes'));
    await proving;
  }
  const isEqual = await proving;
  return ends !== null && isEqual() ? ends : null;
}

/** Compares both sides when nobody has written for a while: of what was deleted in that while only the numbers tell. */
async function beforeProof(
  leases: LeasesParts,
  parts: Stopped,
  watch: () => Promise<Fence | null>,
): Promise<Fence | null> {
  step(parts, 'watching the fence');
  const ends = await watch();
  if (ends === null) return null;
  enter(leases.context, 'drained');
  return (await prove(leases, parts)) ? ends : null;
}

function tell({ ledger, clock }: RunContext, { say }: Stopped, straggler: Straggler): void {
  ledger.facts.note('straggler', { nowMs: clock.now(), details: straggler });
  if (straggler.what === 'split')
    return say(`range ${straggler.range} was split or merged; its ends are read again`);
  say(`somebody still writes: ${told(straggler)}; waiting until nobody does`);
}
