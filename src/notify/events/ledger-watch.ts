/**
 * Turns what the files of a migration show into notifications, for a process that watches a run and outlives it: also
 * what the run cannot notify, such as its own crash. Invariants: the past is not notified, but what is wrong now is,
 * even if it was before this process began; and an event that the run notifies as well has the same key.
 */
import { existsSync } from 'node:fs';
import type { Clock } from '../../lib/clock.ts';
import { formatCount } from '../../lib/counting.ts';
import { migrationName, type Ends } from '../../spec/migration-name.ts';
import { turnPath } from '../../spec/turns/settings-of-turn.ts';
import { isSwitch, type Run } from '../../state/runs.ts';
import { CutoverStory } from './cutover-story.ts';
import type { Happening } from './happening.ts';
import { lookAt, type Mark, type LedgerSeen } from './ledger-look.ts';
import { LedgerPace } from './ledger-pace.ts';
import { LetterSteps } from './letter-steps.ts';
import { ProofWatch } from './proof-watch.ts';
import { RetentionWatch } from './retention-watch.ts';
import { commandOf, endOf, isWhole, RunEnds } from './run-ends.ts';
import { phaseHappening } from './sentences.ts';
import type { State } from '../sender.ts';
import { Lasting } from './stall.ts';

export interface LedgerWatchParts {
  /** The path of the ledger. */
  readonly ledger: string;
  /** From which age on a proof is notified as old. */
  readonly proofAgeMs: number;
  readonly clock: Clock;
  readonly notify: (happening: Happening, state: State) => void;
}

/** Nothing of the ledger is past. */
const WHOLE: Mark = { entry: 0, run: 1 };

export class LedgerWatch {
  readonly #parts: LedgerWatchParts;
  #mark: Mark | null = null;
  #migration: MigrationWatch | null = null;
  #unreadable: Lasting | null = null;

  constructor(parts: LedgerWatchParts) {
    this.#parts = parts;
  }

  /** Source and target of the migration; null: not known yet. */
  get ends(): Ends | null {
    return this.#migration?.ends ?? null;
  }

