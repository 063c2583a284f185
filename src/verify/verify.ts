/**
 * One comparison of both sides, from the open ledger to the verdict. What always holds: no container and no byte of
 * the ledger is changed; a difference is only told when it is certain, and what is not certain is told as not proven.
 */
import { connect, type Account } from '../cosmos/account/client.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Connections } from '../spec/connection.ts';
import { pinnedOf, refuseChanges } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { COMPARE_TIMING, type CompareTiming } from '../spec/timing.ts';
import type { MoverLock } from '../state/lock.ts';
import { inTime } from './time-limit.ts';
import { compareCounts } from './counts/compare-counts.ts';
import { compareDigests } from './pass/compare-digests.ts';
import { LedgerView } from './ledger-view.ts';
import { openSides, refuseUncopied, type Opened } from './sides.ts';
import type { Named, Verdict } from './verdict.ts';

export interface VerifyParts {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
  /** `changes`: what has changed since the last comparison that ended clean, and the numbers; all, where those differ. */
  readonly level: 'count' | 'digest' | 'changes';
  /** Begin anew, whatever an earlier run has left. */
  readonly fresh: boolean;
  /** Look only at what the last comparison has found to differ, which was brought right since. */
  readonly again?: boolean;
  /** What an earlier comparison has found was brought right; remembered with the one that begins now. */
  readonly afterRepair?: boolean;
  /**
   * Nobody writes any more, and what is not seen now comes along: a replica that lags would show what was deleted. Where
   * only changes are compared it is always so: one that is not seen would be missed on both sides.
   */
  readonly newest?: boolean;
  /** Whoever compares more than once, and lets nobody else in between, holds it. */
  readonly lock?: MoverLock;
  /** How long what is in flight may take to land. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Come to an end. */
  readonly signal: AbortSignal;
  /** What whoever watches should know, said once. */
  readonly say?: (text: string) => void;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with the verdict while all that was found can be read; null: this level names nobody. */
  readonly onVerdict?: (verdict: Verdict, named: Named | null) => void;
  readonly timing?: Partial<CompareTiming>;
}

/** How far it is; a stage is a word for people. */
export interface Progress {
  readonly stage: string;
  readonly source: number;
  readonly target: number;
  readonly open: number;
  /** Of those that are looked at again; null where nothing is known of it. */
  readonly waitsFor: string | null;
  /** How many documents the source says it has; null where it does not say. */
  readonly expected: number | null;
  /** Of both sides. */
  readonly ru: number;
  readonly throttled: number;
  /** What both sides may be asked for in a second; null where nobody knows. */
  readonly budgetRu: number | null;
}

/** What every level works with. */
export interface Comparison extends Omit<VerifyParts, 'timing' | 'connections'>, Opened {
  readonly ledger: LedgerView;
  readonly timing: CompareTiming;
  readonly beganAtMs: number;
}

export async function verify(parts: VerifyParts): Promise<Verdict> {
  return inTime(parts.spec, parts, async (signal) => compare({ ...parts, signal }));
}

async function compare(parts: VerifyParts): Promise<Verdict> {
  const { spec, connections, clock, signal } = parts;
  const beganAtMs = clock.now();
  const ledger = new LedgerView(spec.ledger);
  const moment = ledger.moment();
  const { sourceEndpoint, targetEndpoint } = pinnedOf(spec);
  // An endpoint may be another after a fail-over; the containers behind it may not, and that is looked at below.
  refuseChanges({ ...moment.migration.pinned, sourceEndpoint, targetEndpoint }, spec);
  refuseUncopied(moment);
  const timing = { ...COMPARE_TIMING, ...parts.timing };
  using source = await connect(connections.source, { signal });
  using other =
    connections.target === connections.source ? undefined : await connect(connections.target, { signal });
  const accounts: { readonly source: Account; readonly target: Account } = {
    source,
    target: other ?? source,
  };
  const opened = await openSides({ ...parts, accounts, moment, timeoutMs: timing.requestTimeoutMs }, signal);
  const comparison = { ...parts, ...opened, ledger, timing, beganAtMs };
  if (parts.level !== 'count') return await compareDigests(comparison);
  const verdict = await compareCounts(comparison);
  parts.onVerdict?.(verdict, null);
  return verdict;
}
