/**
 * Creates the parts of a run and connects them: accounts, containers, the ledger, load control, the apply rule.
 * Invariant: a ledger is opened only for the containers for which it was created.
 */
import type { Account } from '../cosmos/account/client.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import type { Wait } from '../cosmos/load/retry.ts';
import { ruOf } from '../cosmos/container/throughput.ts';
import type { Clock } from '../lib/clock.ts';
import { Flights } from '../cosmos/load/flights.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { markerOf, rekeyOptionsOf } from '../spec/rekey-options.ts';
import type { DeleteMode } from '../state/migration.ts';
import { IntentGroup } from '../state/intent-group.ts';
import { Ledger } from '../state/ledger.ts';
import { Backlog } from './progress/backlog.ts';
import { PendingOutcomes } from './unit/pending-outcomes.ts';
import type { RunContext } from './context.ts';
import { CrashPoints, type CrashPoint } from './unit/crash-points.ts';
import { RequestNotes } from './unit/last-request.ts';
import { currentMoment } from './unit/machine-time.ts';
import { RunTotals } from './unit/run-totals.ts';
import { Promoter } from './letters/promoter.ts';
import { Sequencer } from './unit/sequencer.ts';
import type { RunStop, Tasks } from './progress/stopping.ts';
import { openSide, type Side, type SideName } from '../cosmos/side.ts';
import { TargetSlots } from './apply/target-slots.ts';
import { SourceDocuments } from './apply/source-documents.ts';
import { RunCounters } from './progress/counters.ts';
import type { Timing } from '../spec/timing.ts';
import { UniqueKeys } from './apply/unique-keys.ts';
import { MappedProperties } from './turn/own-properties.ts';

/** The current state of both containers, and how deletes of the source are found. */
export interface ContainerPair {
  readonly source: ContainerFacts;
  readonly target: ContainerFacts;
  readonly deletes: DeleteMode;
}

/** Creates or opens the ledger of this migration. Refuses a ledger that was created for other containers. */
export function openLedger(
  spec: MigrationSpec,
  { source, target, deletes }: Omit<ContainerPair, 'deletes'> & { readonly deletes: DeleteMode | null },
  { nowMs, create }: { readonly nowMs: number; readonly create: 'if-missing' | 'never' },
): Ledger {
  const containers = { sourceRid: source.rid, targetRid: target.rid, sourceTtl: source.defaultTtl };
  const ledger = Ledger.open({ path: spec.ledger, spec, nowMs, create, containers });
  try {
    const recreated = ledger.migration.recreated(containers);
    // For the status, which does not ask the service.
    if (recreated !== null && ledger.journal.recreated() !== recreated)
      ledger.journal.append({ event: 'container recreated', container: recreated }, nowMs);
    ledger.migration.pinContainers(containers);
    if (deletes !== null) ledger.migration.decideDeleteMode(deletes);
    return ledger;
  } catch (error) {
    ledger.close();
    throw error;
  }
}

export interface ContextParts {
  readonly spec: MigrationSpec;
  readonly accounts: { readonly source: Account; readonly target: Account };
  readonly containers: ContainerPair;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: Timing;
  /** Aborted when the run fails or has to end at once. */
  readonly signal: AbortSignal;
  readonly tasks: Tasks;
  readonly stopping: RunStop;
  readonly onPoint: (point: CrashPoint) => void;
  /** Whether the operator asked to replace what other processes have written: `verify --repair`. */
  readonly overwrites?: boolean | undefined;
  /** False: each document of the copy is read value by value. Only tests ask for that. */
  readonly packsPages?: boolean | undefined;
  /** Called when a request waits before it is sent again. */
  readonly onWait: (side: SideName, wait: Wait) => void;
}

/** How many turns may wait for their locks. More would only fill memory. */
const WAITING_MAX = 50_000;

export async function makeContext(parts: ContextParts): Promise<RunContext> {
  const { spec, containers, ledger, clock, random, log, timing, signal, tasks, stopping, accounts, onWait } =
    parts;
  const { source, target, deletes } = containers;
  const { plan, kind, ttl } = rekeyOptionsOf(spec, source, target);
  const own = plan.back === undefined ? undefined : new MappedProperties(ledger);
  const versions = { plan, kind, ttl, marker: markerOf(spec.deletes), own };
  const open = async (is: SideName): Promise<Side> => {
    const budget = is === 'source' ? spec.sourceBudget : spec.targetBudget;
    const timeoutMs = timing.requestTimeoutMs;
    const waiting = { clock, random, onWait: (wait: Wait) => onWait(is, wait), timeoutMs };
    return openSide(is, { account: accounts[is], facts: containers[is], budget, ...waiting }, signal);
  };
  const [sourceSide, targetSide] = await Promise.all([open('source'), open('target')]);
  const targetRu = ruOf(target.throughput);
  targetSide.governor.setCapacity(
    targetRu,
    targetSide.ranges.list.map(({ id }) => id),
  );
  for (const { token } of ledger.tokens.all()) sourceSide.sessions.add(token);
  for (const { anchor } of ledger.leases.live()) sourceSide.sessions.add(anchor?.session);
  const { serviceTime } = sourceSide.requests;
  const totals = new RunTotals(sourceSide, targetSide);
  const notes = new RequestNotes(ledger.runs, currentMoment);
  const unique = new UniqueKeys(target.settings.uniqueKeyPolicy);
  const context: RunContext = {
    spec,
    plan,
    versions,
    deletes,
    unique,
    checksCopies: spec.turn !== undefined && parts.overwrites !== true,
    packsPages: parts.packsPages !== false,
    expires: source.defaultTtl !== null,
    sourceSide,
    targetSide,
    source: new SourceDocuments({
      ...versions,
      side: sourceSide,
      clock,
      serviceTime,
    }),
    slots: new TargetSlots({
      side: targetSide,
      plan,
      unique,
      clock,
      timing,
      serviceTime,
      notes,
      etags: spec.turn !== undefined,
      signal,
    }),
    notes,
    ledger,
    intents: new IntentGroup(ledger.units, totals),
    pending: new PendingOutcomes(ledger),
    sequencer: new Sequencer({ waitingMax: WAITING_MAX }),
    tally: new RunCounters(),
    backlog: new Backlog(clock, targetSide.governor.budget.rate ?? targetRu),
    pages: new Flights(clock),
    clock,
    log,
    timing,
    serviceTime,
    signal,
    stopping,
    tasks,
    get promoter() {
      return promoter;
    },
    points: new CrashPoints(parts.onPoint),
    totals,
  };
  const promoter = new Promoter(context);
  return context;
}
