/**
 * The only file that calls the SDK below its public surface: `ClientContext.queryFeed` and `ClientContext.bulk` (fact
 * SDK-2), with the byte transport around them. The contract test of this file fails if a new SDK version has changed
 * these two methods. Invariant: a request is sent once, has its own time limit, and returns a whole reply or the
 * reason why there is none. Only a request that was answered with 401 may be sent again, at most twice, because it was
 * not tried: with a new signature, or with the service's time in it.
 */
import {
  ClientContext,
  DiagnosticNodeInternal,
  PriorityLevel,
  ResourceType,
  type FeedOptions,
} from '@azure/cosmos';
import { abortReason, Deadline, orAborted } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { Flights } from '../load/flights.ts';
import { memberOf } from '../../lib/json/json.ts';
import { clockOffBy } from '../account/service-time.ts';
import { classifyStatus, troubleWithoutReply, type Access, type Trouble } from './trouble.ts';
import type { Account } from '../account/client.ts';
import type { ServiceTime } from '../account/service-time.ts';
import type { Parcel, Passage } from './byte-transport.ts';
import type { RawReply } from './raw-reply.ts';
import type { ContainerName } from '../../spec/input/values.ts';
import { messageIn } from './service-message.ts';
import { INTENDED, SameContainer, type IntendedContainer, type NamedContainer } from './same-container.ts';
import { SignedRequests, type Differing } from './signed-requests.ts';

export type { ContainerName };

/** A whole reply, with the headers that every reply has. */
export interface Reply {
  readonly status: number;
  readonly substatus: number;
  /** Charge in the header, not cut to an integer as the SDK's number is. */
  readonly chargeRu: number;
  readonly sessionToken: string | undefined;
  readonly body: Buffer;
  /** Returns the memory of the body. Called at most once, when the body is no longer needed. */
  readonly free: () => void;
  header(name: string): string | undefined;
}

/** How a request ended: with a whole reply, or in trouble. */
export type Exchange =
  | { readonly ok: true; readonly reply: Reply }
  | { readonly ok: false; readonly trouble: Trouble };

export interface Call {
  readonly signal: AbortSignal;
  /** How long to wait for the reply; TIMEOUT_MS by default, which is also the maximum. */
  readonly timeoutMs?: number;
}

/** The two options that the SDK's public types lack. They select the mode of a change feed. */
export interface FeedReadOptions extends FeedOptions {
  useLatestVersionFeed?: boolean;
  useAllVersionsAndDeletesFeed?: boolean;
}

export interface FeedCall extends Call {
  readonly what: 'docs' | 'pkranges';
  readonly options: FeedReadOptions;
  readonly rangeId?: string;
  /** The text of a query; undefined to read a feed. */
  readonly query?: string;
  /** The part of the range to read; undefined for the whole range. */
  readonly part?: { readonly min: string; readonly max: string };
}

export interface BatchCall extends Call {
  readonly rangeId: string;
  readonly body: Uint8Array;
  readonly sessionToken?: string;
  /** Whether the service leaves documents out of its replies to creates and replaces. */
  readonly minimalReply?: boolean;
  /** Low: the service serves the users of the container first. */
  readonly priority?: 'Low' | 'High';
}

/**
 * The longest time that a request may take: less than the SDK's limit, so that our deadline fires first, and more than
 * the service takes for any request.
 */
export const TIMEOUT_MS = 45_000;

/** Time limits of the first attempts to read metadata, which the service answers within a second. */
const METADATA_TIMEOUTS_MS = [10_000, 20_000] as const;

/**
 * Returns how long an attempt to read metadata waits; `attempt` counts from 0. Where a network swallows requests, one of
 * the many reads at the start of a command is likely to be lost, and each would otherwise cost 45 s.
 */
export function metadataTimeoutMs(attempt: number): number {
  return METADATA_TIMEOUTS_MS[attempt] ?? TIMEOUT_MS;
}

/** The SDK's constructor of diagnostic nodes, which exists although its type is not public. */
const DiagnosticNode = DiagnosticNodeInternal as unknown as new (
  level: string,
  type: string,
  parent: null,
) => DiagnosticNodeInternal;

