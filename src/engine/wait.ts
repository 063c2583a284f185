/** Waits of which there are many at once under one signal, which Node would take for a leak from the eleventh on. */
import { setMaxListeners } from 'node:events';
import { orAborted } from '../lib/abort.ts';

/** What `promise` gives, or the reason of `signal`, whichever is first. */
export async function waitFor<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  setMaxListeners(0, signal);
  return orAborted(promise, signal);
}
