/**
 * Detects how runs end, also those that could not record it. Invariant: each end is notified once, and one that the run
 * has recorded a look later than it is seen, so that the run's own notification, which knows more, is sent first.
 */
import type { Run } from '../../state/runs.ts';
import { runKey, type Happening } from './happening.ts';
import { commandText } from './sentences.ts';

export class RunEnds {
  /** The number of the oldest run of which the end was not notified. */
  next: number;
  /** The run of which the last look has seen the end; null: none. */
  #seen: number | null = null;

  constructor(next: number) {
    this.next = next;
  }

  /** `runs`: the runs from `next` on. Returns those that have ended. */
  look(runs: readonly Run[], isRunning: boolean): Run[] {
    const ended: Run[] = [];
    for (const run of runs) {
      const isNewest = run.number === runs.at(-1)?.number;
      if (run.endedAtMs === null && isNewest && isRunning) break;
      if (run.endedAtMs !== null && this.#seen !== run.number) {
        this.#seen = run.number;
        break;
      }
      ended.push(run);
      this.next = run.number + 1;
    }
    return ended;
  }
}

/**
 * What a repair records as runs are its parts: it replicates between two comparisons, and ends each part itself. How it
 * ends as a whole is not in the ledger.
 */
const REPAIR = 'verify --repair';

/** Whether the end of a run says how its command has ended. */
export function isWhole({ command, endedAtMs }: Run): boolean {
  return endedAtMs === null || command !== REPAIR;
}

/** Returns the command of a run, without its flags. */
export function commandOf({ command }: Run): string {
  return command.split(' ', 1)[0] ?? command;
}

export function endOf(run: Run, turn: number): Happening {
  const { startedAtMs, endedAtMs, report } = run;
  const command = commandText(commandOf(run), turn);
  const outcome = endedAtMs === null ? 'crashed' : (run.outcome ?? 'internal');
  const atMs = endedAtMs ?? report?.atMs ?? startedAtMs;
  const seconds = Math.round((atMs - startedAtMs) / 100) / 10;
  const texts: Readonly<Record<string, string>> = {
    crashed: `${command} was killed or crashed; cosmig status shows how to continue`,
    done: `${command} is done`,
  };
  return {
    event: 'end',
    text: texts[outcome] ?? `${command} has ended: ${outcome}`,
    key: runKey(run, 'end'),
    end: { outcome, exitCode: outcome === 'done' ? 0 : null, seconds, error: null },
    // When a run has crashed is not known. This is when it was noticed.
    ...(endedAtMs === null ? {} : { atMs }),
  };
}
