/**
 * Checks the authorization header. The signature of an account key is verified. Of an Entra (AAD) token only the form
 * and the expiry are checked. Other kinds of tokens are refused.
 *
 * Invariant: a check ends normally or throws a Refusal, never another exception, and no message contains a key or a
 * signature.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject, parseJson, type JsonObject } from '../json/json-value.ts';
import { Refusal } from './refusal.ts';
import { isQuery, isTrue, type Headers } from './request.ts';
import type { SignedResource } from './routes.ts';

export interface AuthRequest extends SignedResource {
  readonly method: string;
  readonly headers: Headers;
}

export interface AuthSettings {
  /** The master key, base64. */
  readonly key: string;
  /** A second account key that may only read and query, base64. */
  readonly readonlyKey?: string | undefined;
  /** Whether Entra tokens are accepted. */
  readonly aad: boolean;
  /** The machine's own time, in which clients date their signatures. The emulated clock does not affect it. */
  readonly nowMs: number;
  /** How old a signature may be; by default as old as the service allows. */
  readonly ageMaxMs?: number | undefined;
}

/** The service refuses a token whose date differs by more than this from the service's time (fact SVC-40). */
const SKEW_MAX_MS = 15 * 60 * 1000;

/**
 * Resource types that an Entra identity may not write. It has data-plane roles only; these writes need a key or ARM.
 */
const CONTROL_PLANE_TYPES: ReadonlySet<string> = new Set(['dbs', 'colls', 'offers']);

/** Throws a Refusal unless the request is allowed: 401 for an invalid token, 403 for a missing permission. */
export function authorize(request: AuthRequest, settings: AuthSettings): void {
  const token = readToken(request.headers['authorization']);
  switch (token.type) {
    case 'master':
      return authorizeKey(request, settings, token.signature);
    case 'aad':
      return authorizeAad(request, settings, token.signature);
    case 'resource':
    case 'sas':
      throw unauthorized(`Tokens of type=${token.type} are not supported here; use the account key.`);
    default:
      throw unauthorized(
        'The authorization token has an unknown type; expected type=master or type=aad, ver=1.0 and sig.',
      );
  }
}

function authorizeKey(request: AuthRequest, settings: AuthSettings, signature: string): void {
  const xDate = request.headers['x-ms-date'] ?? '';
  const date = xDate === '' ? (request.headers['date'] ?? '') : '';
  checkDate(xDate || date, settings);
  const payload = signedPayload(request, xDate, date);
  if (isSignedBy(settings.key, payload, signature)) return;
  if (settings.readonlyKey === undefined || !isSignedBy(settings.readonlyKey, payload, signature)) {
    throw unauthorized(
      "The input authorization token can't serve the request. The wrong key is being used or the expected " +
        `payload is not built as per the protocol. Server used the following payload to sign: '${payload}'`,
    );
  }
  if (!isRead(request)) {
    throw new Refusal(
      403,
      `The given request [${describe(request)}] cannot be authorized by a read-only key.`,
    );
  }
}

function authorizeAad(request: AuthRequest, settings: AuthSettings, jwt: string): void {
  if (!settings.aad) throw unauthorized('Entra (AAD) tokens are switched off on this account.');
  const claims = readClaims(jwt);
  if (claims === undefined) throw unauthorized('The Entra (AAD) token is not a JSON Web Token.');
  const expiry = claims['exp'];
  // A token made by a test may lack an expiry. An expiry that is present is checked.
  if (expiry !== undefined && !(typeof expiry === 'number' && expiry * 1000 > settings.nowMs)) {
    throw unauthorized('The Entra (AAD) token has expired.');
  }
  if (isControlPlaneWrite(request)) {
    throw new Refusal(
      403,
      `The given request [${describe(request)}] cannot be authorized by AAD token in data plane. ` +
        'Learn more: https://aka.ms/cosmos-native-rbac.',
      { substatus: 5300 },
    );
  }
}

interface Token {
  readonly type: string;
  readonly signature: string;
}

/**
 * Parses the authorization header. The SDK sends a signature URL-encoded as a whole, but a JWT as it is. Decoding
 * leaves a JWT unchanged, because a JWT has no character that is special in a URL.
 */
