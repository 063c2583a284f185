/** Two ways to write to a container, raw and through the SDK, behind one face for the writers of a soak. */
import {
  CosmosClient,
  ErrorResponse,
  type Container,
  type OperationInput,
  type PatchOperation,
  type RequestContext,
  type Response,
} from '@azure/cosmos';
import { effectiveKey, type KeyComponent } from '../../../../src/epk/effective-key.ts';
import type { Answer } from './model.ts';
import { parseJson, type Reply } from '../../../helpers/emulator/raw.ts';
import { within } from '../../../helpers/wait.ts';
import {
  opKey,
  type Key,
  type OperationResult,
  type PkRange,
  type WireContainer,
} from '../../../helpers/emulator/wire-container.ts';

/** A reply that takes longer than this never comes: a fault rule has dropped it. */
const SILENCE_MS = 4_000;

export interface Write {
  readonly kind: 'create' | 'upsert' | 'replace' | 'delete';
  readonly id: string;
  readonly pk: unknown;
  /** JSON text; not for a delete. */
  readonly body: string;
  readonly ifMatch?: string | undefined;
}

/** Every method throws when no answer came; the write may or may not have happened. */
export interface Port {
  readonly name: string;
  write(write: Write): Promise<Answer>;
  patch(target: { id: string; pk: unknown }, operations: readonly PatchOperation[]): Promise<Answer>;
  /** All or nothing, of one key; one answer for all. */
  batch(writes: readonly Write[]): Promise<Answer>;
  /** Each for itself; one answer each. */
  bulk(writes: readonly Write[]): Promise<readonly Answer[]>;
}

export function keyOf(pk: unknown): Key {
  return [pk === undefined ? {} : pk];
}

function operationOf(write: Write): string {
  const name = { create: 'Create', upsert: 'Upsert', replace: 'Replace', delete: 'Delete' }[write.kind];
  const id = write.kind === 'replace' || write.kind === 'delete' ? `,"id":${JSON.stringify(write.id)}` : '';
  const body = write.kind === 'delete' ? '' : `,"resourceBody":${write.body}`;
  const ifMatch = write.ifMatch === undefined ? '' : `,"ifMatch":${JSON.stringify(write.ifMatch)}`;
  const key = JSON.stringify(opKey(...keyOf(write.pk)));
  return `{"operationType":"${name}","partitionKey":${key}${id}${body}${ifMatch}}`;
}

function answerOf(reply: Reply): Answer {
  if (reply.headers['content-type'] === 'text/html') throw new Error('an answer that is none of the account');
  const retryAfter = reply.headers['x-ms-retry-after-ms'];
  return {
    status: reply.status,
    text: reply.status < 300 && reply.text !== '' ? reply.text : undefined,
    ...(retryAfter === undefined ? {} : { retryAfterMs: Number(retryAfter) }),
  };
}

export class RawPort implements Port {
  readonly name = 'raw';
  readonly #wire: WireContainer;
  #ranges: readonly PkRange[] = [];

  constructor(wire: WireContainer) {
    this.#wire = wire;
  }

  async write({ kind, id, pk, body, ifMatch }: Write): Promise<Answer> {
    const key = keyOf(pk);
    const headers = { 'if-match': ifMatch };
    const wire = this.#wire;
    const send = {
      create: () => wire.create(body, key),
      upsert: () => wire.upsert(body, key, headers),
      replace: () => wire.replace(id, body, key, headers),
      delete: () => wire.delete(id, key, headers),
    }[kind];
    return answerOf(await answered(send()));
  }

  async patch(
    { id, pk }: { id: string; pk: unknown },
    operations: readonly PatchOperation[],
  ): Promise<Answer> {
    return answerOf(await answered(this.#wire.patch(id, JSON.stringify({ operations }), keyOf(pk))));
  }

  async batch(writes: readonly Write[]): Promise<Answer> {
    const body = `[${writes.map(operationOf).join(',')}]`;
    const reply = await answered(
      this.#wire.account.send('POST', `${this.#wire.path}/docs`, {
        body,
        headers: {
          'x-ms-cosmos-is-batch-request': 'true',
          'x-ms-cosmos-batch-atomic': 'true',
          'x-ms-documentdb-partitionkey': opKey(...keyOf(writes[0]?.pk)),
        },
      }),
    );
    if (reply.status !== 207) return { ...answerOf(reply), text: undefined };
    const failed = parseJson<OperationResult[]>(reply).find((result) => result.statusCode !== 424);
    return { status: failed?.statusCode ?? 0 };
  }

