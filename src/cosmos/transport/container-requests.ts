/**
 * The one place that calls the SDK below its public surface: `ClientContext.queryFeed` and `ClientContext.bulk`
 * (fact SDK-2), with the raw lane around them. What always holds: a request is sent once, has its own
 * time limit, and gives a whole reply or says why there is none. No other file knows these two methods; the contract
 * test of this one tells when a new SDK version has changed them.
 */
import { setMaxListeners } from 'node:events';
import {
  ClientContext,
  DiagnosticNodeInternal,
  PriorityLevel,
  ResourceType,
  type FeedOptions,
} from '@azure/cosmos';
import { abortReason, Deadline } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { containerRecreated } from '../../spec/refusals.ts';
import { classifyStatus, troubleWithoutReply, type Access, type Trouble } from './trouble.ts';
import type { Account } from '../account/client.ts';
import type { Parcel, Passage, RawReply } from './byte-transport.ts';
import { SignedRequests } from './signed-requests.ts';

/** A container by its names. */
export interface ContainerName {
  readonly database: string;
  readonly container: string;
}

/** A whole reply with what each of them has. */
export interface Reply {
  readonly status: number;
  readonly substatus: number;
  /** From the header: the SDK's number is cut to an integer. */
  readonly chargeRu: number;
  readonly sessionToken: string | undefined;
  readonly body: Buffer;
  /** Nobody looks at the body any more; need not be called. */
  readonly free: () => void;
  header(name: string): string | undefined;
}

/** What a request came to. */
export type Exchange =
  | { readonly ok: true; readonly reply: Reply }
  | { readonly ok: false; readonly trouble: Trouble };

export interface Call {
  readonly signal: AbortSignal;
  /** A server that says nothing for so long is not waited for. */
  readonly timeoutMs?: number;
}

/** The two the public types have dropped: which feed is read. */
export interface LaneFeedOptions extends FeedOptions {
  useLatestVersionFeed?: boolean;
  useAllVersionsAndDeletesFeed?: boolean;
}

export interface FeedCall extends Call {
  readonly what: 'docs' | 'pkranges';
  readonly options: LaneFeedOptions;
  readonly rangeId?: string;
  /** The text of a query; without one it is a feed that is read. */
  readonly query?: string;
  /** Only this part of the range. */
  readonly part?: { readonly min: string; readonly max: string };
}

export interface BatchCall extends Call {
  readonly rangeId: string;
  readonly body: Uint8Array;
  readonly sessionToken?: string;
  /** The service leaves documents out of the reply to creates and replaces. */
  readonly minimalReply?: boolean;
  /** Low: whoever else uses the container comes first. */
  readonly priority?: 'Low' | 'High';
}

/** Less than the SDK's own limit, so that it is us who gives up; more than the service takes for anything. */
export const TIMEOUT_MS = 45_000;

/** The constructor is there, the types have dropped it. */
const DiagnosticNode = DiagnosticNodeInternal as unknown as new (
  level: string,
  type: string,
  parent: null,
) => DiagnosticNodeInternal;

export class ContainerLane {
  readonly name: ContainerName;
  readonly #account: Account;
  readonly #context: ClientContext;
  readonly #link: string;
  readonly #rid: string | undefined;
  /** Nothing where somebody wants to see every request that the SDK makes. */
  readonly #signed: SignedRequests | undefined;

  /** With its `rid`, batches to another container of that name come to nothing. */
  constructor(account: Account, name: ContainerName, rid?: string) {
    const context: unknown = Reflect.get(account.client, 'clientContext');
    assert(context instanceof ClientContext, 'the SDK keeps its context where it did');
    this.name = name;
    this.#account = account;
    this.#context = context;
    this.#rid = rid;
    this.#signed = account.sendsItself ? new SignedRequests(account.clock) : undefined;
    this.#link = `dbs/${name.database}/colls/${name.container}`;
  }

