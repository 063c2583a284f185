import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refuseWebPages, serverNames } from '../../../../src/emulator/http/callers.ts';
import { refusalOf } from '../../../helpers/emulator/memory-account.ts';
import '../../../helpers/seed.ts';

const LOOPBACK = serverNames('127.0.0.1', []);
const EVERYWHERE = serverNames('0.0.0.0', ['Emulator.internal']);

function statusOf(headers: Record<string, string>, names = LOOPBACK): number {
  return refusalOf(() => refuseWebPages(headers, names))?.status ?? 200;
}

describe('the name by which a client reached the server', () => {
  test.each([
    'localhost', 'localhost:8081', 'LocalHost:1', '127.0.0.1', '127.0.0.1:8081', '127.255.255.254:80', '[::1]', '[::1]:8081',
  ])('%s -> answered', (host) => {
    expect(statusOf({ host })).toBe(200);
    expect(statusOf({ host }, EVERYWHERE)).toBe(200);
  }); // prettier-ignore

  test.each([
    '', ' ', ':8081', 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '127.0.0.256', '127.1', '0x7f.0.0.1', '2130706433',
    'localhost@evil.example', 'evil.example/localhost', 'localhost:80:80', '[::1', '::1', '[localhost]', 'localhost.', 'local host',
  ])('%j -> refused', (host) => {
    expect(statusOf({ host })).toBe(403);
  }); // prettier-ignore

  test('an address of the machine -> answered only if the server listens on every address', () => {
    for (const host of ['192.0.2.7', '192.0.2.7:8081', '[2001:db8::7]:8081', '0.0.0.0:8081']) {
      expect(statusOf({ host })).toBe(403);
      expect(statusOf({ host }, EVERYWHERE)).toBe(200);
    }
    expect(statusOf({ host: '192.0.2.7:8081' }, serverNames('192.0.2.7', []))).toBe(200);
  });

  test('an allowed name -> answered in any case and with any port', () => {
    for (const host of ['emulator.internal', 'EMULATOR.INTERNAL:9'])
      expect(statusOf({ host }, EVERYWHERE)).toBe(200);
    expect(statusOf({ host: 'internal' }, EVERYWHERE)).toBe(403);
  });

  test('any other text -> refused, and never another error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webAuthority()), (text) => {
        const ours = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d*)?$/i.test(text);
        expect(statusOf({ host: text })).toBe(ours ? 200 : 403);
        expect([200, 403]).toContain(statusOf({ origin: text }));
      }),
    );
  });
});

describe('the page that sent a request', () => {
  test.each<[Record<string, string>, number]>([
    [{}, 200],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ origin: 'https://127.0.0.1' }, 200],
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'http://localhost.evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: '' }, 403],
    [{ origin: 'file://' }, 403],
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'same-site' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'http://localhost', 'sec-fetch-site': 'cross-site' }, 403],
  ])('%j -> %i', (headers, status) => {
    expect(statusOf({ host: 'localhost', ...headers })).toBe(status);
  });
});