  async bulk(writes: readonly Write[]): Promise<readonly Answer[]> {
    if (this.#ranges.length === 0) this.#ranges = await this.#wire.ranges();
    const range = this.#rangeOf(writes[0]?.pk);
    const here = writes.filter((write) => this.#rangeOf(write.pk) === range);
    const reply = await answered(this.#wire.bulk(range.id, `[${here.map(operationOf).join(',')}]`));
    if (reply.status === 410) this.#ranges = [];
    const results = reply.status < 300 ? parseJson<OperationResult[]>(reply) : undefined;
    if (results?.some((result) => result.statusCode === 410)) this.#ranges = [];
    return writes.map((write) => {
      const index = here.indexOf(write);
      // What belongs elsewhere was not sent; to its writer that is like a refusal.
      if (index < 0) return { status: 410 };
      // A missing result is returned as 0, which no writer expects.
      return { status: results === undefined ? reply.status : (results[index]?.statusCode ?? 0) };
    });
  }

  #rangeOf(pk: unknown): PkRange {
    const epk = effectiveKey('hash-v2', [pk as KeyComponent]);
    const range = this.#ranges.find((each) => each.minInclusive <= epk && epk < each.maxExclusive);
    if (range === undefined) throw new Error(`no range holds ${epk}`);
    return range;
  }
}

/** An answer in good time; silence is an error, like a connection that was cut. */
function answered<T>(work: Promise<T>): Promise<T> {
  return within(work, SILENCE_MS, 'the answer');
}

/** The same as the SDK takes it: it writes the key as text itself. */
function inputOf(write: Write): OperationInput {
  return { ...(JSON.parse(operationOf(write)) as OperationInput), partitionKey: write.pk as string };
}

/**
 * Where a range has split, the SDK's bulk turns to every part of it, also to those that no operation belongs to.
 * Such an empty request is refused, and the call fails with that while the write is still on its way to the other
 * part. Answered here, the write is the only request in flight for a call of one key, and both end together.
 */
const EMPTY_BULK_DONE = {
  on: 'request',
  plugin: async (
    context: RequestContext,
    _node: unknown,
    next: (context: RequestContext) => Promise<Response<unknown>>,
  ): Promise<Response<unknown>> =>
    context.body === '[]' ? { result: [], headers: {}, code: 200 } : next(context),
};

export class SdkPort implements Port, Disposable {
  readonly name = 'sdk';
  readonly #client: CosmosClient;
  readonly #container: Container;

  constructor(account: { endpoint: string; key: string }, names: { database: string; container: string }) {
    // `plugins` is honoured by the SDK although its options type does not have it (fact SDK-1).
    const options = {
      ...account,
      connectionPolicy: { enableEndpointDiscovery: false, requestTimeout: SILENCE_MS },
      plugins: [EMPTY_BULK_DONE],
    };
    this.#client = new CosmosClient(options);
    this.#container = this.#client.database(names.database).container(names.container);
  }

  [Symbol.dispose](): void {
    this.#client.dispose();
  }

  write({ kind, id, pk, body, ifMatch }: Write): Promise<Answer> {
    const { items } = this.#container;
    const item = this.#container.item(id, pk as string);
    const options = ifMatch === undefined ? {} : { accessCondition: { type: 'IfMatch', condition: ifMatch } };
    return statusOf(() => {
      if (kind === 'create') return items.create(JSON.parse(body));
      if (kind === 'upsert') return items.upsert(JSON.parse(body), options);
      return kind === 'replace' ? item.replace(JSON.parse(body), options) : item.delete(options);
    });
  }

  patch({ id, pk }: { id: string; pk: unknown }, operations: readonly PatchOperation[]): Promise<Answer> {
    return statusOf(() => this.#container.item(id, pk as string).patch([...operations]));
  }

  batch(writes: readonly Write[]): Promise<Answer> {
    return statusOf(async () => {
      const operations = writes.map(inputOf);
      const response = await this.#container.items.batch(operations, writes[0]?.pk as string);
      if (response.code !== 207) return { statusCode: response.code ?? 0 };
      return { statusCode: response.result?.find((each) => each.statusCode !== 424)?.statusCode ?? 0 };
    });
  }

  async bulk(writes: readonly Write[]): Promise<readonly Answer[]> {
    // Of one key, so that it is one request at a time: a call that spans ranges fails with the first of them,
    // while those for others go on behind the caller's back and write after that (fact SDK-14).
    const here = writes.filter((write) => Object.is(write.pk, writes[0]?.pk));
    const results = await this.#container.items.bulk(here.map(inputOf));
    return writes.map((write) => {
      const index = here.indexOf(write);
      return { status: index < 0 ? 410 : (results[index]?.statusCode ?? 0) };
    });
  }
}

/** The status that the SDK reports; an error without a status means that no answer came. */
async function statusOf(send: () => Promise<{ statusCode: number }>): Promise<Answer> {
  try {
    // No deadline of ours: the client has one, and would go on retrying behind our back.
    const { statusCode } = await send();
    return { status: statusCode };
  } catch (error) {
    if (error instanceof ErrorResponse && typeof error.code === 'number' && error.code >= 400)
      return { status: error.code };
    throw error;
  }
}

export function etagIn(text: string): string {
  return (JSON.parse(text) as { _etag: string })._etag;
}