  /** A page of a feed. */
  async feed(call: FeedCall): Promise<Exchange> {
    const { what, part, rangeId, query } = call;
    const resourceType = what === 'docs' ? ResourceType.item : ResourceType.pkranges;
    return pass(this.#account, call, { access: 'read' }, async (passage, signal) => {
      await this.#context.queryFeed({
        path: `/${encodeURI(this.#link)}/${what}`,
        resourceType,
        resourceId: this.#link,
        resultFn: () => [],
        // Nothing to ask makes it a read; the types want a text.
        query: query as unknown as string,
        options: { ...call.options, initialHeaders: passage.headers, abortSignal: signal },
        diagnosticNode: newNode(),
        ...(rangeId === undefined ? {} : { partitionKeyRangeId: rangeId }),
        ...(part === undefined ? {} : { startEpk: part.min, endEpk: part.max }),
      });
    });
  }

  /** A ready-made body of operations, to one range. */
  async batch(call: BatchCall): Promise<Exchange> {
    const { body, rangeId, sessionToken } = call;
    const kind = kindOf(call);
    const parcel = { access: 'write', body } as const;
    const exchange = await pass(this.#account, call, parcel, async (passage, signal) => {
      const signed = this.#signed?.find(kind);
      if (signed !== undefined)
        return this.#account.lane.resend(signed, passage, { rangeId, sessionToken, signal });
      await this.#bulk(call, passage, signal);
      const { request, reply } = passage;
      if (request !== undefined && reply?.status === 200) this.#signed?.keep(kind, request);
    });
    // Whatever it is, the SDK may know better: where the account is now, or how it lets us in.
    if (!exchange.ok) this.#signed?.forget();
    else this.#checkContainer(exchange.reply);
    return exchange;
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
        initialHeaders: passage.headers,
        abortSignal: signal,
        ...(sessionToken === undefined ? {} : { sessionToken, consistencyLevel: 'Session' }),
        ...(minimalReply ? { contentResponseOnWriteEnabled: false } : {}),
        ...(priority === undefined ? {} : { priorityLevel: PriorityLevel[priority] }),
      },
      diagnosticNode: newNode(),
    });
  }

  /** A container that was made anew under the name knows nothing of what was written, and has nothing of what was read. */
  #checkContainer(reply: Reply): void {
    const answering = reply.header('x-ms-content-path');
    if (this.#rid === undefined || answering === undefined || isSameContainer(this.#rid, answering)) return;
    const { database, container } = this.name;
    throw containerRecreated(`container ${database}/${container}`, { was: this.#rid, is: answering });
  }
}

/** Batches of one kind have the same headers, but for what differs from each to the next. */
function kindOf({ sessionToken, minimalReply = false, priority }: BatchCall): string {
  return `${sessionToken !== undefined} ${minimalReply} ${priority}`;
}

/** A request through the lane, once: its whole reply, or why there is none. The SDK's own failure is told to nobody. */
export async function pass(
  account: Account,
  { signal, timeoutMs = TIMEOUT_MS }: Call,
  { access, ...parcel }: Parcel & { readonly access: Access },
  send: (passage: Passage, signal: AbortSignal) => Promise<void>,
): Promise<Exchange> {
  assert(timeoutMs <= TIMEOUT_MS, 'we give up before the SDK does');
  signal.throwIfAborted();
  // As many listen as requests are under way, each until its own is over; that is no leak.
  setMaxListeners(0, signal);
  using deadline = new Deadline(timeoutMs, 'a request', signal);
  using passage = account.lane.open(parcel);
  let failure: unknown;
  try {
    await send(passage, deadline.signal);
  } catch (error) {
    failure = error;
  }
  // What the SDK made of the stub is of no interest. A reply that is here counts, even if somebody gave up.
  if (passage.reply !== undefined) return judge(passage.reply, { access, at: account.endpoint });
  if (signal.aborted) throw abortReason(signal);
  const cause = deadline.signal.aborted ? abortReason(deadline.signal) : (passage.failure ?? failure);
  const trouble = troubleWithoutReply(cause, { sent: passage.sent, access });
  return { ok: false, trouble: { ...trouble, at: account.endpoint } };
}

/** The _rid of a container, and of everything in it, begins with eight bytes that are the container's. */
const RID_BYTES = 8;

function isSameContainer(rid: string, other: string): boolean {
  const [one, two] = [rid, other].map((text) => Buffer.from(text.replaceAll('-', '/'), 'base64'));
  if (one === undefined || two === undefined || two.length < RID_BYTES) return true;
  return one.subarray(0, RID_BYTES).equals(two.subarray(0, RID_BYTES));
}

function newNode(): DiagnosticNodeInternal {
  return new DiagnosticNode('info', 'CLIENT_REQUEST_NODE', null);
}

function judge(raw: RawReply, { access, at }: { readonly access: Access; readonly at: string }): Exchange {
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
  const told = substatus === 0 ? String(raw.status) : `${raw.status}/${substatus}`;
  return {
    ok: false,
    trouble: {
      kind,
      status: raw.status,
      substatus,
      what: `the service answered ${told}`,
      at,
      chargeRu,
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

/** The service speaks in milliseconds, a proxy in seconds. */
function retryAfterIn(raw: RawReply): number | undefined {
  const ms = numberIn(raw, 'x-ms-retry-after-ms');
  if (ms !== undefined) return ms;
  const seconds = numberIn(raw, 'retry-after');
  return seconds === undefined ? undefined : seconds * 1000;
}
