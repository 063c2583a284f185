/** Connects to a Cosmos account. The folder is the only place that knows Microsoft's SDK. */
import { CosmosClient } from '@azure/cosmos';

export { ChangeFeedStartFrom, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';

/** Which account, and with which key. */
export interface AccountAccess {
  readonly endpoint: string;
  readonly key: string;
}

/** A client of one account; disposing of it ends the SDK's own timers and sockets. */
export class Account implements Disposable {
  readonly client: CosmosClient;

  constructor(access: AccountAccess) {
    this.client = new CosmosClient({
      ...access,
      connectionPolicy: {
        // All traffic goes to the endpoint we were given, and the SDK's hidden fail-over retries stay off.
        enableEndpointDiscovery: false,
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
}
