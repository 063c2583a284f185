/**
 * Turns what a run does into notifications. The run only leaves its newest figures here, which costs it nothing; they
 * are looked at every second. What a cutover did is read from the journal, since its phases follow each other within
 * milliseconds. Invariant: nothing here can fail the run, and what repeats itself is notified at doubling distances.
 */
import type { Step } from '../engine/cutover/contract.ts';
import type { RunSnapshot } from '../engine/progress/snapshot.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount, pluralize } from '../lib/counting.ts';
import type { Notification } from '../report/json/notification.ts';
import type { Phase } from '../state/migration.ts';
import type { Verdict } from '../verify/verdict.ts';
import type { VerifyProgress } from '../verify/verify.ts';
import { CutoverStory } from './cutover-story.ts';
import type { JournalReader } from './journal-reader.ts';

/** What happened: the members of a notification that depend on the event. */
export type Happening = Pick<Notification, 'event' | 'text' | 'stalled' | 'proof' | 'cutover' | 'end'> & {
  /** When it happened; absent: now. */
  readonly atMs?: number;
  /** The phase that the migration entered; absent: that of the newest snapshot. */
  readonly phase?: string;
};

/** What a run shows to a display or to notifications. Each method returns at once. */
export interface RunObserver {
  onSnapshot(snapshot: RunSnapshot): void;
  onStep(step: Step): void;
  onCompare(progress: VerifyProgress): void;
  onVerdict(verdict: Verdict): void;
}

/** How long nothing must move before a notification. Shorter pauses are common, as when a partition splits. */
const STALLED_AFTER_MS = 60_000;

/** Steps of a cutover that wait for a command of the operator, or only for time to pass. */
const STANDING: ReadonlyArray<Step['name']> = [
  'stopping writers',
  'resuming writers',
  'after the commit',
  'watching for late writes',
];

export class RunWatch implements RunObserver {
  /** The newest snapshot of the run. */
  last: RunSnapshot | undefined;
  readonly #clock: Clock;
  readonly #journal: JournalReader;
  readonly #notify: (happening: Happening) => void;
  readonly #story: CutoverStory;
  readonly #stall: Stall;
  /** The phase of the snapshot at which the journal was last read. */
  #phase: string | undefined;
  #step: Step['name'] | null = null;
  #compared: VerifyProgress | undefined;
  /** Open dead letters that are not new; null: not known yet. */
  #lettersAtBegin: number | null;
  #lettersNotified = 0;

  constructor(
    journal: JournalReader,
    { clock, notify }: { readonly clock: Clock; readonly notify: (happening: Happening) => void },
  ) {
    this.#clock = clock;
    this.#journal = journal;
    this.#notify = notify;
    this.#story = new CutoverStory(notify);
    this.#stall = new Stall(clock);
    this.#lettersAtBegin = journal.openLetters;
  }

  onSnapshot(snapshot: RunSnapshot): void {
    this.last = snapshot;
  }

