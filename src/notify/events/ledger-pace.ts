/** Detects that the run of a ledger stands still, also when it hangs and reports nothing itself. */
import type { Clock } from '../../lib/clock.ts';
import type { Overview } from '../../state/reading/overview.ts';
import { runKey, type Happening } from './happening.ts';
import { movedText } from './journal-reader.ts';
import type { LedgerSeen } from './ledger-look.ts';
import { comparedText, figuresOf, Stall } from './stall.ts';

/** A run that has reported nothing for this long may hang. It reports every second. */
const SILENT_MS = 10_000;

export class LedgerPace {
  readonly #clock: Clock;
  #stall: Stall;
  /** The run that is followed; null: none runs. */
  #run: number | null = null;
  /** The last report of the run, and when it was first seen. */
  #report: { readonly atMs: number | null; readonly sinceMs: number } = { atMs: null, sinceMs: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#stall = new Stall(clock);
  }

  look({ overview, comparing }: LedgerSeen): Happening | null {
    const { lastRun: run, isRunning, migration } = overview;
    // After the commit nothing has to move.
    const isOver = run?.endedAtMs !== null || migration.phase === 'committed';
    if (run === null || !isRunning || isOver) {
      this.#run = null;
      return null;
    }
    if (run.number !== this.#run) {
      [this.#run, this.#stall] = [run.number, new Stall(this.#clock)];
      this.#report = { atMs: null, sinceMs: this.#clock.monotonicMs() };
    }
    const { report, command } = run;
    const isSilent = this.#isSilent(report?.atMs ?? null);
    const step = (command === 'cutover' ? report?.steps.at(-1)?.name : null) ?? null;
    const compared = step === 'comparing' ? comparing : null;
    const moved = movedOf(overview);
    const activity = {
      step,
      compared,
      isTail: command !== 'copy',
      lagSeconds: report?.lagSeconds ?? null,
      moved,
    };
    const waitsFor = compared === null ? report?.waitsFor : compared.waitsFor;
    return this.#stall.look({
      figures: isSilent ? moved : figuresOf(activity),
      waitsFor: isSilent ? 'the run reports nothing and may hang' : (waitsFor ?? null),
      key: () => runKey(run, compared === null ? movedText(overview.counters) : comparedText(compared)),
    });
  }

  #isSilent(atMs: number | null): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (atMs !== this.#report.atMs) this.#report = { atMs, sinceMs: nowMs };
    return atMs !== null && nowMs - this.#report.sinceMs > SILENT_MS;
  }
}

function movedOf({ counters, leases, lastRun }: Overview): string {
  const ranges = leases.map(({ rangeId, phase, documents }) => [rangeId, phase, documents]);
  return JSON.stringify([movedText(counters), lastRun?.report?.inFlight ?? 0, ranges]);
}