function readToken(header: string | undefined): Token {
  if (header === undefined || header.trim() === '') {
    throw unauthorized(
      "Required Header 'authorization' is missing. Ensure a valid Authorization token is passed.",
    );
  }
  const fields = new Map<string, string>();
  for (const field of decodeOrEmpty(header.trim()).split('&')) {
    const equals = field.indexOf('=');
    // If a field occurs twice, the first one counts: what a client appends must not override the field that the SDK
    // wrote.
    if (equals > 0 && !fields.has(field.slice(0, equals)))
      fields.set(field.slice(0, equals), field.slice(equals + 1));
  }
  const type = fields.get('type') ?? '';
  // A SAS token lacks version 1.0. `authorize` refuses it by its type.
  if (type !== 'sas' && (fields.get('ver') !== '1.0' || !fields.get('sig'))) {
    throw unauthorized(
      "The input authorization token can't serve the request: it is not of the form " +
        'type=master&ver=1.0&sig=..., URL-encoded as a whole.',
    );
  }
  return { type, signature: fields.get('sig') ?? '' };
}

function decodeOrEmpty(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** The date format that the service requires. Date.parse alone would accept "1" as a date. */
const RFC_1123 = /^[a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} gmt$/i;

function checkDate(date: string, { nowMs, ageMaxMs = SKEW_MAX_MS }: AuthSettings): void {
  const atMs = RFC_1123.test(date) ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(atMs)) {
    throw unauthorized(
      "The input date header is missing or is not an RFC 1123 date; send 'x-ms-date' or 'date'.",
    );
  }
  if (nowMs - atMs > ageMaxMs || atMs - nowMs > SKEW_MAX_MS) {
    throw unauthorized(
      'The authorization token is not valid at the current time. Create another token and retry ' +
        `(token time: ${new Date(atMs).toUTCString()}, current server time: ${new Date(nowMs).toUTCString()}).`,
    );
  }
}

/** Returns the five lines that a client signs. The last line is filled only by clients that send no x-ms-date. */
function signedPayload(request: AuthRequest, xDate: string, date: string): string {
  // The SDK signs the id of an offer in lower case, and every other id as it is.
  const id = request.resourceType === 'offers' ? request.resourceId.toLowerCase() : request.resourceId;
  const verb = request.method.toLowerCase();
  return `${verb}\n${request.resourceType.toLowerCase()}\n${id}\n${xDate.toLowerCase()}\n${date.toLowerCase()}\n`;
}

function isSignedBy(key: string, payload: string, signature: string): boolean {
  const expected = createHmac('sha256', Buffer.from(key, 'base64')).update(payload).digest('base64');
  const [given, wanted] = [Buffer.from(signature), Buffer.from(expected)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;

function readClaims(jwt: string): JsonObject | undefined {
  const parts = jwt.split('.');
  const payload = parts[1];
  if (payload === undefined || parts.length !== 3 || !parts.every((part) => BASE64URL.test(part)))
    return undefined;
  const claims = parseJson(Buffer.from(payload, 'base64url').toString('utf8'));
  return isObject(claims) ? claims : undefined;
}

/** Returns whether a request reads: GET, HEAD, or a POST that is a query and not a batch or upsert. */
function isRead(request: AuthRequest): boolean {
  const method = request.method.toUpperCase();
  if (method === 'GET' || method === 'HEAD') return true;
  const { headers } = request;
  if (method !== 'POST' || isTrue(headers, 'x-ms-cosmos-is-batch-request')) return false;
  if (isTrue(headers, 'x-ms-documentdb-is-upsert')) return false;
  return isQuery(headers) || isTrue(headers, 'x-ms-cosmos-is-query-plan-request');
}

function isControlPlaneWrite(request: AuthRequest): boolean {
  if (!CONTROL_PLANE_TYPES.has(request.resourceType.toLowerCase()) || isRead(request)) return false;
  // A POST to `operations/partitionkeydelete` is signed with the container's type, but it deletes documents.
  const isOnContainer = request.resourceType === 'colls' && request.resourceId.split('/').length >= 4;
  return !(request.method.toUpperCase() === 'POST' && isOnContainer);
}

function describe(request: AuthRequest): string {
  return `${request.method.toUpperCase()} ${request.resourceType} /${request.resourceId}`;
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, message);
}
