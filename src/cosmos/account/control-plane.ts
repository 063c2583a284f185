/**
 * Calls of the SDK's public control plane: databases, containers, scripts, offers. They go through the lane, so that
 * a failure is told by the reply itself and the SDK has none it would retry in silence. What always holds: a call is
 * repeated, so it is one that may be: a read, or a create that a second time is refused with 409.
 */
import type { RequestOptions } from '@azure/cosmos';
import { TroubleError, troubleOf, type Trouble } from '../transport/trouble.ts';
import { memberOf } from '../../lib/json.ts';
import type { Account } from './client.ts';
import { pass, type Exchange } from '../transport/container-requests.ts';
import { retrying, type Patience } from '../load/retry.ts';

export interface ControlCall {
  readonly signal: AbortSignal;
  readonly patience: Patience;
}

/** What the SDK made of a reply, and the reply's own headers. */
export interface Controlled<T> {
  readonly value: T;
  /** The last reply as it came. */
  readonly body: Buffer;
  header(name: string): string | undefined;
}

/** Several requests may be made with the same options, one after the other. */
export async function control<T>(
  account: Account,
  { signal, patience }: ControlCall,
  work: (options: RequestOptions) => Promise<T>,
): Promise<Controlled<T>> {
  return retrying(async () => asked(account, signal, work), { signal, patience, splits: 'waited-for' });
}

/** The same, or nothing when it is refused in a way that is an answer too. */
export async function controlUnless<T>(
  account: Account,
  { signal, patience }: ControlCall,
  work: (options: RequestOptions) => Promise<T>,
  isAnswer: (trouble: Trouble) => boolean,
): Promise<Controlled<T> | undefined> {
  const ask = async (): Promise<Controlled<T> | undefined> => {
    try {
      return await asked(account, signal, work);
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble !== undefined && isAnswer(trouble)) return undefined;
      throw error;
    }
  };
  return retrying(ask, { signal, patience, splits: 'waited-for' });
}

/** It is not there. 1003 is the parent that is missing; 1013, a container that is being made, is waited for. */
export function isAbsence({ status, substatus }: Trouble): boolean {
  return status === 404 && (substatus === 0 || substatus === 1003);
}

/** Whoever asks may not know; a wrong key is something else. */
export function isForbidden({ status }: Trouble): boolean {
  return status === 403;
}

async function asked<T>(
  account: Account,
  signal: AbortSignal,
  work: (options: RequestOptions) => Promise<T>,
): Promise<Controlled<T>> {
  let made: { readonly value: T } | undefined;
  let refusal: Buffer | undefined;
  // A create is asked like a read: whether it was done or not, the next attempt tells.
  const exchange: Exchange = await pass(
    account,
    { signal },
    { access: 'read', isShown: true },
    async (passage, abortSignal) => {
      try {
        made = { value: await work({ initialHeaders: { ...passage.headers }, abortSignal }) };
      } finally {
        refusal = passage.reply?.body;
      }
    },
  );
  if (!exchange.ok) throw new TroubleError(withWords(exchange.trouble, refusal));
  const { reply } = exchange;
  if (made !== undefined) return { ...made, body: reply.body, header: (name) => reply.header(name) };
  const { status, substatus, chargeRu } = reply;
  const what = 'a reply of the control plane cannot be read';
  throw new TroubleError({ kind: 'transient', status, substatus, what, chargeRu });
}

/** Of settings that it does not take the service says more than a number. */
const WORDS_MAX = 300;

function withWords(trouble: Trouble, body: Buffer | undefined): Trouble {
  if (trouble.kind !== 'fatal' || body === undefined) return trouble;
  const message = messageIn(body.toString());
  return message === '' ? trouble : { ...trouble, what: `${trouble.what}: ${message}` };
}

/** The first line of the message; what is no refusal of the service's has none. */
function messageIn(body: string): string {
  try {
    const message = memberOf(JSON.parse(body), 'message');
    return typeof message === 'string' ? (message.split(/[\r\n]/)[0] ?? '').slice(0, WORDS_MAX) : '';
  } catch {
    return '';
  }
}
