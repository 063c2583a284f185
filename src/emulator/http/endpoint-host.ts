/** Chooses the name by which the endpoint of the emulator calls the address that it listens on. */
import { lookup } from 'node:dns/promises';

/** Returns the addresses of a name; empty if it has none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

const resolveHere: Resolve = async (name) => {
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
};

/**
 * Returns the host of the endpoint. The loopback address of IPv6 is called `localhost`, because Microsoft's SDK for
 * JavaScript cannot use an address in brackets; but only if `localhost` leads there on this machine.
 */
export async function endpointHost(host: string, resolve: Resolve = resolveHere): Promise<string> {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  if (host === '::1' && (await resolve('localhost')).includes(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
