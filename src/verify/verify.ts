/**
 * One comparison of both sides, from the ledger to the verdict. Invariant: neither a container nor the ledger is
 * changed; a difference is reported only if it is certain, and anything uncertain is reported as not proven.
 */
import { connectBoth } from '../cosmos/account/connect-both.ts';
import type { ServiceTime } from '../cosmos/account/service-time.ts';
import type { Clock } from '../lib/clock.ts';
import type { InFlightNow } from '../cosmos/load/flights.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Connections } from '../spec/connection.ts';
import { pinnedOf, refuseChanges } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { COMPARE_TIMING, type CompareTiming } from '../spec/timing.ts';
import type { MoverLock } from '../state/lock.ts';
import { withTimeLimit } from '../cosmos/load/time-limit.ts';
import { compareCounts } from './counts/compare-counts.ts';
import { compareDigests } from './pass/compare-digests.ts';
import { LedgerView } from './ledger-view.ts';
import { openSides, refuseUncopied, type Opened } from './sides.ts';
import type { DifferenceStream, Verdict } from './verdict.ts';

export interface VerifyParts {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
  /**
   * `count`: the number of documents. `digest`: the content of all documents. `changes`: the content of documents
   * changed since the last clean comparison, and the counts. Without such a comparison, or if the counts are not those
   * that the ledger expects, `changes` compares the content of all documents.
   */
  readonly level: 'count' | 'digest' | 'changes';
  /** Whether to start from scratch even if an unfinished comparison could be resumed. */
  readonly fresh: boolean;
  /** Whether to check only the documents that the last comparison found to differ. Set after a repair. */
  readonly again?: boolean;
  /** Whether the differences that an earlier comparison found were repaired. Recorded with this comparison. */
  readonly afterRepair?: boolean;
  /**
   * Whether to read up to the newest change that any replica knows. Needed when writers are stopped for a cutover,
   * because a lagging replica would still return deleted documents. Level `changes` always does so, because there a
   * change that is not read could be missing on both sides.
   */
  readonly newest?: boolean;
  /**
   * False: level `changes` compares the changes without counting. Used where documents expire, for what was written
   * after an earlier comparison: expired documents would change the counts.
   */
  readonly isCounted?: boolean;
  /** The lock of the verify file, if the caller has taken it to run several comparisons in a row. */
  readonly lock?: MoverLock;
  /** How long to wait for documents in flight. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The service's time, shared by all connections of a command; absent: each connection has its own. */
  readonly serviceTime?: ServiceTime | undefined;
  readonly signal: AbortSignal;
  /** Receives messages for the user. */
  readonly say?: (text: string) => void;
  readonly onProgress?: (progress: VerifyProgress) => void;
  /**
   * Called when the verdict is recorded. `named`: the lists of all documents that differ, which can be read only during
   * the call; null: this level identifies no documents. `proofMs`: the time by which the ledger names the proof; null: the
   * comparison has proven nothing.
   */
  readonly onVerdict?: (
    verdict: Verdict,
    about: { readonly named: DifferenceStream | null; readonly proofMs: number | null },
  ) => void;
  readonly timing?: Partial<CompareTiming>;
}

/** The progress of a comparison. */
export interface VerifyProgress {
  readonly stage: string;
  readonly source: number;
  readonly target: number;
  readonly open: number;
  /** For how long the oldest of them has been known to differ; null: none is open, or none was checked yet. */
  readonly oldestOpenMs: number | null;
  /** What the open candidates wait for, as text; null: not known. */
  readonly waitsFor: string | null;
  /** The number of documents in the source, as the service reports it; null: the service does not report it. */
  readonly expected: number | null;
  /** RU used on both sides together. */
  readonly ru: number;
  readonly throttled: number;
  /** Requests to both sides without a reply yet. */
  readonly requests: InFlightNow;
  /** RU/s allowed on both sides together; null: not known. */
  readonly budgetRu: number | null;
}

/** What a comparison of any level works with: the caller's parts, both open sides and the ledger. */
export interface Comparison extends Omit<VerifyParts, 'timing' | 'connections'>, Opened {
  readonly ledger: LedgerView;
  readonly timing: CompareTiming;
  readonly beganAtMs: number;
  /** When the comparison began, by the monotonic clock. */
  readonly beganMs: number;
}

export async function verify(parts: VerifyParts): Promise<Verdict> {
  return withTimeLimit(parts.spec, { ...parts, of: ['comparison', 'cosmig verify'] }, async (signal) =>
    compare({ ...parts, signal }),
  );
}

async function compare(parts: VerifyParts): Promise<Verdict> {
  const { spec, connections, clock, log, signal, serviceTime } = parts;
  const [beganAtMs, beganMs] = [clock.now(), clock.monotonicMs()];
  const ledger = new LedgerView(spec.ledger);
  const moment = ledger.moment();
  const { sourceEndpoint, targetEndpoint } = pinnedOf(spec);
  // The endpoints may differ from those in the ledger, because a fail-over may change them. The containers may not
  // differ; openSides checks this.
  refuseChanges({ ...moment.migration.pinned, sourceEndpoint, targetEndpoint }, spec);
  refuseUncopied(moment);
  const timing = { ...COMPARE_TIMING, ...parts.timing };
  using accounts = await connectBoth(connections, { signal, clock, log, serviceTime });
  const opened = await openSides({ ...parts, accounts, moment, timeoutMs: timing.requestTimeoutMs }, signal);
  const comparison = { ...parts, ...opened, ledger, timing, beganAtMs, beganMs };
  if (parts.level !== 'count') return await compareDigests(comparison);
  const verdict = await compareCounts(comparison);
  parts.onVerdict?.(verdict, { named: null, proofMs: null });
  return verdict;
}
