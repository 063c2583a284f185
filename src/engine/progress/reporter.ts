/** Takes pictures of a run, once in a while and at its end, and notices when nothing moves. */
import { ruOf } from '../../cosmos/container/throughput.ts';
import { migrationName } from '../../spec/migration-name.ts';
import type { Lease } from '../../state/leases.ts';
import type { RunContext } from '../context.ts';
import type { Sides } from '../assemble.ts';
import type { RangePicture } from './range-progress.ts';
import type { Goal, Outlook, Snapshot } from './snapshot.ts';
import { Watchdog, type Waits } from './stall.ts';

interface CameraParts {
  readonly context: RunContext;
  readonly goal: Goal;
  readonly sides: Sides;
  readonly waits: Waits;
  readonly onSnapshot: ((snapshot: Snapshot) => void) | undefined;
}

/** Who is no farther behind than this has caught up: a busy source has always just said something. */
const CAUGHT_UP_S = 10;

export class Camera {
  complete = false;
  /** Nothing is to be moved now, so that nobody wonders that nothing moves. */
  rests = false;
  readonly #parts: CameraParts;
  readonly #startedMs: number;
  readonly #watchdog: Watchdog;
  readonly #outlook: Omit<Outlook, 'underWay'>;
  readonly #pictures = new Map<number, RangePicture>();

  constructor(parts: CameraParts) {
    this.#parts = parts;
    this.#startedMs = parts.context.clock.now();
    this.#watchdog = new Watchdog(parts.context.clock);
    this.#outlook = outlookOf(parts);
  }

  pictureOf({ number, rangeId, min, max, phase, documents }: Lease): RangePicture {
    let picture = this.#pictures.get(number);
    if (picture === undefined) {
      picture = { id: rangeId, min, max, phase, documents, lastTs: null, caughtUpMs: null, askedMs: null };
      this.#pictures.set(number, picture);
    }
    return picture;
  }

  /** Whether no range is behind, but for what was written a moment ago. */
  haveAllCaughtUp(): boolean {
    const lagSeconds = this.#lagSeconds();
    return lagSeconds !== null && lagSeconds < CAUGHT_UP_S;
  }

  take(): Snapshot {
    const { context, goal, waits } = this.#parts;
    const { spec, ledger, tally, sourceSide, targetSide, clock } = context;
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
      },
      ru: {
        source: rounded(sourceSide.governor.budget.spentRu),
        target: rounded(targetSide.governor.budget.spentRu),
      },
      throttled: sourceSide.governor.throttled + targetSide.governor.throttled,
      durationMs: clock.now() - this.#startedMs,
      lagSeconds: this.#lagSeconds(),
      ranges: this.#live().map(({ id, min, max, phase, documents }) => ({ id, min, max, phase, documents })),
      waitsFor:
        waits.now(context.slots.dispatcher.waits(), context.source.reads.dispatcher.waits()) ??
        this.#settling(),
      sweepPending: ledger.leases.live().some(({ sweepPending }) => sweepPending),
      outlook: { ...this.#outlook, underWay: tally.underWay },
    });
  }

  /** Shows a picture now and then, until called off. */
  async show(signal: AbortSignal): Promise<void> {
    const { context, onSnapshot } = this.#parts;
    while (!signal.aborted) {
      try {
        await context.clock.sleep(context.timing.showMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      const snapshot = this.take();
      onSnapshot?.(snapshot);
      this.#watch(snapshot);
    }
  }

  /** Who keeps a run waiting that no wait has told of. */
  #whyStill(seconds: number): string {
    const { context, waits } = this.#parts;
    const feeds = this.#live().map(({ id, askedMs }) => ({ range: id, sinceMs: askedMs }));
    const { slots, source } = context;
    return waits.whyStill(seconds, {
      target: slots.dispatcher.waits(),
      source: source.reads.dispatcher.waits(),
      feeds,
    });
  }

  /** The picture of the end, however it came. */
  last(): void {
    this.#parts.onSnapshot?.(this.take());
  }

  #settling(): string | null {
    const { settling } = this.#parts.context.slots;
    if (settling === 0) return null;
    return `${settling === 1 ? 'a write was' : `${settling} writes were`} not answered, and may land late`;
  }

  #live(): RangePicture[] {
    return [...this.#pictures.values()]
      .filter(({ phase }) => phase !== 'replaced')
      .toSorted((a, b) => (a.min < b.min ? -1 : 1));
  }

  /** Of the range that is farthest behind; null while one is copied. */
  #lagSeconds(): number | null {
    const live = this.#live();
    // Nothing was read: who knows.
    if (live.length === 0) return null;
    const nowMs = this.#parts.context.serviceMs();
    let lagMs = 0;
    for (const { phase, caughtUpMs, lastTs } of live) {
      const seenMs = Math.max(caughtUpMs ?? 0, (lastTs ?? 0) * 1000);
      if (phase !== 'tail' || seenMs === 0) return null;
      lagMs = Math.max(lagMs, nowMs - seenMs);
    }
    return Math.round(lagMs / 100) / 10;
  }

  #watch({ documents, waitsFor, ranges, outlook }: Snapshot): void {
    const { context, goal } = this.#parts;
    const caughtUp = this.#live().map(({ caughtUpMs }) => caughtUpMs);
    const seconds = this.#watchdog.look(JSON.stringify([documents, outlook.underWay, ranges, caughtUp]));
    if (seconds === null || this.rests) return;
    const isIdle = goal === 'tail' && this.haveAllCaughtUp();
    const why = waitsFor ?? (isIdle ? 'there is nothing to do' : this.#whyStill(seconds));
    context.log.warn(`nothing has moved for ${seconds} s: ${why}`);
  }
}

function outlookOf({ context, sides }: CameraParts): Omit<Outlook, 'underWay'> {
  const { ledger, targetSide } = context;
  return {
    documents: sides.source.documentCount,
    readBefore: ledger.counters.all()['documentsRead'] ?? 0,
    targetRu: targetSide.governor.budget.rate ?? ruOf(sides.target.throughput) ?? null,
  };
}

function rounded(ru: number): number {
  return Math.round(ru * 100) / 100;
}
