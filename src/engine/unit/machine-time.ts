/**
 * Moments that a process records and a later process of the same machine can compare with its own. They come from the
 * machine's monotonic clock, which no one can set, and which stands still while the machine is suspended. Invariant:
 * the time between two moments is never longer than the time that has really passed.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import type { MachineMoment } from '../../state/runs.ts';

let clock: string | null | undefined;

/**
 * Returns the current moment; null if the operating system does not identify the boot of the machine. Only Linux does.
 */
export function currentMoment(): MachineMoment | null {
  if (clock === undefined) clock = identifyClock();
  return clock === null ? null : { clock, ms: Number(process.hrtime.bigint() / 1_000_000n) };
}

/** Returns how many milliseconds lie between two moments; null if they cannot be compared. */
export function msBetween(then: MachineMoment | null, now: MachineMoment | null): number | null {
  if (then === null || now === null || then.clock !== now.clock || now.ms < then.ms) return null;
  return now.ms - then.ms;
}

function identifyClock(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return boot === '' ? null : `${boot} ${readlinkSync('/proc/self/ns/time')}`;
  } catch {
    return null;
  }
}
