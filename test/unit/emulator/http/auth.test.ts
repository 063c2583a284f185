import { createHmac, randomBytes } from 'node:crypto';
import { HTTPMethod, ResourceType, setAuthorizationTokenHeaderUsingMasterKey } from '@azure/cosmos';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AuthRequest, type AuthSettings, authorize } from '../../../../src/emulator/http/auth.ts';
import { Refusal } from '../../../../src/emulator/http/refusal.ts';

const KEY = randomBytes(64).toString('base64');
const READONLY_KEY = randomBytes(64).toString('base64');
const NOW_MS = Date.UTC(2026, 10, 18, 12, 0, 0);
const MINUTE_MS = 60_000;
const SETTINGS: AuthSettings = { key: KEY, readonlyKey: READONLY_KEY, aad: true, nowMs: NOW_MS };

interface Signing {
  readonly key?: string;
  readonly atMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly encode?: (token: string) => string;
}

function signed(method: string, resourceType: string, resourceId: string, how: Signing = {}): AuthRequest {
  const date = new Date(how.atMs ?? NOW_MS).toUTCString();
  const text = `${method.toLowerCase()}\n${resourceType}\n${resourceId}\n${date.toLowerCase()}\n\n`;
  const key = Buffer.from(how.key ?? KEY, 'base64');
  const token = `type=master&ver=1.0&sig=${createHmac('sha256', key).update(text).digest('base64')}`;
  const authorization = (how.encode ?? encodeURIComponent)(token);
  return { method, resourceType, resourceId, headers: { authorization, 'x-ms-date': date, ...how.headers } };
}

function jwt(claims: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part(claims)}.${randomBytes(32).toString('base64url')}`;
}

function withToken(
  token: string | undefined,
  request: Partial<AuthRequest> = {},
  headers: Record<string, string> = {},
): AuthRequest {
  return {
    method: 'GET',
    resourceType: 'docs',
    resourceId: 'dbs/D/colls/C',
    ...request,
    headers: { ...headers, authorization: token },
  };
}

function refusalOf(request: AuthRequest, settings: AuthSettings = SETTINGS): Refusal {
  try {
    authorize(request, settings);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('the request was allowed');
}

/** 'allowed', or status/substatus. */
function verdict(request: AuthRequest, settings = SETTINGS): string {
  try {
    authorize(request, settings);
    return 'allowed';
  } catch {
    const { status, substatus } = refusalOf(request, settings);
    return `${status}/${substatus}`;
  }
}

describe('auth: master key', () => {
  test.each([
    ['GET', '', ''],
    ['POST', 'dbs', ''],
    ['GET', 'colls', 'dbs/My Db/colls/Käse'],
    ['PATCH', 'docs', 'dbs/D/colls/C/docs/a?b%25'],
  ])('signed with the key: %s [%s, %s] -> allowed', (method, type, id) => {
    expect(verdict(signed(method, type, id))).toBe('allowed');
  });

  test('the token of the SDK -> allowed', async () => {
    const headers = { 'x-ms-date': '', authorization: '' };
    const resourceId = 'dbs/D/colls/C';
    const [method, resourceType] = [HTTPMethod.post, ResourceType.item];
    await setAuthorizationTokenHeaderUsingMasterKey(method, resourceId, resourceType, headers, KEY);
    const request = { method, resourceType, resourceId, headers };
    // The SDK dates its tokens by the machine's clock.
    const nowMs = Date.parse(headers['x-ms-date']);
    expect(verdict(request, { ...SETTINGS, nowMs })).toBe('allowed');
  });

  test('an offer signed by its lower-case id -> allowed for any case in the URL', () => {
    const request = signed('PUT', 'offers', 'abcd');
    expect(verdict({ ...request, resourceId: 'aBcD' })).toBe('allowed');
  });

  test('the plain date header -> allowed, signed on the fifth line', () => {
    const date = new Date(NOW_MS).toUTCString();
    const hmac = createHmac('sha256', Buffer.from(KEY, 'base64'));
    const sig = hmac.update(`get\ndbs\n\n\n${date.toLowerCase()}\n`).digest('base64');
    const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${sig}`);
    const headers = { authorization, date };
    expect(verdict({ method: 'GET', resourceType: 'dbs', resourceId: '', headers })).toBe('allowed');
  });

  test.each([
    ['another verb', { method: 'DELETE' }],
    ['another type', { resourceType: 'colls' }],
    ['another path', { resourceId: 'dbs/D/colls/C2' }],
    ['another case', { resourceId: 'dbs/d/colls/c' }],
  ])('a token signed for %s -> refused', (_, other) => {
    expect(verdict({ ...signed('GET', 'docs', 'dbs/D/colls/C'), ...other })).toBe('401/0');
  });

  test('a wrong signature -> the message contains the payload, never the key', () => {
    const request = signed('GET', 'docs', 'dbs/D/colls/C', { key: randomBytes(64).toString('base64') });
    const { status, message } = refusalOf(request);
    expect(status).toBe(401);
    expect(message).toContain("sign: 'get\ndocs\ndbs/D/colls/C\nwed, 18 nov 2026 12:00:00 gmt\n\n'");
    expect(message).not.toContain(KEY);
    expect(message).not.toContain(decodeURIComponent(request.headers['authorization'] ?? '').slice(-44));
  });

  test.each([
    [-15, 'allowed'],
    [-15.1, '401/0'],
    [15, 'allowed'],
    [15.1, '401/0'],
  ])('a token dated %s minutes off -> %s', (minutes, expected) => {
    const request = signed('GET', 'dbs', '', { atMs: NOW_MS + minutes * MINUTE_MS });
    expect(verdict(request)).toBe(expected);
  });

  test.each(['1', 'yesterday', '2026-11-18T12:00:00Z', '', 'Wed, 99 Nov 2026 12:00:00 GMT'])(
    'the date %j -> refused',
    (date) => {
      expect(verdict(signed('GET', 'dbs', '', { headers: { 'x-ms-date': date } }))).toBe('401/0');
    },
  );
});

