/**
 * Owns what a piece of the mover's work is: a generator that pauses wherever the world may change. The
 * scheduler resumes it and says how far the replica lags that answers its next read.
 */
import type { Lag } from '../source.ts';

export interface Pause {
  /** The work goes on once this holds. */
  readonly until?: () => boolean;
  /** What comes next is a read that may lag. */
  readonly reads?: true;
}

export type Steps<T = void> = Generator<Pause, T, Lag>;

export const STEP: Pause = {};
export const READ: Pause = { reads: true };

export interface Task {
  readonly name: string;
  readonly steps: Steps;
  pause: Pause;
}

export function isRunnable({ pause }: Task): boolean {
  return pause.until === undefined || pause.until();
}
