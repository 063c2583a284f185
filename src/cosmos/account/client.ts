/**
 * Connects to a Cosmos account. Invariant: the SDK never retries by itself, follows no failover unless asked to, and
 * shows no key when an account is printed. Only src/cosmos imports the SDK.
 */
import type { Agent } from 'node:http';
import { inspect } from 'node:util';
import { createDefaultHttpClient, type HttpClient } from '@azure/core-rest-pipeline';
import { CosmosClient } from '@azure/cosmos';
import { assert } from '../../lib/assert.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { isLoopback, type Connection } from '../../spec/connection.ts';
import { ByteTransport } from '../transport/byte-transport.ts';
import { signIn, type Identity } from './sign-in.ts';

export { ChangeFeedStartFrom, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';

/** Which account, and its credentials: its key, or an identity that has signed in. */
export type AccountAccess = { readonly endpoint: string } & (
  | { readonly key: string }
  | { readonly credential: Identity }
);

/** How requests reach the account; every part has a default that suits a migration. */
export interface AccountOptions {
  /** Asks the account for its regions and follows a failover. Off: all traffic goes to the given endpoint. */
  readonly discovery?: boolean;
  /** The caller's own sockets: for a proxy, or for a certificate to trust. */
  readonly agent?: Agent;
  /** Sends the requests, around or instead of the default HTTP client. */
  readonly httpClient?: HttpClient;
  readonly clock?: Clock;
}

/** A client of one account. Disposing of it ends the SDK's own timers. */
export class Account implements Disposable {
  readonly endpoint: string;
  readonly client: CosmosClient;
  /** Carries documents as bytes. */
  readonly transport: ByteTransport;
  /** Whether requests go straight to the network, and not through an HTTP client of the caller's. */
  readonly sendsItself: boolean;
  readonly clock: Clock;

  constructor(access: AccountAccess, options: AccountOptions = {}) {
    const { discovery = false, agent, httpClient, clock = systemClock } = options;
    const url = new URL(access.endpoint);
    assert(
      agent === undefined || url.protocol !== 'http:' || isLoopback(url.hostname),
      'plain http is for loopback addresses only',
    );
    this.transport = new ByteTransport(httpClient ?? createDefaultHttpClient());
    this.sendsItself = httpClient === undefined;
    this.clock = clock;
    this.endpoint = access.endpoint;
    this.client = new CosmosClient({
      endpoint: access.endpoint,
      ...('key' in access ? { key: access.key } : { aadCredentials: access.credential }),
      ...(agent === undefined ? {} : { agent }),
      httpClient: this.transport,
      connectionPolicy: {
        // When this is off, the SDK's hidden failover retries are off as well.
        enableEndpointDiscovery: discovery,
        // A 429 reaches us at once, with the service's hint how long to wait.
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

/** Signs in where that is needed, and returns the account; sends nothing else. */
export async function connect(
  connection: Connection,
  { signal, ...options }: AccountOptions & { readonly signal: AbortSignal },
): Promise<Account> {
  const { endpoint } = connection;
  const key = connection.revealKey();
  if (key !== undefined) return new Account({ endpoint, key }, options);
  return new Account({ endpoint, credential: await signIn(endpoint, signal) }, options);
}