  onStep(step: Step): void {
    if (this.#step === 'stopping writers' && step.stoppedAtMs !== null)
      this.#story.writersStoppedAtMs = this.#clock.now();
    this.#step = step.name;
    this.#compared = undefined;
  }

  onCompare(progress: VerifyProgress): void {
    this.#compared = progress;
  }

  onVerdict(verdict: Verdict): void {
    const { equal, level, source, target, differences, inFlight, letters } = verdict;
    const result = equal === null ? 'not proven' : equal ? 'equal' : 'differs';
    this.#notify({
      event: 'proof',
      text: PROOF_TEXTS[result],
      proof: {
        result,
        level,
        source: source.count,
        target: target.count,
        differences,
        inFlight,
        openLetters: letters.open,
      },
    });
  }

  /** Looks at the newest figures. Called every second, and at the end of the run. */
  look(): void {
    // A cutover may back out of a phase and enter it again within a second.
    if (this.#step !== null || this.last?.phase !== this.#phase) this.#readJournal();
    this.#phase = this.last?.phase;
    this.#lookAtLetters();
    this.#lookAtPace();
  }

  #readJournal(): void {
    this.#story.lookAtWriters();
    for (const entry of this.#journal.next()) {
      if (this.#story.take(entry) || entry.event !== 'phase') continue;
      this.#notify({ event: 'phase', text: PHASE_TEXTS[entry.phase], atMs: entry.atMs, phase: entry.phase });
    }
  }

  #lookAtLetters(): void {
    if (this.last === undefined) return;
    const open = this.last.documents.deadLettered;
    this.#lettersAtBegin ??= open;
    if (open <= this.#lettersAtBegin || open < this.#lettersNotified * 2) return;
    this.#lettersNotified = open;
    const text = `${pluralize(open, 'dead letter')} ${open === 1 ? 'is' : 'are'} open; see cosmig dead-letters list`;
    this.#notify({ event: 'dead-letters', text });
  }

  #lookAtPace(): void {
    const waitsFor = (this.#compared ?? this.last)?.waitsFor ?? null;
    const change = this.#stall.look(this.#figures());
    if (change === null) return;
    const { event, seconds } = change;
    const why = waitsFor === null ? '' : `: ${waitsFor}`;
    const text =
      event === 'moving'
        ? `documents move again, after ${formatCount(seconds)} s`
        : `nothing has moved for ${formatCount(seconds)} s${why}`;
    this.#notify({ event, text, stalled: { seconds, waitsFor: event === 'moving' ? null : waitsFor } });
  }

  /** Returns a text that changes whenever the run has moved; null while it need not move. */
  #figures(): string | null {
    if (this.#step !== null && STANDING.includes(this.#step)) return null;
    if (this.#compared !== undefined) {
      const { stage, source, target, open } = this.#compared;
      // A comparison that looks at documents again gives the mover time to replicate them, within its deadline.
      return stage === 'rechecking' ? null : `${stage} ${source} ${target} ${open}`;
    }
    if (this.last === undefined) return '';
    const { documents, outlook, ranges, lagSeconds, goal } = this.last;
    // A tail without new changes is not behind.
    if (goal !== 'copy' && lagSeconds !== null && lagSeconds * 1000 < STALLED_AFTER_MS) return null;
    return JSON.stringify([documents, outlook.uncommitted, ranges]);
  }
}

const PHASE_TEXTS: Readonly<Record<Phase, string>> = {
  new: 'the migration has begun',
  copying: 'the copy has begun',
  tailing: 'the copy is complete; changes are replicated from now on',
  ready: 'the gate of the cutover is passed',
  fencing: 'the writers are being stopped',
  drained: 'every write is replicated',
  proven: 'source and target are equal',
  committed: 'the target is in use',
};

const PROOF_TEXTS = {
  equal: 'source and target are equal',
  differs: 'source and target differ',
  'not proven': 'source and target may still be equal: nothing is proven',
} as const;

/** Detects that nothing moves, and that it moves again. */
class Stall {
  readonly #clock: Clock;
  #figures: string | null = '';
  #sinceMs: number;
  /** The length of the stall at its last notification; 0: it was not notified. */
  #notifiedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  look(figures: string | null): { readonly event: 'stalled' | 'moving'; readonly seconds: number } | null {
    const stalledMs = this.#clock.monotonicMs() - this.#sinceMs;
    const seconds = Math.round(stalledMs / 1000);
    if (figures === null || figures !== this.#figures) {
      const wasNotified = this.#notifiedMs > 0;
      this.#figures = figures;
      this.#sinceMs += stalledMs;
      this.#notifiedMs = 0;
      return wasNotified ? { event: 'moving', seconds } : null;
    }
    if (stalledMs < Math.max(STALLED_AFTER_MS, this.#notifiedMs * 2)) return null;
    this.#notifiedMs = stalledMs;
    return { event: 'stalled', seconds };
  }
}
