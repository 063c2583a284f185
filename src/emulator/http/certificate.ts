/**
 * Makes the certificate of `cosmig emulator --https`. The certificate is self-signed and its own authority: a client
 * trusts it through its `ca` option or through NODE_EXTRA_CA_CERTS.
 *
 * Invariant: each start makes a new key and certificate, so no key is in the repository or on the disk.
 *
 * Node can create keys and signatures, but no certificates. The package `selfsigned` would add some 15 packages to
 * every installation. The code here and in der.ts writes one fixed structure and parses nothing.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import { domainToASCII } from 'node:url';
import { UsageError } from '../../lib/errors.ts';
import {
  bitString,
  holding,
  integer,
  octetString,
  oid,
  sequence,
  set,
  tagged,
  time,
  utf8,
  yes,
} from './der.ts';

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

const DAY_MS = 24 * 60 * 60 * 1000;
/** The certificate is valid from a day ago, for clients in virtual machines whose clock is behind. */
const VALID_BEFORE_MS = DAY_MS;
/** The certificate is valid for a year: longer than an emulator runs. Some clients refuse more than 398 days. */
const VALID_AFTER_MS = 365 * DAY_MS;
/** The length of a serial number. RFC 5280 allows 20 bytes; 16 random bytes do not repeat. */
const SERIAL_BYTES = 16;

/**
 * Makes a key and a certificate (PEM) for a server that clients reach under `hosts`: names, IPv4 and IPv6 addresses.
 */
export function selfSignedCertificate(
  hosts: readonly string[],
  nowMs: number,
): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const name = sequence(set(sequence(oid(OID.commonName), utf8('cosmig emulator'))));
  const body = sequence(
    holding(0, integer(Buffer.from([2]))), // version 3, counted from 0
    integer(serialNumber()),
    algorithm,
    name,
    sequence(time(nowMs - VALID_BEFORE_MS), time(nowMs + VALID_AFTER_MS)),
    name,
    spki,
    holding(3, sequence(...extensions(hosts, spki))),
  );
  const certificate = sequence(body, algorithm, bitString(sign('sha256', body, privateKey)));
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
  return { key: String(key), cert: pem(certificate) };
}

function extensions(hosts: readonly string[], spki: Uint8Array): Buffer[] {
  const keyId = createHash('sha1').update(spki).digest();
  return [
    sequence(oid(OID.basicConstraints), yes(), octetString(sequence(yes()))), // an authority
    // Bit 0 (digitalSignature) is for serving, bit 5 (keyCertSign) for signing its own certificate. Two bits are unused.
    sequence(oid(OID.keyUsage), yes(), octetString(bitString(Buffer.from([0b1000_0100]), 2))),
    sequence(oid(OID.extendedKeyUsage), octetString(sequence(oid(OID.serverAuth)))),
    // Strict verifiers (Python 3.13 and later) require this extension of an authority. RFC 5280 leaves its value open.
    sequence(oid(OID.subjectKeyIdentifier), octetString(octetString(keyId))),
    sequence(oid(OID.subjectAltName), octetString(sequence(...hosts.map(alternativeName)))),
  ];
}

/** Encodes a host: a name as dNSName `[2]`, an address as iPAddress `[7]` with its bytes in network order. */
function alternativeName(host: string): Buffer {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (isIP(bare) !== 0)
    return tagged(7, Buffer.from(isIPv4(bare) ? bare.split('.').map(Number) : ipv6(bare)));
  const name = domainToASCII(host);
  if (name === '') {
    throw new UsageError(`no certificate can name the host ${JSON.stringify(host)}`, {
      why: 'it is neither an address nor a name that can be looked up',
      hint: 'give --host a name of letters, digits, dots and dashes, or an address',
    });
  }
  return tagged(2, Buffer.from(name, 'latin1'));
}

function ipv6(address: string): number[] {
  // URL rewrites a dotted end as groups of hex digits. Only the `::` is left to expand.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const gap = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...gap, ...right].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function serialNumber(): Buffer {
  const bytes = randomBytes(SERIAL_BYTES);
  // The number must be positive, and DER would drop a leading zero byte. So the first byte is from 0x40 to 0x7f.
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
