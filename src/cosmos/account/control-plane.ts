/**
 * Calls the SDK's public control plane: databases, containers, scripts, offers. The calls go through the byte
 * transport, so a failure is classified by the service's reply itself, and the SDK sees no failure that it would retry
 * silently. Invariant: every call may be repeated: it is a read, or a write that is harmless or refused the second
 * time.
 */
import type { RequestOptions } from '@azure/cosmos';
import { TroubleError, troubleOf, type Trouble } from '../transport/trouble.ts';
import { messageIn } from '../transport/service-message.ts';
import type { Account } from './client.ts';
import {
  metadataTimeoutMs,
  bySdk,
  pass,
  TIMEOUT_MS,
  type Call,
  type Exchange,
} from '../transport/container-requests.ts';
import { retrying, type Patience } from '../load/retry.ts';

export interface ControlCall {
  readonly signal: AbortSignal;
  readonly patience: Patience;
  /** Whether `work` changes something, which may take the service longer than a read. */
  readonly changes?: boolean;
}

/** What the SDK read from a reply, and the reply itself. */
export interface Controlled<T> {
  readonly value: T;
  /** Body of the last reply, as bytes. */
  readonly body: Buffer;
  header(name: string): string | undefined;
}

/**
 * Repeats `work` while its trouble may pass. `work` may make several requests in turn. If `isAnswer` accepts a refusal
 * as an answer, returns undefined.
 */
export async function control<T>(
  account: Account,
  { signal, patience, changes = false }: ControlCall,
  work: (options: RequestOptions) => Promise<T>,
  isAnswer: (trouble: Trouble) => boolean = () => false,
): Promise<Controlled<T> | undefined> {
  let attempts = 0;
  const ask = async (): Promise<Controlled<T> | undefined> => {
    const timeoutMs = changes ? TIMEOUT_MS : metadataTimeoutMs(attempts);
    attempts += 1;
    try {
      return await attempt(account, { signal, timeoutMs }, work);
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble !== undefined && isAnswer(trouble)) return undefined;
      throw error;
    }
  };
  return retrying(ask, { signal, patience, splits: 'waited-for' });
}

/**
 * Whether the resource does not exist, or its parent does not (1003). A container that is still being created (1013) is
 * not absent.
 */
export function isAbsence({ status, substatus }: Trouble): boolean {
  return status === 404 && (substatus === 0 || substatus === 1003);
}

/** Whether the caller lacks the permission. A wrong key is a 401. */
export function isForbidden({ status }: Trouble): boolean {
  return status === 403;
}

async function attempt<T>(
  account: Account,
  call: Call,
  work: (options: RequestOptions) => Promise<T>,
): Promise<Controlled<T>> {
  let made: { readonly value: T } | undefined;
  let refusal: Buffer | undefined;
  // A lost reply must not count as ambiguous, so `access` is 'read' for writes too: the repeated attempt shows whether
  // the first one succeeded.
  const exchange: Exchange = await pass(
    account,
    call,
    { access: 'read', isShown: true },
    bySdk(async (passage, abortSignal) => {
      try {
        made = { value: await work({ initialHeaders: { ...passage.headers }, abortSignal }) };
      } finally {
        refusal = passage.reply?.body;
      }
    }),
  );
  if (!exchange.ok) throw new TroubleError(withMessage(exchange.trouble, refusal));
  const { reply } = exchange;
  if (made !== undefined) return { ...made, body: reply.body, header: (name) => reply.header(name) };
  const { status, substatus, chargeRu } = reply;
  const what = 'a reply of the control plane could not be parsed';
  throw new TroubleError({ kind: 'transient', status, substatus, what, chargeRu });
}

function withMessage(trouble: Trouble, body: Buffer | undefined): Trouble {
  if (trouble.kind !== 'fatal' || body === undefined) return trouble;
  const message = messageIn(body);
  return message === '' ? trouble : { ...trouble, what: `${trouble.what}: ${message}` };
}
