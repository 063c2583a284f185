/** Repeats a short step many times, and lets other work of the process run in between, such as a signal to stop. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many steps there are between two turns: some ten milliseconds. */
const STEPS = 65_536;

/** Calls `step` until it returns false. */
export async function throughTurns(step: () => boolean, signal: AbortSignal): Promise<void> {
  for (;;) {
    for (let done = 0; done < STEPS; done += 1) if (!step()) return;
    // oxlint-disable-next-line no-await-in-loop -- the turns follow one another
    await nextTurn();
    signal.throwIfAborted();
  }
}
