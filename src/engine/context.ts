/**
 * The object through which the parts of one run reach each other. Only assemble.ts creates it. Each part is described
 * in its own module.
 */
import type { MovePlan } from '../keys/move-plan.ts';
import type { Clock } from '../lib/clock.ts';
import type { Flights } from '../cosmos/load/flights.ts';
import type { Log } from '../lib/log.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import type { DeleteMode } from '../state/migration.ts';
import type { IntentGroup } from '../state/intent-group.ts';
import type { Ledger } from '../state/ledger.ts';
import type { Backlog } from './progress/backlog.ts';
import type { Promoter } from './letters/promoter.ts';
import type { PendingOutcomes } from './unit/pending-outcomes.ts';
import type { CrashPoints } from './unit/crash-points.ts';
import type { RequestNotes } from './unit/last-request.ts';
import type { RunTotals } from './unit/run-totals.ts';
import type { Sequencer } from './unit/sequencer.ts';
import type { Side } from '../cosmos/side.ts';
import type { TargetSlots } from './apply/target-slots.ts';
import type { SourceDocuments } from './apply/source-documents.ts';
import type { RunCounters } from './progress/counters.ts';
import type { ServiceTime } from '../cosmos/account/service-time.ts';
import type { RunStop, Tasks } from './progress/stopping.ts';
import type { Timing } from '../spec/timing.ts';
import type { UniqueKeys } from './apply/unique-keys.ts';
import type { VersionParts } from './tail/source-version.ts';

export interface RunContext {
  readonly spec: MigrationSpec;
  readonly plan: MovePlan;
  readonly versions: VersionParts;
  readonly deletes: DeleteMode;
  readonly unique: UniqueKeys;
  /** Whether a copy that another process has changed is left as it is: in turns after the first one. */
  readonly checksCopies: boolean;
  /** Whether the kernel packs the plain documents of the copy. Always true, except in tests that compare both paths. */
  readonly packsPages: boolean;
  /** Whether documents of the source may expire. */
  readonly expires: boolean;
  readonly sourceSide: Side;
  readonly targetSide: Side;
  readonly source: SourceDocuments;
  readonly slots: TargetSlots;
  readonly ledger: Ledger;
  /** Records when this run last began a request to the target. */
  readonly notes: RequestNotes;
  readonly intents: IntentGroup;
  readonly pending: PendingOutcomes;
  readonly sequencer: Sequencer;
  readonly tally: RunCounters;
  readonly backlog: Backlog;
  /** Pages of the feeds that were read and are not committed, with their bytes. */
  readonly pages: Flights;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  /** The service's time, taken from the dates of its replies. */
  readonly serviceTime: ServiceTime;
  /** Aborted when the run fails or has to end at once. */
  readonly signal: AbortSignal;
  /** Reasons to stop reading. Pages in flight are then finished. */
  readonly stopping: RunStop;
  /** Tasks that the run finishes before it ends. */
  readonly tasks: Tasks;
  /** Retries dead letters when what they wait for has changed. */
  readonly promoter: Promoter;
  readonly points: CrashPoints;
  /** Collects the session tokens and the charges of the run, until a transaction stores them. */
  readonly totals: RunTotals;
}
