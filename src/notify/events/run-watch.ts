/**
 * Turns what a run does into notifications. The run only leaves its newest figures here, which costs it nothing; they
 * are looked at every second. What a cutover did is read from the journal, since its phases follow each other within
 * milliseconds. Invariant: nothing here can fail the run, and what repeats itself is notified at doubling distances.
 */
import type { Step } from '../../engine/cutover/contract.ts';
import type { RunSnapshot } from '../../engine/progress/snapshot.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Verdict } from '../../verify/verdict.ts';
import type { VerifyProgress } from '../../verify/verify.ts';
import { CutoverStory } from './cutover-story.ts';
import { proofKey, runKey, type Happening } from './happening.ts';
import type { JournalReader } from './journal-reader.ts';
import { LetterSteps } from './letter-steps.ts';
import { PROOF_TEXTS, phaseHappening } from './sentences.ts';
import { comparedText, figuresOf, Stall } from './stall.ts';

/** What a run shows to a display or to notifications. Each method returns at once. */
export interface RunObserver {
  onSnapshot(snapshot: RunSnapshot): void;
  onStep(step: Step): void;
  onCompare(progress: VerifyProgress): void;
  /** `proofMs`: the time by which the ledger names the proof; null: nothing was proven. */
  onVerdict(verdict: Verdict, proofMs: number | null): void;
}

export class RunWatch implements RunObserver {
  /** The newest snapshot of the run. */
  last: RunSnapshot | undefined;
  readonly #clock: Clock;
  readonly #journal: JournalReader;
  readonly #notify: (happening: Happening) => void;
  readonly #story: CutoverStory;
  readonly #letters: LetterSteps;
  readonly #stall: Stall;
  /** The phase of the snapshot at which the journal was last read. */
  #phase: string | undefined;
  #step: Step['name'] | null = null;
  #compared: VerifyProgress | undefined;

  constructor(
    journal: JournalReader,
    { clock, notify }: { readonly clock: Clock; readonly notify: (happening: Happening) => void },
  ) {
    this.#clock = clock;
    this.#journal = journal;
    this.#notify = notify;
    this.#story = new CutoverStory(notify);
    this.#letters = new LetterSteps(journal.openLetters);
    this.#stall = new Stall(clock);
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

  onVerdict(verdict: Verdict, proofMs: number | null): void {
    const { equal, level, source, target, differences, inFlight, letters } = verdict;
    const result = equal === null ? 'not proven' : equal ? 'equal' : 'differs';
    this.#notify({
      event: 'proof',
      text: PROOF_TEXTS[result],
      key: proofMs === null ? null : proofKey(proofMs),
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
      this.#notify(phaseHappening(entry));
    }
  }

  #lookAtLetters(): void {
    if (this.last === undefined) return;
    const happening = this.#letters.look(this.last.documents.deadLettered, () => this.#journal.ownRun());
    if (happening !== null) this.#notify(happening);
  }

  #lookAtPace(): void {
    const compared = this.#compared;
    const happening = this.#stall.look({
      figures: this.#figures(),
      waitsFor: (compared ?? this.last)?.waitsFor ?? null,
      key: () => {
        const run = this.#journal.ownRun();
        return run && runKey(run, compared === undefined ? run.moved : comparedText(compared));
      },
    });
    if (happening !== null) this.#notify(happening);
  }

  #figures(): string | null {
    const { last } = this;
    const goal = last?.goal ?? 'copy';
    return figuresOf({
      step: this.#step,
      compared: this.#compared ?? null,
      isTail: goal !== 'copy',
      lagSeconds: last?.lagSeconds ?? null,
      moved:
        last === undefined ? '' : JSON.stringify([last.documents, last.outlook.uncommitted, last.ranges]),
    });
  }
}
