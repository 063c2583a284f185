/** A port for a process that a test starts. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** Returns a port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