  /** Looks at the files. Called every second. */
  look(): void {
    const turn = newestTurn(this.#parts.ledger);
    const found = lookAt(turnPath(this.#parts.ledger, turn), this.#mark);
    if (found.is === 'unreadable') return this.#takeUnreadable(found.why);
    this.#unreadable = null;
    if (found.is === 'absent') {
      // Whatever a ledger holds that is made now is new.
      [this.#migration, this.#mark] = [null, WHOLE];
      return;
    }
    const mark = this.#markOfOther(found);
    if (mark !== undefined) {
      [this.#migration, this.#mark] = [null, mark];
      return this.look();
    }
    this.#migration ??= new MigrationWatch(found, turn, { ...this.#parts, isNew: this.#mark !== null });
    this.#mark = { entry: found.lastEntry, run: this.#migration.take(found) };
  }

  /**
   * Returns where to begin in a ledger that has taken the name of the one that was watched; undefined: it is the same.
   * Of an older copy of the same ledger, all is past.
   */
  #markOfOther({ overview: { migration, lastRun }, newestEntry }: LedgerSeen): Mark | null | undefined {
    if (this.#migration === null || this.#mark === null) return undefined;
    if (this.#migration.ledgerName !== migration.ledgerName) return WHOLE;
    const isOlder = newestEntry < this.#mark.entry || (lastRun?.number ?? 0) < this.#mark.run - 1;
    return isOlder ? null : undefined;
  }

  #takeUnreadable(why: string): void {
    const { clock, ledger, notify } = this.#parts;
    this.#unreadable ??= new Lasting(clock);
    if (!this.#unreadable.isDue()) return;
    const seconds = formatCount(Math.round(this.#unreadable.ms / 1000));
    const text = `the ledger could not be read for ${seconds} s: ${why}`;
    const migration = this.ends === null ? ledger : migrationName(this.ends);
    const state = { command: 'watch', migration, phase: null, documents: null, lagSeconds: null, turn: 0 };
    notify({ event: 'unreadable', text, key: null }, { ...state, ledgerName: null });
  }
}

/** Returns the newest turn of a migration that has a ledger. */
function newestTurn(ledger: string): number {
  let turn = 0;
  while (existsSync(turnPath(ledger, turn + 1))) turn += 1;
  return turn;
}

interface Found {
  readonly happening: Happening;
  readonly state: State;
}

/** What is notified of one migration. */
class MigrationWatch {
  readonly ends: Ends;
  readonly ledgerName: string;
  readonly #parts: LedgerWatchParts;
  readonly #turn: number;
  readonly #story: CutoverStory;
  readonly #pace: LedgerPace;
  readonly #proofs: ProofWatch;
  readonly #retention = new RetentionWatch();
  readonly #runEnds: RunEnds;
  #letters: { readonly run: number; readonly steps: LetterSteps } | null = null;
  #openBefore: number;
  #state: State;
  /** What this look has found. */
  #found: Found[] = [];

  /** `isNew`: whether the ledger was made since this process began, so that nothing of it is past. */
  constructor(
    seen: LedgerSeen,
    turn: number,
    { isNew, ...parts }: LedgerWatchParts & { readonly isNew: boolean },
  ) {
    const { migration, lastRun } = seen.overview;
    this.#parts = parts;
    this.#turn = turn;
    this.ends = migration.pinned;
    this.ledgerName = migration.ledgerName;
    this.#state = stateOf(seen, turn);
    this.#story = new CutoverStory((happening) => this.#notify(happening));
    this.#pace = new LedgerPace(parts.clock);
    this.#proofs = new ProofWatch(isNew ? null : seen.proof, parts.proofAgeMs);
    this.#openBefore = isNew ? 0 : seen.openLetters;
    const isLastPast = lastRun !== null && lastRun.endedAtMs !== null;
    this.#runEnds = new RunEnds(isNew || lastRun === null ? 1 : lastRun.number + (isLastPast ? 1 : 0));
  }

  /** Notifies what is new. Returns the number of the run from which on the next look needs the runs. */
  take(seen: LedgerSeen): number {
    const { overview, proof, openLetters } = seen;
    const { migration, lastRun, isRunning } = overview;
    this.#state = stateOf(seen, this.#turn);
    this.#takeEntries(seen);
    this.#takeLetters(seen);
    const isOfCutover = isSwitch(lastRun?.command) && (proof?.atMs ?? 0) >= (lastRun?.startedAtMs ?? 0);
    this.#notify(this.#proofs.look(proof, { openLetters, isOfCutover }), 'verify');
    this.#notify(this.#pace.look(seen));
    for (const run of this.#runEnds.look(seen.runs, isRunning))
      if (isWhole(run)) this.#notify(endOf(run, this.#turn), commandOf(run));
    const nowMs = this.#parts.clock.now();
    if (proof !== null && migration.phase !== 'committed') this.#notify(this.#proofs.lookAtAge(proof, nowMs));
    this.#notify(this.#retention.look(seen.retentionEndMs, nowMs));
    this.#sendInOrder();
    return this.#runEnds.next;
  }

  #takeEntries({ entries, overview: { lastRun } }: LedgerSeen): void {
    this.#story.writersStoppedAtMs = lastRun === null ? null : stoppedAtMs(lastRun);
    this.#story.lookAtWriters();
    for (const entry of entries)
      if (!this.#story.take(entry) && entry.event === 'phase') this.#notify(phaseHappening(entry));
  }

  #takeLetters({ overview: { lastRun }, openLetters }: LedgerSeen): void {
    if (lastRun === null) return;
    if (this.#letters?.run !== lastRun.number)
      this.#letters = { run: lastRun.number, steps: new LetterSteps(this.#openBefore) };
    this.#openBefore = openLetters;
    this.#notify(this.#letters.steps.look(openLetters, () => lastRun));
  }

  /** `command`: the command that it is about; absent: that of the last run. */
  #notify(happening: Happening | null, command = this.#state.command): void {
    if (happening === null) return;
    this.#found.push({ happening, state: { ...this.#state, command } });
  }

  /** A run may do much between two looks, and records it in several tables. */
  #sendInOrder(): void {
    const nowMs = this.#parts.clock.now();
    const timeOf = ({ happening: { atMs = nowMs } }: Found): number => atMs;
    for (const { happening, state } of this.#found.toSorted((one, other) => timeOf(one) - timeOf(other)))
      this.#parts.notify(happening, state);
    this.#found = [];
  }
}

function stateOf({ overview: { migration, lastRun, isRunning } }: LedgerSeen, turn: number): State {
  return {
    turn,
    command: lastRun === null ? 'watch' : commandOf(lastRun),
    migration: migrationName(migration.pinned),
    phase: migration.phase,
    // The ledger counts the documents of all runs, not those of the last.
    documents: null,
    lagSeconds: isRunning ? (lastRun?.report?.lagSeconds ?? null) : null,
    ledgerName: migration.ledgerName,
  };
}

/** Returns when a cutover had stopped the writers: when it began to drain; null: it has not. */
function stoppedAtMs({ command, report }: Run): number | null {
  if (!isSwitch(command) || report === null) return null;
  const [stop, drain] = ['stopping writers', 'draining'].map((step) =>
    report.steps.findLastIndex(({ name }) => name === step),
  ) as [number, number];
  return drain > stop ? (report.steps[drain]?.atMs ?? null) : null;
}
