/**
 * Where notifications are posted. Invariant: of a URL only its origin is ever shown, since user name, path and query
 * may all be secret: the whole path of a webhook often is.
 */
import { inspect } from 'node:util';
import { UsageError } from '../lib/errors.ts';
import { isLoopback } from '../spec/connection.ts';

export const URL_VARIABLE = 'COSMIG_NOTIFY';
export const SECRET_VARIABLE = 'COSMIG_NOTIFY_SECRET';

/** A shorter secret could be found by trying all of them against one signature. */
const SECRET_LENGTH_MIN = 16;

export class Destination {
  /** What messages show: `https://example.com`. */
  readonly origin: string;
  readonly #url: URL;

  constructor(url: URL) {
    this.origin = url.origin;
    this.#url = url;
    Object.freeze(this);
  }

  /** Returns the whole URL, for the request only. */
  revealUrl(): URL {
    return this.#url;
  }

  toJSON(): string {
    return this.origin;
  }

  [inspect.custom](): string {
    return `Destination { ${this.origin} }`;
  }
}

/** Reads the value of `--notify`. No message repeats it. */
export function readDestination(text: string): Destination {
  const refuse = (why: string): never => {
    throw new UsageError('the URL of --notify is not valid', {
      why,
      hint: `for example --notify https://example.com/hook, or ${URL_VARIABLE} if the URL is secret`,
    });
  };
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : refuse('it is not a URL');
  if (url.protocol === 'https:') return new Destination(url);
  if (url.protocol !== 'http:') return refuse('it must begin with https://');
  if (isLoopback(url.hostname)) return new Destination(url);
  return refuse(
    'with http:// everyone on the network could read the URL and change the notification; only this machine may be reached without https://',
  );
}

/** Returns the secret of the signature; null: notifications are not signed. */
export function readSecret(env: Readonly<Record<string, string | undefined>>): string | null {
  const secret = env[SECRET_VARIABLE]?.trim() ?? '';
  if (secret === '') return null;
  if (secret.length >= SECRET_LENGTH_MIN) return secret;
  throw new UsageError(`${SECRET_VARIABLE} is too short`, {
    why: `it needs at least ${SECRET_LENGTH_MIN} characters, since a shorter secret can be guessed`,
    hint: 'make one: openssl rand -hex 32',
  });
}
