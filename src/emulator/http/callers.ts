/**
 * Decides which callers are answered, before their requests are interpreted. The key is public, and the admin routes
 * need no key. So a web page in a browser on this machine could use the account: with a form, or through a name of its
 * own site that leads to this machine (DNS rebinding).
 *
 * Invariant: a browser states the page's origin with every request that could change something, and in `host` the name
 * by which the page reached the server. A page cannot change either.
 */
import { isIP } from 'node:net';
import { Refusal } from './refusal.ts';
import type { Headers } from './request.ts';

/** The names by which clients may reach the server. */
export interface ServerNames {
  /** The allowed names in lower case. The names of the loopback interface are always allowed. */
  readonly allowed: ReadonlySet<string>;
  /** Whether the server listens on every address of the machine. If so, any IP address is a name of the server. */
  readonly anyAddress: boolean;
}

export function serverNames(host: string, others: readonly string[]): ServerNames {
  const anyAddress = host === '0.0.0.0' || host === '::';
  return { allowed: new Set([host, ...others].map((name) => name.toLowerCase())), anyAddress };
}

/** Throws a Refusal 403 for a request that a page of another site may have sent. */
export function refuseWebPages(headers: Headers, names: ServerNames): void {
  const { host, origin } = headers;
  if (host !== undefined && !isOurs(host, names)) {
    throw new Refusal(
      403,
      `The emulator does not answer to the name ${host.slice(0, 255)}, because a web page could have made it up. ` +
        'Use localhost, or start the emulator with --allow-host and this name.',
    );
  }
  const isForeign = origin !== undefined && !isOurs(origin.replace(/^https?:\/\//, ''), names);
  if (isForeign || headers['sec-fetch-site'] === 'cross-site') {
    throw new Refusal(
      403,
      `The emulator does not answer to web pages of other sites (origin: ${(origin ?? 'unknown').slice(0, 255)}). ` +
        'If the page is yours, start the emulator with --allow-host and the name of its site.',
    );
  }
}

/** Returns whether `name`, `name:port` or `[address]:port` is a name of the server. */
function isOurs(authority: string, { allowed, anyAddress }: ServerNames): boolean {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\]|([^:@/]+))(?::\d*)?$/i.exec(authority) ?? [];
  const name = (bracketed ?? plain ?? '').toLowerCase();
  if (name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))) return true;
  return allowed.has(name) || (anyAddress && isIP(name) !== 0);
}

/** Throws a Refusal 403 unless the request comes from this machine. */
export function refuseOtherMachines(address = ''): void {
  if (/^(::ffff:)?127\./.test(address) || address === '::1') return;
  throw new Refusal(403, 'The admin routes answer to this machine only.');
}
