/** What tests give a cutover of the engine by default: no writers to stop, and no differences. */
import type { CutoverOptions } from '../../../src/engine/cutover/contract.ts';

const done = async (): Promise<void> => {};

export const CUTOVER: CutoverOptions = {
  stopWriters: done,
  onCommit: done,
  onAbort: done,
  lastCleanMs: () => 1,
  prove: async () => ({ equal: true, why: '', suspects: [] }),
  say: () => {},
  deadlineMs: 60_000,
  quietMs: 50,
  watchMs: 0,
};
