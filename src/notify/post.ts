/**
 * Posts a notification to a URL. The signature is HMAC-SHA256 over the time and the body, so that a receiver detects a
 * body that was changed, and a request that was recorded and is sent again. Invariant: no failure repeats the URL.
 */
import { createHmac } from 'node:crypto';
import { request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Clock } from '../lib/clock.ts';
import { codeOf } from '../lib/errors.ts';
import { isLoopback } from '../spec/connection.ts';
import type { Notification } from '../report/json/notification.ts';
import { RefusedByReceiver, type Receiver } from './delivery.ts';
import type { Destination } from './destination.ts';

export interface PostParts {
  readonly secret: string | null;
  readonly clock: Clock;
  readonly version: string;
}

export function postTo(destination: Destination, { secret, clock, version }: PostParts): Receiver {
  return {
    name: destination.origin,
    deliver: async (notification, signal) => {
      const body = Buffer.from(JSON.stringify(notification));
      const seconds = Math.floor(clock.now() / 1000);
      const status = await post(destination.revealUrl(), {
        body,
        signal,
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          'user-agent': `cosmig/${version}`,
          ...headersFor(notification),
          'cosmig-timestamp': seconds,
          ...(secret === null ? {} : { 'cosmig-signature': signatureOf(secret, { seconds, body }) }),
        },
      });
      throwIfRefusedByReceiver(status);
    },
  };
}

function headersFor({ id, event }: Notification): Readonly<Record<string, string>> {
  return { 'cosmig-id': id, 'cosmig-event': event };
}

/** Returns the value of the header `Cosmig-Signature`. Another method would get another name than v1. */
function signatureOf(
  secret: string,
  { seconds, body }: { readonly seconds: number; readonly body: Buffer },
): string {
  return `v1=${createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')}`;
}

/** Statuses below 500 after which another attempt may succeed: too slow, too early, too many requests. */
const TEMPORARY: readonly number[] = [408, 425, 429];

function throwIfRefusedByReceiver(status: number): void {
  if (status >= 200 && status < 300) return;
  if (status >= 500 || TEMPORARY.includes(status)) throw new Error(`it answered ${status}`);
  // The next address is not asked, since the operator has not named it.
  const why = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  throw new RefusedByReceiver(`it answered ${status}${why}`);
}

/** More of a reply is not read. */
const REPLY_MAX_BYTES = 64 * 1024;

interface Post extends Required<Pick<RequestOptions, 'headers'>> {
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

async function post(url: URL, { body, headers, signal }: Post): Promise<number> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    // No connection is kept: notifications are rare, and an idle connection would be closed by the receiver.
    const options = {
      ...urlToHttpOptions(url),
      method: 'POST',
      headers,
      agent: false,
      signal,
      // Even if NODE_TLS_REJECT_UNAUTHORIZED turns the check off, as some do for an emulator on their machine.
      ...(isLoopback(url.hostname) ? {} : { rejectUnauthorized: true }),
    };
    let status: number | undefined;
    const request = send(options, (response) => {
      status = response.statusCode ?? 0;
      let bytes = 0;
      // Read to its end, since a receiver may log a reply that was cut off as a failure of its own.
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > REPLY_MAX_BYTES) response.destroy();
      });
      response.on('error', () => {});
      response.on('close', () => resolve(status ?? 0));
    });
    request.on('error', (error) => {
      // Once there is a status, the notification has arrived, whatever becomes of the rest of the reply.
      if (status !== undefined) return resolve(status);
      const reason: unknown = signal.reason;
      reject(reason instanceof Error ? reason : new Error(`it cannot be reached (${codeOf(error)})`));
    });
    request.end(body);
  });
}
