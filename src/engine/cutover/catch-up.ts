/** Runs the tail until it has replicated everything that the source held at the start of the call. */
import { runLeases, type LeasesParts } from '../leases/run-leases.ts';

/** Pause between two rounds of `keepCatchingUp`. */
const ROUND_EVERY_MS = 1000;

/** Runs one round. Throws if reading is stopped before the round is complete. */
export async function catchUp(leases: LeasesParts): Promise<void> {
  await runRound(leases);
  leases.reading.throwIfAborted();
}

/** Runs one round after another, until `reading` is aborted. */
export async function keepCatchingUp(leases: LeasesParts): Promise<void> {
  const { context, reading } = leases;
  while (!reading.aborted) {
    await runRound(leases);
    await context.clock.sleep(ROUND_EVERY_MS, reading).catch((error: unknown) => {
      if (!reading.aborted) throw error;
    });
  }
}

/** Runs the tail once. Any replica may say where the feeds end, because the fence asks the newest replica later. */
async function runRound(leases: LeasesParts): Promise<void> {
  await runLeases('catch-up', { ...leases, look: 'any replica' });
}
