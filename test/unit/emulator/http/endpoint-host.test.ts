/** The host in the connection string that the emulator prints. */
import { expect, test } from 'vitest';
import { endpointHost } from '../../../../src/emulator/http/endpoint-host.ts';

test.each([
  ['127.0.0.1', [], '127.0.0.1'],
  ['0.0.0.0', ['127.0.0.1'], 'localhost'],
  ['::', ['127.0.0.1'], 'localhost'],
  ['::1', ['127.0.0.1', '::1'], 'localhost'],
  // A machine whose `localhost` has no IPv6 address.
  ['::1', ['127.0.0.1'], '[::1]'],
  ['fe80::1', ['::1'], '[fe80::1]'],
  ['cosmos.internal', ['::1'], 'cosmos.internal'],
])('the endpoint of %s, where localhost is %j -> %s', async (host, localhost, expected) => {
  expect(await endpointHost(host, () => Promise.resolve(localhost))).toBe(expected);
});
