/**
 * How to reach an account. Invariant: only one method returns the key. The key appears neither in JSON, nor in an
 * inspected or copied object.
 */
import { inspect } from 'node:util';

export class Connection {
  /** The URL of the account: its origin and one slash. */
  readonly endpoint: string;
  readonly signsInWith: 'key' | 'entra-id';
  readonly #checksCertificate: boolean;
  readonly #key: string | undefined;

  constructor(endpoint: string, key: string | undefined, { checksCertificate = true } = {}) {
    this.endpoint = endpoint;
    this.#checksCertificate = checksCertificate;
    this.signsInWith = key === undefined ? 'entra-id' : 'key';
    this.#key = key;
    Object.freeze(this);
  }

  /** Whether Node checks the certificate of the account. */
  get checksCertificate(): boolean {
    return this.#checksCertificate;
  }

  /** Returns the account key, for the SDK only; undefined with Entra ID. */
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

/** The connections of both sides: the same object twice when source and target are in one account and use one key. */
export interface Connections {
  readonly source: Connection;
  readonly target: Connection;
}

/** Returns whether a host name can only mean this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
