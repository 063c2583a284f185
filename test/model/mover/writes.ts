/**
 * Owns every exchange with the target: conditional writes, what an ambiguous reply means, and reads
 * that are never older than a write that may have landed.
 */
import { LOST, type Reply } from '../network.ts';
import type { Copy, Write } from '../target.ts';
import type { Slot } from '../source.ts';
import type { Process } from './process.ts';
import { READ, STEP, type Steps } from './task.ts';

export function* send(process: Process, write: Write): Steps<Reply> {
  const { network } = process.world;
  for (;;) {
    const request = network.send(write);
    yield { until: () => request.reply !== null };
    const reply = request.reply ?? LOST;
    const { status, token } = reply;
    if (status === 'throttled') continue;
    if (status === 'ambiguous') {
      if (!process.lacks('no-wait-before-settling')) yield { until: () => !network.holds(request) };
      process.targetToken = null;
      return reply;
    }
    if (process.targetToken !== null && token !== null)
      process.targetToken = Math.max(process.targetToken, token);
    return reply;
  }
}

/**
 * What is in a slot. After a reply that did not arrive, and in a new process, no token covers what may
 * have landed: a write that is bound to be refused (a delete with an etag that no document has) is
 * answered by the primary and brings the newest one.
 */
export function* readSlot(process: Process, slot: Slot): Steps<Copy | null> {
  const { target } = process.world;
  if (process.targetToken === null) {
    if (process.lacks('slot-read-behind-write')) process.targetToken = process.lastTargetToken;
    else {
      yield STEP;
      process.targetToken = target.lsn;
    }
  }
  const lag = yield READ;
  const floor = process.targetToken ?? target.lsn;
  const lsn = lag === 0 ? target.lsn : lag === 1 ? Math.max(floor, target.lsn - 1) : floor;
  process.targetToken = Math.max(floor, lsn);
  process.lastTargetToken = process.targetToken;
  return target.at(lsn).get(slot) ?? null;
}
