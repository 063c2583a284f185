/** What one run has and its parts share: see the module of each. Made in assemble.ts, and nowhere else. */
import type { KeyPlan } from '../keys/plan.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { DeleteMode } from '../state/migration.ts';
import type { IntentGroup } from '../state/intent-group.ts';
import type { Ledger } from '../state/ledger.ts';
import type { Alongside } from '../state/unit-records.ts';
import type { Backlog } from './progress/backlog.ts';
import type { Freed } from './letters/dead-letters.ts';
import type { PendingOutcomes } from './unit/pending-outcomes.ts';
import type { Point } from './unit/crash-points.ts';
import type { Sequencer } from './unit/sequencer.ts';
import type { Side } from '../cosmos/side.ts';
import type { TargetSlots } from './apply/target-slots.ts';
import type { SourceDocuments } from './apply/source-documents.ts';
import type { Counts, RunCounters } from './progress/counters.ts';
import type { Timing } from '../spec/timing.ts';
import type { UniqueKeys } from './apply/unique-keys.ts';
import type { VersionParts } from './tail/source-version.ts';

export interface RunContext {
  readonly spec: MigrationSpec;
  readonly plan: KeyPlan;
  readonly versions: VersionParts;
  readonly deletes: DeleteMode;
  readonly unique: UniqueKeys;
  /** Documents of the source may expire. */
  readonly expires: boolean;
  readonly sourceSide: Side;
  readonly targetSide: Side;
  readonly source: SourceDocuments;
  readonly slots: TargetSlots;
  readonly ledger: Ledger;
  readonly intents: IntentGroup;
  readonly pending: PendingOutcomes;
  readonly sequencer: Sequencer;
  readonly tally: RunCounters;
  readonly backlog: Backlog;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  /** Aborted when there is no time left for order. */
  readonly signal: AbortSignal;
  /** Aborted when the run was told to stop: nothing is read any more. */
  readonly stopped: AbortSignal;
  /** The service's time, from the dates of its replies. */
  readonly serviceMs: () => number;
  readonly seeDate: (date: string | undefined) => void;
  /** Runs a task that the whole run stands or falls with. */
  readonly start: (task: () => Promise<void>) => void;
  /** Somebody may be waiting for this slot, or a value in it. */
  readonly free: (freed: Freed) => void;
  /** Ends the run in good order, with this at its end. */
  readonly stop: (reason: Error) => void;
  readonly point: (point: Point) => void;
  /** What goes with every commit: the newest session tokens, and the counters. */
  readonly alongside: (counts: Counts) => Alongside;
  /** Something was committed: is there any reason to stop? */
  readonly committed: () => void;
}
