/** The URL of a receiver, and the secret of the signature. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { safeStringify } from '../../../src/lib/json/json.ts';
import { readDestination, readSecret } from '../../../src/notify/destination.ts';

describe('destination', () => {
  test.each([
    ['https://example.com/hook', 'https://example.com'],
    ['https://me:hidden@example.com:8443/hidden?hidden=1#hidden', 'https://example.com:8443'],
    ['http://localhost:8080/hidden', 'http://localhost:8080'],
    ['http://127.0.0.1/hidden', 'http://127.0.0.1'],
    ['http://[::1]:9/hidden', 'http://[::1]:9'],
    [' https://example.com/hidden\n', 'https://example.com'],
  ])('destination: %j -> accepted, and only its origin is shown', (url, origin) => {
    const destination = readDestination(url);
    expect(destination.origin).toBe(origin);
    expect(destination.revealUrl().href).toBe(new URL(url).href);
    for (const shown of [safeStringify(destination), inspect(destination), inspect([destination])])
      expect(shown).not.toContain('hidden');
  });

  test.each([
    'http://example.com/hidden',
    'http://127.0.0.1.example.com/hidden',
    'http://localhost.example.com/hidden',
    'http://10.0.0.1/hidden',
    'ftp://localhost/hidden',
    'file:///hidden',
    'hidden',
    '//example.com/hidden',
    'https://',
  ])('destination: %j -> refused without repeating it', (url) => {
    let refused: unknown;
    try {
      readDestination(url);
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: 'usage' });
    expect(inspect(refused)).not.toContain('hidden');
  });
});

describe('secret', () => {
  test.each([
    [undefined, null],
    ['', null],
    [' \n', null],
    ['sixteen letters!\n', 'sixteen letters!'],
  ])('secret: %j -> %j', (text, secret) => {
    expect(readSecret({ COSMIG_NOTIFY_SECRET: text })).toBe(secret);
  });

  test('secret: shorter than 16 characters -> refused without repeating it', () => {
    expect(() => readSecret({ COSMIG_NOTIFY_SECRET: 'hidden' })).toThrow(/^(?!.*hidden).*too short/);
  });
});
