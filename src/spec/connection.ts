/**
 * How to reach an account. Invariant: the key is available through one method only, and appears neither in JSON nor when the
 * object is inspected or copied.
 */
import { inspect } from 'node:util';

export class Connection {
  /** Origin and one slash. */
  readonly endpoint: string;
  readonly signsInWith: 'key' | 'entra-id';
  readonly #key: string | undefined;

  constructor(endpoint: string, key: string | undefined) {
    this.endpoint = endpoint;
    this.signsInWith = key === undefined ? 'entra-id' : 'key';
    this.#key = key;
    Object.freeze(this);
  }

  /** The account key, for the SDK only; undefined with Entra ID. */
  revealKey(): string | undefined {
    return this.#key;
  }

  toJSON(): Readonly<Record<string, string>> {
    return { endpoint: this.endpoint, signsInWith: this.signsInWith };
  }

  [inspect.custom](): string {
    return `Connection { ${this.endpoint} with ${this.signsInWith} }`;
  }
}

/** Both sides; the same object twice when they are one account. */
export interface Connections {
  readonly source: Connection;
  readonly target: Connection;
}

/** Whether a host can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
