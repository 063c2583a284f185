/** Connects to a Cosmos account. The folder is the only place that knows Microsoft's SDK. */
import type { Agent } from 'node:http';
import { inspect } from 'node:util';
import { createDefaultHttpClient, type HttpClient } from '@azure/core-rest-pipeline';
import { CosmosClient } from '@azure/cosmos';
import { assert } from '../../lib/assert.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { isLoopback, type Connection } from '../../spec/connection.ts';
import { RawLane } from '../transport/byte-transport.ts';
import { signIn, type Identity } from './sign-in.ts';

export { ChangeFeedStartFrom, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';

/** Which account, and how to be let in: with its key, or with an identity that has signed in. */
export type AccountAccess = { readonly endpoint: string } & (
  | { readonly key: string }
  | { readonly credential: Identity }
);

/** How the account is talked to; every part has a default that suits a migration. */
export interface AccountOptions {
  /** Asks the account for its regions and follows a fail-over. Off: all traffic goes to the endpoint given. */
  readonly discovery?: boolean;
  /** Sockets of the caller's: a proxy, or a certificate to trust. */
  readonly agent?: Agent;
  /** What sends requests, around or instead of the usual one. */
  readonly httpClient?: HttpClient;
  readonly clock?: Clock;
}

/** A client of one account; disposing of it ends the SDK's own timers. Shows no key when it is printed. */
export class Account implements Disposable {
  readonly endpoint: string;
  readonly client: CosmosClient;
  /** Where documents pass as bytes. */
  readonly lane: RawLane;
  /** Whether nobody has put something of theirs between us and the network. */
  readonly sendsItself: boolean;
  readonly clock: Clock;

  constructor(access: AccountAccess, options: AccountOptions = {}) {
    const { discovery = false, agent, httpClient, clock = systemClock } = options;
    const url = new URL(access.endpoint);
    assert(
      agent === undefined || url.protocol !== 'http:' || isLoopback(url.hostname),
      'plain http is for this machine only',
    );
    this.lane = new RawLane(httpClient ?? createDefaultHttpClient());
    this.sendsItself = httpClient === undefined;
    this.clock = clock;
    this.endpoint = access.endpoint;
    this.client = new CosmosClient({
      endpoint: access.endpoint,
      ...('key' in access ? { key: access.key } : { aadCredentials: access.credential }),
      ...(agent === undefined ? {} : { agent }),
      httpClient: this.lane,
      connectionPolicy: {
        // Off, the SDK's hidden fail-over retries are off as well.
        enableEndpointDiscovery: discovery,
        // A 429 comes to us at once, with its own hint how long to wait.
        retryOptions: {
          maxRetryAttemptCount: 0,
          fixedRetryIntervalInMilliseconds: 0,
          maxWaitTimeInSeconds: 0,
        },
      },
    });
  }

  [Symbol.dispose](): void {
    this.client.dispose();
  }

  toJSON(): Readonly<Record<string, string>> {
    return { endpoint: this.endpoint };
  }

  [inspect.custom](): string {
    return `Account { ${this.endpoint} }`;
  }
}

/** Signs in where that is needed, and gives the account; nothing else is sent. */
export async function connect(
  connection: Connection,
  { signal, ...options }: AccountOptions & { readonly signal: AbortSignal },
): Promise<Account> {
  const { endpoint } = connection;
  const key = connection.revealKey();
  if (key !== undefined) return new Account({ endpoint, key }, options);
  return new Account({ endpoint, credential: await signIn(endpoint, signal) }, options);
}