export class ContainerRequests {
  readonly name: ContainerName;
  /** The side of the migration; undefined if no container is intended. */
  readonly is: IntendedContainer['is'] | undefined;
  /** Requests for documents that were sent and have no reply yet, with the bytes of their bodies. */
  readonly inFlight: Flights;
  readonly #account: Account;
  readonly #context: ClientContext;
  readonly #link: string;
  readonly #rid: string | undefined;
  readonly #same: SameContainer | undefined;
  /** Undefined if the caller gave an HTTP client of its own, which must see every request. */
  readonly #signed: SignedRequests | undefined;
  #signaturesRefused = 0;

  /** With `intended`, requests throw once the name stands for another container, or for none. */
  constructor(account: Account, name: ContainerName, intended?: IntendedContainer) {
    const context: unknown = Reflect.get(account.client, 'clientContext');
    assert(context instanceof ClientContext, 'the SDK keeps its client context in the same property');
    this.name = name;
    this.is = intended?.is;
    this.#account = account;
    this.#context = context;
    this.#rid = intended?.rid;
    const { clock } = account;
    this.inFlight = new Flights(clock);
    this.#same =
      intended === undefined
        ? undefined
        : new SameContainer({ name, ...intended, clock, look: async (signal) => this.#look(signal) });
    this.#signed = account.sendsItself ? new SignedRequests(account.clock) : undefined;
    this.#link = `dbs/${name.database}/colls/${name.container}`;
  }

  /** The time of the service, which every reply of the account confirms or corrects. */
  get serviceTime(): ServiceTime {
    return this.#account.serviceTime;
  }

  /** Requests one page of a feed or of a query. */
  async feed(call: FeedCall): Promise<Exchange> {
    using _sent = this.inFlight.begin(0);
    const send: Send = bySdk(async (passage, signal) => this.#queryFeed(call, passage, signal));
    const { what, query, rangeId } = call;
    const { accessCondition, maxItemCount, sessionToken, ...fixed } = call.options;
    if (what !== 'docs' || query !== undefined || accessCondition?.type === 'IfMatch')
      return await this.#checked(await pass(this.#account, call, { access: 'read' }, send), call);
    const isInSession = sessionToken !== undefined;
    return await this.#sendSigned(call, {
      kind: JSON.stringify(['feed', isInSession, accessCondition !== undefined, fixed, call.part]),
      differing: { rangeId, sessionToken, ifNoneMatch: accessCondition?.condition, itemsMax: maxItemCount },
      parcel: { access: 'read' },
      send,
    });
  }

  /** How often the service has refused a signature that it had accepted before. */
  get signaturesRefused(): number {
    return this.#signaturesRefused;
  }

  /** Sends a ready-made body of operations to one range. */
  async batch(call: BatchCall): Promise<Exchange> {
    const { body, rangeId, sessionToken } = call;
    using _sent = this.inFlight.begin(body.length);
    return await this.#sendSigned(call, {
      kind: kindOf(call),
      differing: { rangeId, sessionToken },
      parcel: { access: 'write', body },
      send: bySdk(async (passage, signal) => this.#bulk(call, passage, signal)),
    });
  }

  /** Sends a request with an earlier signature if there is one, and otherwise through the SDK. */
  async #sendSigned(call: Call, signable: Signable): Promise<Exchange> {
    let { exchange, isUsed } = await this.#sendOnce(call, signable);
    // A refused request was not tried. The SDK signs it again.
    if (isUsed && !exchange.ok && exchange.trouble.status === 401) {
      this.#signaturesRefused += 1;
      this.#signed?.forget();
      ({ exchange } = await this.#sendOnce(call, signable));
    }
    // The SDK makes the next request itself: it may find another region, key or token.
    if (!exchange.ok) this.#signed?.forget();
    return this.#checked(exchange, call);
  }

