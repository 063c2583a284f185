/** Turns of a migration on the emulator: runs and cutovers in each direction, each with the ledger of its turn. */
import { runCutover, type RunParts, type RunSnapshot } from '../../../src/engine/run.ts';
import type { CutoverOptions, CutoverResult } from '../../../src/engine/cutover/contract.ts';
import type { Goal } from '../../../src/engine/progress/snapshot.ts';
import { run } from '../../../src/engine/run.ts';
import { settingsOfTurn } from '../../../src/spec/turns/settings-of-turn.ts';
import { CUTOVER } from './cutover-parts.ts';
import type { Move } from './move.ts';

export class Turns {
  readonly #move: Move;

  constructor(move: Move) {
    this.#move = move;
  }

  /** Returns what a run of a turn receives. */
  parts(number: number, parts: Partial<RunParts> = {}): RunParts {
    const all = this.#move.parts(parts);
    return { ...all, ...settingsOfTurn(all, number) };
  }

  async run(number: number, goal: Goal, parts: Partial<RunParts> = {}): Promise<RunSnapshot> {
    return run(goal, this.parts(number, parts));
  }

  /** Ends a turn with a cutover that keeps the container of which it is the source. */
  async cutOver(
    number: number,
    options: Partial<CutoverOptions> = {},
    parts: Partial<RunParts> = {},
  ): Promise<RunSnapshot & CutoverResult> {
    const keepSource = async () => ({ deletes: 'avad', forMs: 3_600_000, pausedTtl: null }) as const;
    return runCutover(this.parts(number, parts), { ...CUTOVER, keepSource, ...options });
  }
}
