/**
 * One comparison of both sides, from the ledger to the verdict. Invariant: neither a container nor the ledger is changed; a
 * difference is reported only if it is certain, and anything uncertain is reported as not proven.
 */
import { connectBoth } from '../cosmos/account/connect-both.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Connections } from '../spec/connection.ts';
import { pinnedOf, refuseChanges } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { COMPARE_TIMING, type CompareTiming } from '../spec/timing.ts';
import type { MoverLock } from '../state/lock.ts';
import { withTimeLimit } from './time-limit.ts';
import { compareCounts } from './counts/compare-counts.ts';
import { compareDigests } from './pass/compare-digests.ts';
import { LedgerView } from './ledger-view.ts';
import { openSides, refuseUncopied, type Opened } from './sides.ts';
import type { DifferenceStream, Verdict } from './verdict.ts';

export interface VerifyParts {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
  /** `changes`: documents changed since the last clean comparison, and the counts; all documents if the counts differ. */
  readonly level: 'count' | 'digest' | 'changes';
  /** Start from scratch, even if an unfinished comparison could be resumed. */
  readonly fresh: boolean;
  /** Check only the documents that the last comparison found to differ and that were repaired since. */
  readonly again?: boolean;
  /** The findings of an earlier comparison were repaired; recorded with this one. */
  readonly afterRepair?: boolean;
  /**
   * Read up to the newest change that any replica knows. Needed when writers are stopped for a cutover, because a lagging
   * replica would still show deleted documents. Always done for `changes`, where a missed change would be missed on both
   * sides.
   */
  readonly newest?: boolean;
  /** The verify file's lock, if the caller already has it to run several comparisons in a row. */
  readonly lock?: MoverLock;
  /** How long to wait for documents in flight. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Receives messages for the user. */
  readonly say?: (text: string) => void;
  readonly onProgress?: (progress: VerifyProgress) => void;
  /** Called with the verdict while all differences can still be read; null: this level lists no documents. */
  readonly onVerdict?: (verdict: Verdict, named: DifferenceStream | null) => void;
  readonly timing?: Partial<CompareTiming>;
}

/** The progress of a comparison; `stage` is text for people. */
export interface VerifyProgress {
  readonly stage: string;
  readonly source: number;
  readonly target: number;
  readonly open: number;
  /** What the open candidates wait for; null: not known. */
  readonly waitsFor: string | null;
  /** Documents in the source; null: the service does not say. */
  readonly expected: number | null;
  /** Of both sides. */
  readonly ru: number;
  readonly throttled: number;
  /** RU/s allowed on both sides together; null: not known. */
  readonly budgetRu: number | null;
}

/** The input of every level. */
export interface Comparison extends Omit<VerifyParts, 'timing' | 'connections'>, Opened {
  readonly ledger: LedgerView;
  readonly timing: CompareTiming;
  readonly beganAtMs: number;
}

export async function verify(parts: VerifyParts): Promise<Verdict> {
  return withTimeLimit(parts.spec, parts, async (signal) => compare({ ...parts, signal }));
}

async function compare(parts: VerifyParts): Promise<Verdict> {
  const { spec, connections, clock, signal } = parts;
  const beganAtMs = clock.now();
  const ledger = new LedgerView(spec.ledger);
  const moment = ledger.moment();
  const { sourceEndpoint, targetEndpoint } = pinnedOf(spec);
  // A fail-over may change the endpoint, but not the containers behind it, which openSides checks.
  refuseChanges({ ...moment.migration.pinned, sourceEndpoint, targetEndpoint }, spec);
  refuseUncopied(moment);
  const timing = { ...COMPARE_TIMING, ...parts.timing };
  using accounts = await connectBoth(connections, signal);
  const opened = await openSides({ ...parts, accounts, moment, timeoutMs: timing.requestTimeoutMs }, signal);
  const comparison = { ...parts, ...opened, ledger, timing, beganAtMs };
  if (parts.level !== 'count') return await compareDigests(comparison);
  const verdict = await compareCounts(comparison);
  parts.onVerdict?.(verdict, null);
  return verdict;
}
