/**
 * Finds out that a container was deleted, or deleted and created again under the same name, while requests are sent to
 * it. The service answers such requests as it answers passing trouble: a session token of the old container is from the
 * future of the new one (404/1002), and the old ranges are gone (410). Waiting would not help, so after about a second
 * without a success the container itself is read.
 *
 * Invariant: only a successful reply of another container, or the container's own description, proves that it is
 * another one. Any other trouble of that read is left to the caller's patience.
 */
import type { Clock } from '../../lib/clock.ts';
import { containerMissing, containerRecreated } from '../../spec/refusals.ts';
import type { ContainerName } from '../../spec/input/values.ts';
import type { Trouble } from './trouble.ts';

/** What the name stands for now: a container with this _rid, no container (`missing`), or not known (`unknown`). */
export type NamedContainer = { readonly rid: string } | 'missing' | 'unknown';

/** With this header the service refuses requests that reach another container (400/1024). */
export const INTENDED = 'x-ms-cosmos-intended-collection-rid';
/** The substatus of a 400 whose cause is INTENDED. */
const ANOTHER_CONTAINER = 1024;
/** Trouble that lasts less than this is not looked into, because a split or a replica that lags causes it all the time. */
const SUSPECT_AFTER_MS = 1000;
/** The least time between two reads of the container. */
const LOOK_EVERY_MS = 3000;

/** The container that requests are meant for. */
export interface IntendedContainer {
  readonly rid: string;
  /** Its side in messages, as in `the source container was deleted`. */
  readonly is: 'source' | 'target';
}

interface Parts extends IntendedContainer {
  readonly name: ContainerName;
  readonly clock: Clock;
  /** Asks the service what the name stands for now. */
  readonly look: (signal: AbortSignal) => Promise<NamedContainer>;
}

export class SameContainer {
  readonly #parts: Parts;
  #answeredMs: number;
  #lookedMs = -Infinity;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#answeredMs = parts.clock.monotonicMs();
  }

  /** Takes the _rid in a successful reply; throws if another container has answered. */
  confirm(answering: string | undefined): void {
    const { rid } = this.#parts;
    if (answering !== undefined && !isSameContainer(rid, answering)) throw this.#recreated(answering);
    this.#answeredMs = this.#parts.clock.monotonicMs();
  }

  /** Looks whether the container is still there, if the trouble may come from its absence; throws if it is not. */
  async suspect(trouble: Trouble, signal: AbortSignal): Promise<void> {
    const { clock, look, rid, is, name } = this.#parts;
    if (!this.#isTelling(trouble)) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_EVERY_MS) return;
    this.#lookedMs = nowMs;
    const found = await look(signal);
    if (found === 'unknown') return;
    if (found === 'missing')
      throw containerMissing(`${is} container ${name.database}/${name.container}`, {
        why: 'it, or its database, was deleted during this run',
        hint: 'if that was a mistake, restore it; a restored or recreated container has another _rid and needs a new migration',
      });
    if (!isSameContainer(rid, found.rid)) throw this.#recreated(found.rid);
  }

  #isTelling({ status, substatus, kind }: Trouble): boolean {
    if (status === 400) return substatus === ANOTHER_CONTAINER || kind === 'fatal';
    if (status === 404 && kind === 'fatal') return true;
    if (status !== 404 && status !== 410) return false;
    return this.#parts.clock.monotonicMs() - this.#answeredMs >= SUSPECT_AFTER_MS;
  }

  #recreated(other: string): Error {
    const { is, rid } = this.#parts;
    return containerRecreated(`${is} container`, { was: rid, is: other });
  }
}

/** Length of a container's _rid. The _rid of everything inside a container begins with the container's own. */
const RID_BYTES = 8;

function isSameContainer(rid: string, other: string): boolean {
  const [one, two] = [rid, other].map((text) => Buffer.from(text.replaceAll('-', '/'), 'base64'));
  if (one === undefined || two === undefined || two.length < RID_BYTES) return true;
  return one.subarray(0, RID_BYTES).equals(two.subarray(0, RID_BYTES));
}
