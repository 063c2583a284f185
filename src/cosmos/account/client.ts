/**
 * Connects to a Cosmos account. Invariant: the SDK never retries by itself, follows a failover only on request, and
 * shows no key when an account is printed. Only src/cosmos imports the SDK.
 */
import type { Agent } from 'node:http';
import { inspect } from 'node:util';
import { createDefaultHttpClient, type HttpClient } from '@azure/core-rest-pipeline';
import { CosmosClient } from '@azure/cosmos';
import { assert } from '../../lib/assert.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { isLoopback, type Connection } from '../../spec/connection.ts';
import { ByteTransport } from '../transport/byte-transport.ts';
import { ServiceTime } from './service-time.ts';
import { Signer } from './signer.ts';
import { signIn, type Identity } from './sign-in.ts';

export { ChangeFeedStartFrom, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';

/** The endpoint of an account, and its credentials: a key, or an identity that has signed in. */
export type AccountAccess = { readonly endpoint: string } & (
  | { readonly key: string }
  | { readonly credential: Identity }
);

/** How requests reach the account. Every option has a default that suits a migration. */
export interface AccountOptions {
  /** Whether the SDK asks the account for its regions and follows a failover. Off: all traffic goes to the endpoint. */
  readonly discovery?: boolean;
  /** The caller's own HTTP agent, for a proxy or for a certificate to trust. */
  readonly agent?: Agent;
  /** An HTTP client that replaces the default one. It may pass requests on to the default one. */
  readonly httpClient?: HttpClient;
  readonly clock?: Clock;
  /** The service's time, if several accounts share it. */
  readonly serviceTime?: ServiceTime;
}

/** A client of one account. Disposing of it closes our own connections, and ends the SDK's own timers. */
export class Account implements Disposable {
  readonly endpoint: string;
  readonly client: CosmosClient;
  /** The HTTP client that carries documents as bytes. */
  readonly transport: ByteTransport;
  /** Whether requests go straight to the network, not through an HTTP client of the caller. */
  readonly sendsItself: boolean;
  readonly clock: Clock;
  /** The time of the service, which every reply of the account confirms or corrects. */
  readonly serviceTime: ServiceTime;
  /** Signs with the account key; undefined with Entra ID. */
  readonly signer: Signer | undefined;

  constructor(access: AccountAccess, options: AccountOptions = {}) {
    const { discovery = false, agent, httpClient, clock = systemClock } = options;
    const url = new URL(access.endpoint);
    assert(
      agent === undefined || url.protocol !== 'http:' || isLoopback(url.hostname),
      'plain http is for loopback addresses only',
    );
    this.transport = new ByteTransport(httpClient ?? createDefaultHttpClient(), clock);
    this.sendsItself = httpClient === undefined;
    this.clock = clock;
    this.serviceTime = options.serviceTime ?? new ServiceTime(clock);
    this.endpoint = access.endpoint;
    const signer = 'key' in access ? new Signer(access.key, clock) : undefined;
    this.signer = signer;
    this.client = new CosmosClient({
      endpoint: access.endpoint,
      ...(signer === undefined ? {} : { tokenProvider: signer.sign }),
      ...('credential' in access ? { aadCredentials: access.credential } : {}),
      ...(agent === undefined ? {} : { agent }),
      httpClient: this.transport,
      connectionPolicy: {
        // Turning this off also turns off the SDK's hidden failover retries.
        enableEndpointDiscovery: discovery,
        // A 429 reaches our code at once, with the service's hint how long to wait.
        retryOptions: {
          maxRetryAttemptCount: 0,
          fixedRetryIntervalInMilliseconds: 0,
          maxWaitTimeInSeconds: 0,
        },
      },
    });
  }

  [Symbol.dispose](): void {
    this.transport.close();
    this.client.dispose();
  }

  toJSON(): Readonly<Record<string, string>> {
    return { endpoint: this.endpoint };
  }

  [inspect.custom](): string {
    return `Account { ${this.endpoint} }`;
  }
}

/** Signs in if necessary, and returns the account. Sends no other request. */
export async function connect(
  connection: Connection,
  { signal, ...options }: AccountOptions & { readonly signal: AbortSignal },
): Promise<Account> {
  const { endpoint } = connection;
  refuseUnchecked(connection);
  const key = connection.revealKey();
  if (key !== undefined) return new Account({ endpoint, key }, options);
  return new Account({ endpoint, credential: await signIn(endpoint, signal) }, options);
}

/**
 * Refuses an endpoint on another machine while certificates are not checked: anyone on the way to it could read the key
 * and change documents. Node itself only warns.
 */
function refuseUnchecked({ endpoint, checksCertificate }: Connection): void {
  if (checksCertificate || isLoopback(new URL(endpoint).hostname)) return;
  throw new UsageError(`certificates are not checked, so ${endpoint} may be another server`, {
    why: 'with NODE_TLS_REJECT_UNAUTHORIZED=0, anyone on the way to the account could read its key and change documents',
    hint: 'unset it; to trust a certificate of your own, set NODE_EXTRA_CA_CERTS=FILE',
  });
}
