/**
 * Signs requests with the account key, instead of the SDK: the SDK dates every signature by the clock of this machine,
 * and the service refuses a date that is more than 15 minutes off (fact SVC-40).
 *
 * Invariant: signatures are dated by this machine's clock, until the service refuses one with a reply whose date
 * differs by about 15 minutes or more. From then on they are dated by the date of that reply, plus the time that has
 * passed since by the monotonic clock. If the service refuses such a date too, this machine's clock is used again. The
 * key appears in no object that is printed.
 */
import { createHmac } from 'node:crypto';
import { ResourceType, type RequestInfo, type TokenProvider } from '@azure/cosmos';
import type { Clock } from '../../lib/clock.ts';

/** A refusal may be due to the clock if it is off by this much: a little less than what the service allows. */
const OFF_MIN_MS = 14 * 60_000;

/** A request to sign. The SDK's type promises an id, but a request for the account or for a list has none. */
type Unsigned = Omit<RequestInfo, 'resourceId'> & { readonly resourceId?: string };

export class Signer {
  readonly #key: Buffer;
  readonly #clock: Clock;
  /** The service's time minus the monotonic clock; undefined: this machine's clock is used. */
  #offsetMs: number | undefined;

  constructor(key: string, clock: Clock) {
    this.#key = Buffer.from(key, 'base64');
    this.#clock = clock;
  }

  /** Sets the date of a request, and returns the signature for it. */
  readonly sign: TokenProvider = async ({ verb, resourceId = '', resourceType, headers }: Unsigned) => {
    const date = new Date(this.#nowMs()).toUTCString();
    headers['x-ms-date'] = date;
    // The service signs the id of an offer in lower case.
    const id = resourceType === ResourceType.offer ? resourceId.toLowerCase() : resourceId;
    const text = `${verb.toLowerCase()}\n${resourceType.toLowerCase()}\n${id}\n${date.toLowerCase()}\n\n`;
    const signature = createHmac('sha256', this.#key).update(text).digest('base64');
    return `type=master&ver=1.0&sig=${signature}`;
  };

  /**
   * Takes the date of a signature that was refused, and the date of the refusal; returns whether a new signature may be
   * accepted.
   */
  correct(signed: string, refused: string): boolean {
    const theirsMs = Date.parse(refused);
    const isOff = Math.abs(theirsMs - Date.parse(signed)) >= OFF_MIN_MS;
    this.#offsetMs = isOff ? theirsMs - this.#clock.monotonicMs() : undefined;
    return isOff;
  }

  #nowMs(): number {
    return this.#offsetMs === undefined ? this.#clock.now() : this.#clock.monotonicMs() + this.#offsetMs;
  }
}
