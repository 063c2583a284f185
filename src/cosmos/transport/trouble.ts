/**
 * What an answer of the service means to somebody who moves data, or that there was none. What always holds: every
 * status has a kind, nothing is told by the words of a message, and a write that may have happened is never called
 * anything but ambiguous. The codes are those of facts SVC-38 to SVC-43.
 */
import { PageError } from '../../documents/page-error.ts';
import { ServiceError } from '../../lib/errors.ts';
import { CutShort } from './byte-transport.ts';

/**
 * throttled: not done, told to wait. transient: not done, again soon. ambiguous: a write, done or not. split: not
 * done, the ranges have changed. conflict: another document or version is there. too-large: it can never fit there.
 * denied: not allowed now. fatal: never right, whoever waits.
 */
export type TroubleKind =
  | 'throttled'
  | 'transient'
  | 'ambiguous'
  | 'split'
  | 'conflict'
  | 'too-large'
  | 'denied'
  | 'fatal';

/** How one operation of a batch ended; missing: there is no such document, and nothing else is wrong. */
export type OutcomeKind = 'done' | 'missing' | TroubleKind;

export type Access = 'read' | 'write';

/** Why a request, or an operation of one, came to nothing. */
export interface Trouble {
  readonly kind: TroubleKind;
  /** 0 when there was no reply. */
  readonly status: number;
  readonly substatus: number;
  /** What happened, for people. */
  readonly what: string;
  /** Which account was asked. */
  readonly at?: string;
  /** A refusal is not free. */
  readonly chargeRu: number;
  /** How long the service asks us to wait. */
  readonly retryAfterMs?: number;
  /** Refusals carry it as well: what has been seen, even so. */
  readonly sessionToken?: string;
  /** What Microsoft's support asks for. */
  readonly activityId?: string;
  readonly cause?: unknown;
}

const HINTS: Readonly<Record<TroubleKind, string>> = {
  throttled: 'give the container more RU/s or cosmig a smaller budget, then run the command again',
  transient:
    'check the endpoint, and whether the account can be reached and is well; then run the command again',
  ambiguous: 'run the command again; what may have been written is looked at first',
  split: 'the container is splitting its ranges; run the command again',
  conflict: 'run the command again',
  'too-large': 'the target cannot hold this document under its new key',
  denied:
    'check the key or the roles, the firewall and the region: after a fail-over give the endpoint of the write region',
  fatal: 'see that the database and the container are there and are those that the migration began with',
};

/** Nothing is wrong with what was asked for, only with who says to be the account. */
const UNTRUSTED_HINT =
  "have Node trust the account's certificate with NODE_EXTRA_CA_CERTS=FILE, or see which proxy answers in its place";

const WHYS: Readonly<Record<TroubleKind, (at: string) => string>> = {
  throttled: (at) => `more RU/s are asked of ${at} than the container has`,
  transient: (at) => `${at} is not well, or something on the way to it is not`,
  ambiguous: (at) => `whether ${at} has done it is not known`,
  split: (at) => `${at} is splitting the ranges of a container`,
  conflict: (at) => `${at} holds another document, or another version of it`,
  'too-large': (at) => `${at} has no room for it`,
  denied: (at) => `${at} does not accept the key or the role, or does not let this machine in`,
  fatal: (at) => `${at} does not take such a request, and waiting would not change that`,
};

function whyOf({ kind, status, at = 'the account', cause }: Trouble): string {
  if (!(cause instanceof Error)) return WHYS[kind](at);
  return status === 0 ? `${at}: ${cause.message}` : cause.message;
}

/** Trouble that nobody handled. */
export class TroubleError extends ServiceError {
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    const { kind, status, substatus, what, activityId, cause } = trouble;
    super(what, {
      why: whyOf(trouble),
      hint: kind === 'fatal' && status === 0 ? UNTRUSTED_HINT : HINTS[kind],
      details: { kind, status, substatus, ...(activityId === undefined ? {} : { activityId }) },
      ...(cause === undefined ? {} : { cause }),
    });
    this.trouble = trouble;
  }
}

/** How one operation inside a batch ended. */
export function classifyOperation(status: number, substatus: number, access: Access): OutcomeKind {
  if (status === 404 && substatus === 0) return 'missing';
  return classifyStatus(status, substatus, access);
}

/** How a whole request ended. */
export function classifyStatus(status: number, substatus: number, access: Access): 'done' | TroubleKind {
  if ((status >= 200 && status < 300) || status === 304) return 'done';
  const unsure = access === 'write' ? 'ambiguous' : 'transient';
  switch (status) {
    case 401:
      return 'denied';
    case 403:
      // The logical partition is full; every other 403 is about us, not about the document.
      return substatus === 1014 ? 'too-large' : 'denied';
    case 404:
      // A replica that lags behind our session; a container that is being made.
      return substatus === 1002 || substatus === 1003 || substatus === 1013 ? 'transient' : 'fatal';
    case 409:
    case 412:
      return 'conflict';
    case 410:
      return 'split';
    case 413:
      return 'too-large';
    case 424: // Another operation of the batch failed, and this one was not begun.
    case 449:
      return 'transient';
    case 429:
      return 'throttled';
    case 408:
      return unsure;
    default:
      return status >= 500 ? unsure : 'fatal';
  }
}

/** Connections that failed before a request could be sent on them. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
/** What Node calls a certificate that it does not trust; waiting does not change that. */
const UNTRUSTED =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_\w+)$/;
/** What Microsoft's sign-in throws when it gets no token. */
const NO_TOKEN = new Set([
  'AuthenticationError',
  'AuthenticationRequiredError',
  'AggregateAuthenticationError',
  'CredentialUnavailableError',
]);

/** A request without a whole reply; `sent`: whether a byte may have left. */
export function troubleWithoutReply(
  cause: unknown,
  { sent, access }: { readonly sent: boolean; readonly access: Access },
): Trouble {
  const { name, code } = namesOf(cause);
  const kind = (): TroubleKind => {
    if (UNTRUSTED.test(code)) return 'fatal';
    if (!sent) return NO_TOKEN.has(name) ? 'denied' : 'transient';
    if (NEVER_CONNECTED.has(code)) return 'transient';
    return access === 'write' ? 'ambiguous' : 'transient';
  };
  const why =
    cause instanceof CutShort ? 'the reply was cut short' : `there was no reply${code && ` (${code})`}`;
  return { kind: kind(), status: 0, substatus: 0, what: why, chargeRu: 0, cause };
}

/** The trouble in an error, if it is one of the service's; a damaged page is one that is read again. */
export function troubleOf(error: unknown): Trouble | undefined {
  if (error instanceof TroubleError) return error.trouble;
  if (!(error instanceof PageError)) return undefined;
  return { kind: 'transient', status: 200, substatus: 0, what: error.message, chargeRu: 0, cause: error };
}

function namesOf(cause: unknown): { readonly name: string; readonly code: string } {
  if (!(cause instanceof Error)) return { name: '', code: '' };
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return { name: cause.name, code };
}