  /** Sends a request. `isUsed`: whether its signature was used for an earlier request already. */
  async #sendOnce(
    call: Call,
    { kind, differing, parcel, send }: Signable,
  ): Promise<{ readonly exchange: Exchange; readonly isUsed: boolean }> {
    let isAgain = false;
    let isUsed = false;
    const exchange = await pass(this.#account, call, parcel, async (passage, deadline) => {
      // `pass` sends again only if the service has refused the signature.
      if (isAgain) this.#signed?.forget();
      isAgain = true;
      const signatures = this.#signed;
      if (signatures === undefined) return send(passage, deadline);
      const isNext = signatures.awaitsFirst(kind);
      const signed = isNext ? await signatures.findAfterFirst(kind, deadline.signal) : signatures.find(kind);
      isUsed = signed !== undefined;
      if (signed !== undefined)
        return this.#account.transport.resend(signed, passage, { ...differing, deadline });
      return signatures.sendBySdk(kind, passage, async () => send(passage, deadline));
    });
    return { exchange, isUsed };
  }

  async #queryFeed(
    { what, part, rangeId, query, options }: FeedCall,
    passage: Passage,
    signal: AbortSignal,
  ): Promise<void> {
    const resourceType = what === 'docs' ? ResourceType.item : ResourceType.pkranges;
    await this.#context.queryFeed({
      path: `/${encodeURI(this.#link)}/${what}`,
      resourceType,
      resourceId: this.#link,
      resultFn: () => [],
      // Without a query the SDK reads the feed, although its types require a text.
      query: query as unknown as string,
      options: { ...options, initialHeaders: this.#headersOf(passage), abortSignal: signal },
      diagnosticNode: newNode(),
      ...(rangeId === undefined ? {} : { partitionKeyRangeId: rangeId }),
      ...(part === undefined ? {} : { startEpk: part.min, endEpk: part.max }),
    });
  }

  async #bulk(
    { rangeId, sessionToken, minimalReply = false, priority }: BatchCall,
    passage: Passage,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#context.bulk({
      body: 'bytes',
      partitionKeyRangeId: rangeId,
      path: `/${encodeURI(this.#link)}/docs`,
      resourceId: this.#link,
      bulkOptions: { continueOnError: true },
      options: {
        initialHeaders: this.#headersOf(passage),
        abortSignal: signal,
        ...(sessionToken === undefined ? {} : { sessionToken, consistencyLevel: 'Session' }),
        ...(minimalReply ? { contentResponseOnWriteEnabled: false } : {}),
        ...(priority === undefined ? {} : { priorityLevel: PriorityLevel[priority] }),
      },
      diagnosticNode: newNode(),
    });
  }

  /** The headers of a request: the passage's, and the container that the request is meant for. */
  #headersOf(passage: Passage): Readonly<Record<string, string>> {
    return this.#rid === undefined ? passage.headers : { ...passage.headers, [INTENDED]: this.#rid };
  }

  /** Returns the exchange; throws if the container is no longer the one that requests are meant for. */
  async #checked(exchange: Exchange, { signal }: Call): Promise<Exchange> {
    if (exchange.ok) this.#same?.confirm(exchange.reply.header('x-ms-content-path'));
    else await this.#same?.suspect(exchange.trouble, signal);
    return exchange;
  }

  /** Asks the service what the container's name stands for now. */
  async #look(signal: AbortSignal): Promise<NamedContainer> {
    const { database, container } = this.name;
    const named = this.#account.client.database(database).container(container);
    const parcel = { access: 'read', isShown: true } as const;
    let found: unknown;
    const send = bySdk(async (passage, abortSignal) => {
      const { resource } = await named.read({ initialHeaders: { ...passage.headers }, abortSignal });
      found = memberOf(resource, '_rid');
    });
    const exchange = await pass(this.#account, { signal }, parcel, send);
    if (exchange.ok) return typeof found === 'string' ? { rid: found } : 'unknown';
    const { status, substatus } = exchange.trouble;
    return status === 404 && (substatus === 0 || substatus === 1003) ? 'missing' : 'unknown';
  }
}

/** Sends a request. It ends when the deadline does. */
type Send = (passage: Passage, deadline: Deadline) => Promise<void>;

/** Sends a request through the SDK. */
export function bySdk(send: (passage: Passage, signal: AbortSignal) => Promise<void>): Send {
  // Not every step of the SDK ends when the request is aborted: an identity may never answer.
  return async (passage, { signal }) => orAborted(send(passage, signal), signal);
}

