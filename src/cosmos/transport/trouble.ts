/**
 * Classifies what an answer of the service, or its absence, means for a migration. Invariant: every status has a kind;
 * no decision here depends on the words of a message; a write without a known outcome is ambiguous (facts SVC-38 to
 * SVC-43).
 */
import { PageError } from '../../documents/page-error.ts';
import { ServiceError } from '../../lib/errors.ts';
import { CutShort } from './raw-reply.ts';

/**
 * - throttled: not done; the service asks us to wait
 * - transient: not done; may succeed soon
 * - ambiguous: a write of which it is not known whether it was done
 * - split: not done; the ranges have changed
 * - conflict: not done; another document, or another version, is in this slot
 * - too-large: not done; it can never fit there
 * - denied: not done; access is not allowed now
 * - fatal: not done; waiting cannot cure it
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

/** How one operation of a batch ended. `missing`: the document does not exist. */
export type OutcomeKind = 'done' | 'missing' | TroubleKind;

export type Access = 'read' | 'write';

/** Why a request, or one operation of a batch, failed. */
export interface Trouble {
  readonly kind: TroubleKind;
  /** HTTP status of the reply; 0 if there was no reply. */
  readonly status: number;
  readonly substatus: number;
  /** What happened, in words for the operator. */
  readonly what: string;
  /** Endpoint of the account that was asked. */
  readonly at?: string;
  /** Charge of the reply. Refusals cost RU as well. */
  readonly chargeRu: number;
  /** How long the service asks us to wait. */
  readonly retryAfterMs?: number;
  /** Session token of the reply. Refusals have one as well. */
  readonly sessionToken?: string;
  /** The id that Microsoft's support asks for. */
  readonly activityId?: string;
  /** The service's message, if it answered with 500. */
  readonly says?: string;
  /** How wrong this machine's clock is, in words, if the signature was refused and the reply's date shows that. */
  readonly clockOff?: string;
  /** The side whose list of ranges cannot be used, although the service has answered; null: not known which. */
  readonly rangesOf?: 'source' | 'target' | null;
  readonly cause?: unknown;
}

const HINTS: Readonly<Record<TroubleKind, string>> = {
  throttled: 'give the container more RU/s or cosmig a smaller budget, then run the command again',
  transient: 'check the endpoint and whether the account can be reached; then run the command again',
  ambiguous: 'run the command again; it first checks what may have been written',
  split: 'the container is splitting its ranges; run the command again',
  conflict: 'run the command again',
  'too-large': 'the target cannot hold this document under its new key',
  denied:
    'check the key or the roles, the firewall and the region; after a failover, give the endpoint of the write region',
  fatal: 'check that the database and the container exist and are those that the migration began with',
};

/** Substatus of a 429: not the container's RU/s are used up, but the share of a throughput bucket (fact SVC-30). */
const BUCKET = 3212;
const BUCKET_HINT =
  'see the throughput buckets of the container, and raise the share of the default bucket; more RU/s alone would not help much';

const CLOCK_HINT =
  "set this machine's clock, or let it be set by NTP; if that does not help, check the key or the roles";
/** Hint for a certificate that Node does not trust. */
const UNTRUSTED_HINT =
  "have Node trust the account's certificate with NODE_EXTRA_CA_CERTS=FILE, or find out which proxy answers in its place";

const WHYS: Readonly<Record<TroubleKind, (at: string) => string>> = {
  throttled: (at) => `the requests to ${at} need more RU/s than the container has`,
  transient: (at) => `${at}, or the network on the way to it, has a problem`,
  ambiguous: (at) => `it is not known whether ${at} has carried it out`,
  split: (at) => `${at} is splitting the ranges of a container`,
  conflict: (at) => `${at} holds another document, or another version of it`,
  'too-large': (at) => `${at} has no room for it`,
  denied: (at) => `${at} does not accept the key or the role, or its firewall blocks this machine`,
  fatal: (at) => `${at} does not accept such a request, and waiting would not change that`,
};

function whyOf({ kind, status, substatus, at = 'the account', clockOff, cause }: Trouble): string {
  if (kind === 'throttled' && substatus === BUCKET)
    return `${at} counts requests without a bucket in the container's default throughput bucket, whose share is used up`;
  if (clockOff !== undefined)
    return `${clockOff}, and the service accepts only requests that are dated within 15 minutes; or ${WHYS.denied(at)}`;
  if (!(cause instanceof Error)) return WHYS[kind](at);
  return status === 0 ? `${at}: ${cause.message}` : cause.message;
}

function hintFor({ kind, status, substatus, clockOff }: Trouble): string {
  if (kind === 'throttled' && substatus === BUCKET) return BUCKET_HINT;
  if (clockOff !== undefined) return CLOCK_HINT;
  return kind === 'fatal' && status === 0 ? UNTRUSTED_HINT : HINTS[kind];
}

/** Trouble as an error. The caller handles it, or it ends the command. */
export class TroubleError extends ServiceError {
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    const { kind, status, substatus, what, activityId, cause } = trouble;
    super(what, {
      why: whyOf(trouble),
      hint: hintFor(trouble),
      details: { kind, status, substatus, ...(activityId === undefined ? {} : { activityId }) },
      ...(cause === undefined ? {} : { cause }),
    });
    this.trouble = trouble;
  }
}

/** Classifies how one operation of a batch ended. */
export function classifyOperation(status: number, substatus: number, access: Access): OutcomeKind {
  if (status === 404 && substatus === 0) return 'missing';
  return classifyStatus(status, substatus, access);
}

/** Classifies how a whole request ended. */
export function classifyStatus(status: number, substatus: number, access: Access): 'done' | TroubleKind {
  if ((status >= 200 && status < 300) || status === 304) return 'done';
  const unsure = access === 'write' ? 'ambiguous' : 'transient';
  switch (status) {
    case 401:
      return 'denied';
    case 403:
      // 1014: the logical partition is full. Every other 403 concerns our access, not the document.
      return substatus === 1014 ? 'too-large' : 'denied';
    case 404:
      // With these substatuses a replica lags behind our session, or a container is still being created.
      return substatus === 1002 || substatus === 1003 || substatus === 1013 ? 'transient' : 'fatal';
    case 409:
    case 412:
      return 'conflict';
    case 410:
      return 'split';
    case 413:
      return 'too-large';
    case 424: // Another operation of the batch failed, and this one was not started.
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

/** Codes of connections that failed before a request could be sent. */
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
/** Node's codes for certificates that it does not trust. */
const UNTRUSTED =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+|ERR_TLS_CERT_\w+)$/;
/** Names of the errors that Microsoft's sign-in throws when it gets no token. */
const NO_TOKEN = new Set([
  'AuthenticationError',
  'AuthenticationRequiredError',
  'AggregateAuthenticationError',
  'CredentialUnavailableError',
]);

/** Classifies a request without a whole reply. `sent`: whether a byte may have left this process. */
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

/** Returns the trouble in an error, if it has any. A damaged page is transient, because it can be read again. */
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
