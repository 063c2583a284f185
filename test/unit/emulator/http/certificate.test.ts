import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { createServer, get } from 'node:https';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { selfSignedCertificate } from '../../../../src/emulator/http/certificate.ts';
import { oid, time } from '../../../../src/emulator/http/der.ts';
import { UsageError } from '../../../../src/lib/errors.ts';

const NOW_MS = Date.UTC(2026, 10, 18, 12, 0, 0);
const HOSTS = ['localhost', '127.0.0.1', '::1', '[fe80::1%eth0]', 'käse.example', '::ffff:1.2.3.4'];

describe('the certificate', () => {
  test('several names -> its own authority, for a year, for every name', () => {
    const { key, cert } = selfSignedCertificate(HOSTS, NOW_MS);
    const parsed = new X509Certificate(cert);
    expect(parsed.subject).toBe('CN=cosmig emulator');
    expect(parsed.issuer).toBe(parsed.subject);
    expect(parsed.ca).toBe(true);
    expect(parsed.verify(parsed.publicKey)).toBe(true);
    expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(Date.parse(parsed.validFrom)).toBe(Date.UTC(2026, 10, 17, 12, 0, 0));
    expect(Date.parse(parsed.validTo)).toBe(Date.UTC(2027, 10, 18, 12, 0, 0));
    expect(parsed.checkHost('localhost')).toBe('localhost');
    expect(parsed.checkHost('xn--kse-qla.example')).toBe('xn--kse-qla.example');
    expect(parsed.checkHost('elsewhere')).toBeUndefined();
    for (const address of ['127.0.0.1', '::1', 'fe80::1', '::ffff:102:304'])
      expect(parsed.checkIP(address)).toBe(address);
    expect(parsed.checkIP('127.0.0.2')).toBeUndefined();
  });

  test('made twice -> different keys and serial numbers', () => {
    const made = Array.from({ length: 20 }, () => selfSignedCertificate(['localhost'], NOW_MS));
    expect(new Set(made.map(({ key }) => key)).size).toBe(made.length);
    expect(new Set(made.map(({ cert }) => new X509Certificate(cert).serialNumber)).size).toBe(made.length);
  });

  test('an invalid host -> refused', () => {
    expect(() => selfSignedCertificate(['not a host'], NOW_MS)).toThrow(UsageError);
  });

  test('times: before and after 2050 -> the form for the year', () => {
    expect(time(Date.UTC(2049, 11, 31, 23, 59, 59)).toString('latin1')).toBe('\x17\x0d491231235959Z');
    expect(time(Date.UTC(2050, 0, 1)).toString('latin1')).toBe('\x18\x0f20500101000000Z');
  });

  test('object identifiers: large arcs -> base 128', () => {
    expect(oid('1.2.840.10045.4.3.2').toString('hex')).toBe('06082a8648ce3d040302');
  });

  test('openssl in strict mode -> accepted', ({ skip }) => {
    if (spawnSync('openssl', ['version']).error !== undefined) skip('no openssl here');
    const folder = mkdtempSync(join(tmpdir(), 'cosmig-certificate-'));
    try {
      const file = join(folder, 'cert.pem');
      writeFileSync(file, selfSignedCertificate(HOSTS, Date.now()).cert);
      const strict = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'localhost'];
      const said = execFileSync('openssl', ['verify', ...strict, '-CAfile', file, file], {
        encoding: 'utf8',
      });
      expect(said).toContain('cert.pem: OK');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

// A handshake needs a socket; it is the one thing a certificate is for.
describe('a handshake on loopback', () => {
  interface Outcome {
    readonly status?: number | undefined;
    readonly error?: string | undefined;
  }

  async function handshake(options: { host: string; ca?: string; servername?: string }): Promise<Outcome> {
    const own = selfSignedCertificate(['localhost', '127.0.0.1'], Date.now());
    const server = createServer(own, (_, reply) => reply.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    // Whatever `localhost` means to this machine, the server is on 127.0.0.1.
    const lookup = (_: string, __: unknown, found: (error: null, all: object[]) => void): void =>
      found(null, [{ address: '127.0.0.1', family: 4 }]);
    try {
      return await new Promise<Outcome>((resolve) => {
        const request = get({ port, agent: false, ca: own.cert, lookup: lookup as never, ...options });
        request.on('response', (response) => {
          response.resume().on('end', () => resolve({ status: response.statusCode }));
        });
        request.on('error', (error: NodeJS.ErrnoException) => resolve({ error: error.code }));
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }

  test.each(['localhost', '127.0.0.1'])('%s, and the certificate is the ca -> succeeds', async (host) => {
    expect(await handshake({ host })).toEqual({ status: 200 });
  });

  test('another name -> fails', async () => {
    const outcome = await handshake({ host: '127.0.0.1', servername: 'elsewhere.example' });
    expect(outcome).toEqual({ error: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  test('another emulator is trusted -> fails', async () => {
    const { cert } = selfSignedCertificate(['localhost'], Date.now());
    expect(await handshake({ host: 'localhost', ca: cert })).toHaveProperty('error');
  });
});