/** A request that may be sent with the signature of an earlier request of its kind. */
interface Signable {
  readonly kind: string;
  readonly differing: Differing;
  readonly parcel: Parcel & { readonly access: Access };
  readonly send: Send;
}

/** Names the kind of a batch. Batches of one kind have the same headers, except those that differ for each batch. */
function kindOf({ sessionToken, minimalReply = false, priority }: BatchCall): string {
  return `${sessionToken !== undefined} ${minimalReply} ${priority}`;
}

/**
 * Sends a request; returns its whole reply, or why there is none. What the SDK makes of the stub is ignored. Only a request
 * that was refused because this machine's clock is wrong is sent twice: it was not tried.
 */
export async function pass(
  account: Account,
  { signal, timeoutMs = TIMEOUT_MS }: Call,
  { access, ...parcel }: Parcel & { readonly access: Access },
  send: Send,
): Promise<Exchange> {
  assert(timeoutMs <= TIMEOUT_MS, "our deadline fires before the SDK's");
  signal.throwIfAborted();
  using deadline = new Deadline(timeoutMs, 'a request', signal);
  for (let isFirst = true; ; isFirst = false) {
    using passage = account.transport.open(parcel);
    let failure: unknown;
    try {
      await send(passage, deadline);
    } catch (error) {
      failure = error;
    }
    const { reply, signedAt } = passage;
    // A reply that has arrived counts, even if the SDK failed or the deadline has passed.
    if (reply !== undefined) {
      const date = reply.header('date');
      // A proxy's own refusal has no activity id, and its clock is not the service's.
      if (reply.header('x-ms-activity-id') !== undefined) account.serviceTime.see(date);
      const isRefused = reply.status === 401 && date !== undefined && signedAt !== undefined;
      if (isRefused && account.signer?.correct(signedAt, date) === true && isFirst) continue;
      return exchangeFrom(reply, { access, at: account.endpoint, nowMs: account.clock.now() });
    }
    if (signal.aborted) throw abortReason(signal);
    const cause = deadline.reason ?? passage.failure ?? failure;
    const trouble = troubleWithoutReply(cause, { sent: passage.sent, access });
    return { ok: false, trouble: { ...trouble, at: account.endpoint } };
  }
}

function newNode(): DiagnosticNodeInternal {
  return new DiagnosticNode('info', 'CLIENT_REQUEST_NODE', null);
}

function exchangeFrom(
  raw: RawReply,
  { access, at, nowMs }: { readonly access: Access; readonly at: string; readonly nowMs: number },
): Exchange {
  const substatus = numberIn(raw, 'x-ms-substatus') ?? 0;
  const kind = classifyStatus(raw.status, substatus, access);
  const sessionToken = raw.header('x-ms-session-token');
  const chargeRu = numberIn(raw, 'x-ms-request-charge') ?? 0;
  if (kind === 'done') {
    const { status, body, free } = raw;
    return {
      ok: true,
      reply: { status, substatus, chargeRu, sessionToken, body, free, header: (name) => raw.header(name) },
    };
  }
  const retryAfterMs = retryAfterIn(raw);
  const activityId = raw.header('x-ms-activity-id');
  const code = substatus === 0 ? String(raw.status) : `${raw.status}/${substatus}`;
  const clockOff = raw.status === 401 ? clockOffBy(nowMs, raw.header('date')) : undefined;
  return {
    ok: false,
    trouble: {
      kind,
      status: raw.status,
      substatus,
      what: `the service answered ${code}`,
      at,
      chargeRu,
      ...(raw.status === 500 ? { says: messageIn(raw.body) } : {}),
      ...(clockOff === undefined ? {} : { clockOff }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(activityId === undefined ? {} : { activityId }),
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
  };
}

function numberIn(raw: RawReply, name: string): number | undefined {
  const text = raw.header(name);
  const value = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Returns how long the service asks us to wait. The service gives milliseconds, a proxy seconds. */
function retryAfterIn(raw: RawReply): number | undefined {
  const ms = numberIn(raw, 'x-ms-retry-after-ms');
  if (ms !== undefined) return ms;
  const seconds = numberIn(raw, 'retry-after');
  return seconds === undefined ? undefined : seconds * 1000;
}