describe('auth: read-only key', () => {
  const query = { 'x-ms-documentdb-isquery': 'True' };
  test.each([
    ['GET', 'docs', {}],
    ['HEAD', 'docs', {}],
    ['POST', 'docs', query],
    ['POST', 'docs', { 'x-ms-cosmos-is-query-plan-request': 'true' }],
  ])('%s %s %j -> allowed', (method, type, headers) => {
    const request = signed(method, type, 'dbs/D/colls/C', { key: READONLY_KEY, headers });
    expect(verdict(request)).toBe('allowed');
  });

  test.each([
    ['POST', 'docs', {}],
    ['PUT', 'docs', query],
    ['DELETE', 'colls', {}],
    ['POST', 'docs', { ...query, 'x-ms-cosmos-is-batch-request': 'true' }],
    ['POST', 'docs', { ...query, 'x-ms-documentdb-is-upsert': 'true' }],
  ])('%s %s %j -> refused', (method, type, headers) => {
    const request = signed(method, type, 'dbs/D/colls/C', { key: READONLY_KEY, headers });
    expect(verdict(request)).toBe('403/0');
  });
});

describe('auth: Entra tokens', () => {
  const aad = (token: string): string => `type=aad&ver=1.0&sig=${token}`;
  const expSeconds = NOW_MS / 1000 + 60;

  test.each([
    ['with an expiry ahead', jwt({ exp: expSeconds, oid: 'me' })],
    ['without an expiry', jwt({})],
  ])('%s, encoded or not, without a date -> accepted', (_, token) => {
    expect(verdict(withToken(aad(token)))).toBe('allowed');
    expect(verdict(withToken(encodeURIComponent(aad(token))))).toBe('allowed');
  });

  test.each([
    ['expired', jwt({ exp: NOW_MS / 1000 })],
    ['with an expiry that is not a number', jwt({ exp: 'never' })],
    ['of two parts', 'e30.e30'],
    ['of four parts', 'e30.e30.e30.e30'],
    ['with an empty signature', 'e30.e30.'],
    ['not base64url', 'e30.e+0.e30'],
    ['whose payload is not JSON', 'e30.AAAA.e30'],
    ['whose payload is an array', jwt([])],
    ['whose payload is null', jwt(null)],
  ])('%s -> refused', (_, token) => {
    expect(verdict(withToken(aad(token)))).toBe('401/0');
  });

  test('the account has them off -> refused', () => {
    expect(verdict(withToken(aad(jwt({}))), { ...SETTINGS, aad: false })).toBe('401/0');
  });

  const query = { 'x-ms-documentdb-isquery': 'true' };
  test.each([
    ['POST', 'dbs', '', {}, '403/5300'],
    ['DELETE', 'dbs', 'dbs/D', {}, '403/5300'],
    ['POST', 'colls', 'dbs/D', {}, '403/5300'],
    ['PUT', 'colls', 'dbs/D/colls/C', {}, '403/5300'],
    ['DELETE', 'colls', 'dbs/D/colls/C', {}, '403/5300'],
    ['PUT', 'offers', 'abcd', {}, '403/5300'],
    ['GET', 'colls', 'dbs/D/colls/C', {}, 'allowed'],
    ['GET', 'dbs', '', {}, 'allowed'],
    ['POST', 'offers', '', query, 'allowed'],
    ['POST', 'docs', 'dbs/D/colls/C', {}, 'allowed'],
    ['DELETE', 'docs', 'dbs/D/colls/C/docs/1', {}, 'allowed'],
    // operations/partitionkeydelete is signed as the container, and is a data-plane call.
    ['POST', 'colls', 'dbs/D/colls/C', {}, 'allowed'],
  ])('%s %s %j %j -> %s', (method, resourceType, resourceId, headers, expected) => {
    const request = withToken(aad(jwt({})), { method, resourceType, resourceId }, headers);
    expect(verdict(request)).toBe(expected);
  });
});

