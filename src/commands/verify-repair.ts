/** What `verify --repair` does after a comparison: the mover brings right what differs, and both sides are compared anew. */
import { repairAll, type RunParts } from '../engine/run.ts';
import { Ledger } from '../state/ledger.ts';
import type { Verdict } from '../verify/verdict.ts';
import { suspectsOf } from './proving.ts';
import { counted } from './wording.ts';

interface Repairing {
  readonly parts: RunParts;
  readonly say: (text: string) => void;
  /** Another comparison of every document. */
  readonly again: () => Promise<Verdict>;
}

/** The verdict of the last comparison; nothing is written where the first one was clean. */
export async function repairAfter(verdict: Verdict, { parts, say, again }: Repairing): Promise<Verdict> {
  const { spec } = parts;
  const suspects = suspectsOf(spec, verdict);
  let last = verdict;
  if (suspects.length > 0) {
    say(`${counted(suspects.length, 'document')} ${suspects.length === 1 ? 'is' : 'are'} brought right`);
    await repairAll(parts, suspects);
    last = await again();
  }
  if (last.equal === true) forgetSweeps(parts);
  return last;
}

/** Deletes that a feed had lost are found by now. */
function forgetSweeps({ spec, clock }: RunParts): void {
  using ledger = Ledger.open({ path: spec.ledger, spec, nowMs: clock.now(), create: 'never' });
  for (const { number, sweepPending } of ledger.leases.live())
    if (sweepPending) ledger.leases.change(number, { sweepPending: false });
}
