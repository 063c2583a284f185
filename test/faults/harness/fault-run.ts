/** A run of a fault test: an emulator in a process of its own and a folder, which is kept on request. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmulatorProcess } from './emulator/process.ts';

/** A promise was broken, or cosmig did not end well. */
export class RunFailure extends Error {
  readonly folder: string;
  constructor(message: string, folder: string) {
    super(message);
    this.folder = folder;
  }
}

export interface RunOptions {
  /** Leaves ledger and logs behind where the run failed. */
  readonly keeps?: boolean;
}

/** Returns what `work` returns; an error that it throws names the command that repeats the run. */
export async function inFolder<T>(
  { name, replay, keeps = false }: RunOptions & { readonly name: string; readonly replay: string },
  work: (emulator: EmulatorProcess, folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), `cosmig-${name}-`));
  let failed = true;
  try {
    await using emulator = await EmulatorProcess.start(':memory:', { ru: 'off' });
    const report = await work(emulator, folder);
    failed = false;
    return report;
  } catch (error) {
    if (error instanceof Error) error.message += `\n  replay: ${replay}`;
    throw error;
  } finally {
    if (!failed || !keeps) rmSync(folder, { recursive: true, force: true });
  }
}
