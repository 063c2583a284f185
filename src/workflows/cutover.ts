/**
 * The cutover as the command and the demo run it: the engine switches, the verifier proves, and the settings of the
 * target are changed after the commit. Invariant: from the gate to the end no cosmig verify can begin. The cutover
 * compares both sides itself while writers are stopped, and must not wait for another comparison.
 */
import type { CutoverOptions, CutoverResult, Step } from '../engine/cutover/contract.ts';
import { runCutover, type RunParts, type RunSnapshot } from '../engine/run.ts';
import type { Changeable } from '../cosmos/container/update.ts';
import type { MoverLock } from '../state/lock.ts';
import type { Verdict } from '../verify/verdict.ts';
import type { VerifyProgress } from '../verify/verify.ts';
import {
  compareForCutover,
  lastCleanComparison,
  lockOutVerify,
  refuseDifferences,
  type CleanComparison,
} from './compare.ts';
import { makeLikeSource } from './target-settings.ts';
import { ttlChanges, wayBack } from './way-back.ts';

/** The options of a cutover, as the operator or the demo chooses them. */
export interface CutoverOrder extends Pick<
  CutoverOptions,
  'stopWriters' | 'onCommit' | 'onAbort' | 'deadlineMs' | 'quietMs' | 'watchMs'
> {
  /** The settings of the target that are changed to those of the source after the commit. */
  readonly likeSource: readonly Changeable[];
}

/** The events that a display of the cutover receives. */
export interface CutoverWatcher {
  onStep(step: Step): void;
  onProof(progress: VerifyProgress): void;
  /** Gets the differences that a comparison has found, before they are repaired. */
  onUnequal?(differences: Verdict['differences']): void;
}

export async function cutOverWithProof(
  parts: RunParts,
  order: CutoverOrder,
  watcher: CutoverWatcher,
): Promise<RunSnapshot & CutoverResult> {
  const { spec, say = () => {} } = parts;
  const { deadlineMs } = order;
  let lock: MoverLock | undefined;
  let clean: CleanComparison | null = null;
  try {
    return await runCutover(parts, {
      ...order,
      keepSource: wayBack(parts),
      ttl: ttlChanges(parts),
      applySettings: async (names, signal) => makeLikeSource(parts, names, signal),
      lastCleanMs: () => {
        clean = lastCleanComparison(spec);
        if (clean !== null) lock = lockOutVerify(spec);
        return clean?.atMs ?? null;
      },
      refuseDifferences: () => refuseDifferences(spec),
      compareAllMs: () => clean?.readMs ?? null,
      prove: async (signal, scope) => {
        const onProgress = (progress: VerifyProgress): void => watcher.onProof(progress);
        const onUnequal = (differences: Verdict['differences']): void => watcher.onUnequal?.(differences);
        return compareForCutover(parts, { deadlineMs, signal, scope, onProgress, onUnequal, lock });
      },
      say,
      onStep: (step) => watcher.onStep(step),
    });
  } finally {
    lock?.release();
  }
}
