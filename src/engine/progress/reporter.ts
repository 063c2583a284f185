/** Reports the progress of a run, at intervals and at its end, and warns when nothing moves. */
import { ruOf } from '../../cosmos/container/throughput.ts';
import { migrationName } from '../../spec/migration-name.ts';
import type { Side } from '../../cosmos/side.ts';
import type { Lease } from '../../state/leases.ts';
import type { SideReport, StepReport } from '../../state/runs.ts';
import type { RunContext } from '../context.ts';
import type { AdoptionCounts } from '../map/adoption-counts.ts';
import type { ContainerPair } from '../assemble.ts';
import type { Goal, Outlook, RangeProgress, RunSnapshot } from './snapshot.ts';
import { Watchdog, type ServiceWaits } from './stall.ts';

interface ReporterParts {
  readonly context: RunContext;
  readonly goal: Goal;
  readonly containers: ContainerPair;
  readonly waits: ServiceWaits;
  readonly onSnapshot: ((snapshot: RunSnapshot) => void) | undefined;
}

/** A range that lags less than this counts as caught up, because a busy source has new changes at any time. */
const CAUGHT_UP_S = 10;

export class ProgressReporter {
  complete = false;
  /** True while no document moves, as in some steps of a cutover: no stall is then reported. */
  isPaused = false;
  /** What the run waits for while it settles what the last run left; null at other times. */
  settling: (() => string) | null = null;
  /** What was in a target that is adopted; null until it is counted. */
  adoption: AdoptionCounts | null = null;
  /** The steps of a cutover that have begun. */
  readonly steps: StepReport[] = [];
  readonly #parts: ReporterParts;
  readonly #startedMs: number;
  readonly #watchdog: Watchdog;
  readonly #outlook: Omit<Outlook, 'uncommitted'>;
  readonly #ranges = new Map<number, RangeProgress>();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#startedMs = parts.context.clock.monotonicMs();
    this.#watchdog = new Watchdog(parts.context.clock);
    this.#outlook = outlookOf(parts);
  }

  /** Returns the record in which a lease notes the progress of its range. */
  rangeOf({ number, rangeId, min, max, phase, documents }: Lease): RangeProgress {
    let range = this.#ranges.get(number);
    if (range === undefined) {
      range = { id: rangeId, min, max, phase, documents, lastTs: null, caughtUpMs: null, askedMs: null };
      this.#ranges.set(number, range);
    }
    return range;
  }

  /** Whether every range has caught up, apart from changes of the last seconds. */
  haveAllCaughtUp(): boolean {
    const lagSeconds = this.#lagSeconds();
    return lagSeconds !== null && lagSeconds < CAUGHT_UP_S;
  }

  /** What the run waits for; null: nothing. Does not read the ledger, so it is known whatever has become of that. */
  get waitsFor(): string | null {
    const { context, waits } = this.#parts;
    return (
      waits.current(context.slots.dispatcher.waits(), context.source.reads.dispatcher.waits()) ??
      this.settling?.() ??
      this.#inDoubt()
    );
  }

  snapshot(): RunSnapshot {
    const { context, goal } = this.#parts;
    const { spec, ledger, tally, backlog, pages, sourceSide, targetSide, clock } = context;
    const longIntegers = tally.get('longIntegers');
    return Object.freeze({
      migration: migrationName(spec),
      goal,
      phase: ledger.migration.read().phase,
      complete: this.complete,
      documents: {
        read: tally.get('documentsRead'),
        written: tally.get('documentsWritten'),
        deleted: tally.get('documentsDeleted'),
        moved: tally.get('documentsMoved'),
        deadLettered: ledger.letters.openCount(),
        ...(longIntegers > 0 ? { longIntegers } : {}),
      },
      ru: {
        source: rounded(sourceSide.governor.budget.spentRu),
        target: rounded(targetSide.governor.budget.spentRu),
      },
      throttled: sourceSide.governor.throttled + targetSide.governor.throttled,
      durationMs: clock.monotonicMs() - this.#startedMs,
      lagSeconds: this.#lagSeconds(),
      ranges: this.#live().map(({ id, min, max, phase, documents }) => ({ id, min, max, phase, documents })),
      waitsFor: this.waitsFor,
      sweepPending: ledger.leases.live().some(({ sweepPending }) => sweepPending),
      ...(this.adoption === null ? {} : { adoption: this.adoption }),
      outlook: { ...this.#outlook, uncommitted: backlog.uncommitted },
      load: {
        inFlight: backlog.open,
        pages: pages.now,
        source: reportOf(sourceSide),
        target: reportOf(targetSide),
        steps: [...this.steps],
      },
    });
  }

  /** Reports at intervals, until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { context, onSnapshot } = this.#parts;
    while (!signal.aborted) {
      try {
        await context.clock.sleep(context.timing.showMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      const snapshot = this.snapshot();
      onSnapshot?.(snapshot);
      this.#warnOfStall(snapshot);
    }
  }

  /** Returns the cause of a stall for which `waits.current` found no wait. */
  #explainStall(seconds: number): string {
    const { context, waits } = this.#parts;
    const feeds = this.#live().map(({ id, askedMs }) => ({ range: id, sinceMs: askedMs }));
    const { slots, source } = context;
    return waits.explainStall(seconds, {
      target: slots.dispatcher.waits(),
      source: source.reads.dispatcher.waits(),
      feeds,
    });
  }

  /** Reports the last snapshot, also after a failure. */
  reportLast(): void {
    this.#parts.onSnapshot?.(this.snapshot());
  }

  #inDoubt(): string | null {
    const { writesInDoubt } = this.#parts.context.slots;
    if (writesInDoubt === 0) return null;
    return `${writesInDoubt === 1 ? 'a write was' : `${writesInDoubt} writes were`} not answered, and may land late`;
  }

  #live(): RangeProgress[] {
    return [...this.#ranges.values()]
      .filter(({ phase }) => phase !== 'replaced')
      .toSorted((a, b) => (a.min < b.min ? -1 : 1));
  }

  /** Returns the lag of the range that is farthest behind; null while a range is being copied. */
  #lagSeconds(): number | null {
    const live = this.#live();
    // If no range was read yet, the lag is not known.
    if (live.length === 0) return null;
    const nowMs = this.#parts.context.serviceTime.nowMs();
    let lagMs = 0;
    for (const { phase, caughtUpMs, lastTs } of live) {
      const seenMs = Math.max(caughtUpMs ?? 0, (lastTs ?? 0) * 1000);
      if (phase !== 'tail' || seenMs === 0) return null;
      lagMs = Math.max(lagMs, nowMs - seenMs);
    }
    return Math.round(lagMs / 100) / 10;
  }

  #warnOfStall({ documents, waitsFor, ranges, outlook }: RunSnapshot): void {
    const { context, goal } = this.#parts;
    const caughtUp = this.#live().map(({ caughtUpMs }) => caughtUpMs);
    const seconds = this.#watchdog.stalledSeconds(
      JSON.stringify([documents, outlook.uncommitted, ranges, caughtUp]),
    );
    if (seconds === null || this.isPaused) return;
    const isIdle = goal === 'tail' && this.haveAllCaughtUp();
    const why = waitsFor ?? (isIdle ? 'there is nothing to do' : this.#explainStall(seconds));
    context.log.warn(`nothing has moved for ${seconds} s: ${why}`);
  }
}

function outlookOf({ context, containers }: ReporterParts): Omit<Outlook, 'uncommitted'> {
  const { ledger, targetSide } = context;
  return {
    documents: containers.source.documentCount,
    readBefore: ledger.counters.all()['documentsRead'] ?? 0,
    targetRu: targetSide.governor.budget.rate ?? ruOf(containers.target.throughput) ?? null,
  };
}

function reportOf({ governor, facts, ranges, requests }: Side): SideReport {
  return {
    ru: rounded(governor.budget.spentRu),
    throttled: governor.throttled,
    allowedRu: governor.budget.rate ?? null,
    containerRu: ruOf(facts.throughput) ?? null,
    keyPaths: facts.keyPaths,
    durations: governor.durations.current,
    requests: requests.inFlight.now,
    ranges: ranges.list.map(({ id, min, max }) => {
      const { ru, ...use } = governor.useOf(id);
      return { id, min, max, ru: rounded(ru), ...use };
    }),
  };
}

function rounded(ru: number): number {
  return Math.round(ru * 100) / 100;
}