describe('auth: everything else', () => {
  test.each([
    undefined,
    '',
    ' ',
    'Bearer abc',
    '%',
    '%E0%A4%A',
    'type=master',
    'type=master&ver=1.0&sig=',
    'type=master&ver=2.0&sig=AAAA',
    'type=master&ver=1.0&sig=%%%',
    'type=nothing&ver=1.0&sig=AAAA',
    'type=__proto__&ver=1.0&sig=AAAA',
    '&&&===',
  ])('%j -> 401', (token) => {
    const request = withToken(token, {}, { 'x-ms-date': new Date(NOW_MS).toUTCString() });
    expect(verdict(request)).toBe('401/0');
  });

  test.each([
    ['type=resource&ver=1.0&sig=AAAA', 'type=resource'],
    ['type=sas&ZGF0YQ==', 'type=sas'],
  ])('%j -> 401 that names what is not supported', (token, name) => {
    const refusal = refusalOf(withToken(token));
    expect(refusal.status).toBe(401);
    expect(refusal.message).toContain(name);
  });

  test('any text -> a Refusal, never access or another exception', () => {
    const anything = fc.string({ unit: 'binary', maxLength: 200 });
    const shaped = fc
      .tuple(fc.constantFrom('master', 'aad', 'sas', 'resource'), anything)
      .map(([type, rest]) => `type=${type}&ver=1.0&sig=${rest}`);
    fc.assert(
      fc.property(fc.oneof(anything, shaped), fc.option(anything, { nil: undefined }), (token, date) => {
        const headers = { authorization: token, 'x-ms-date': date };
        const { status, message } = refusalOf({
          method: 'GET',
          resourceType: 'dbs',
          resourceId: '',
          headers,
        });
        expect(status).toBe(401);
        expect(() => JSON.stringify(message)).not.toThrow();
      }),
    );
  });
});
