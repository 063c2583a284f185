/** One container, spoken to in raw signed requests: facts SDK-3 to SDK-9 as functions. */
import { asHeaderJson, type Headers, parseJson, type RawAccount, type Reply } from './raw.ts';

/** A key as the header carries it: one value per level, `{}` for none. */
export type Key = readonly unknown[];

export const NONE: Key = [{}];

export interface Doc {
  readonly id: string;
  readonly _lsn?: number;
  readonly _ts?: number;
  readonly _etag?: string;
  readonly _rid?: string;
  readonly _self?: string;
  readonly [name: string]: unknown;
}

/** One entry of an all-versions-and-deletes feed. */
export interface Version {
  readonly current?: Doc | null;
  readonly previous?: Doc | null;
  readonly metadata: {
    readonly operationType: 'create' | 'replace' | 'delete';
    readonly lsn: number;
    readonly crts: number;
    readonly previousImageLSN?: number;
    readonly timeToLiveExpired?: boolean;
    readonly id?: string;
    readonly partitionKey?: Readonly<Record<string, unknown>>;
  };
}

export interface PkRange {
  readonly id: string;
  readonly minInclusive: string;
  readonly maxExclusive: string;
  readonly parents?: readonly string[];
}

/** Which part of the container a feed or a query reads. */
export interface Scope {
  readonly rangeId?: string | undefined;
  readonly key?: Key | undefined;
  readonly startEpk?: string | undefined;
  readonly endEpk?: string | undefined;
}

export interface FeedOptions {
  readonly mode?: 'lv' | 'avad';
  readonly max?: number;
  readonly since?: Date;
  readonly sessionToken?: string;
  readonly headers?: Headers;
}

export interface FeedPage<T = Doc> {
  readonly status: number;
  readonly etag: string;
  readonly items: readonly T[];
  readonly reply: Reply;
}

/** Where a feed starts: at the beginning, now, or after a page that was read before. */
export type Position = 'beginning' | 'now' | { readonly etag: string };

export interface Operation {
  readonly operationType: 'Create' | 'Upsert' | 'Read' | 'Replace' | 'Delete' | 'Patch';
  readonly id?: string;
  readonly resourceBody?: unknown;
  readonly partitionKey?: string;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

export interface OperationResult {
  readonly statusCode: number;
  readonly subStatusCode?: number;
  readonly requestCharge: number;
  readonly eTag?: string;
  readonly resourceBody?: Doc;
  readonly retryAfterMilliseconds?: number;
  readonly message?: string;
}

export interface Written {
  readonly id: string;
  readonly key: Key;
}

/** No test reads more pages than this to reach the end of a feed. */
const PAGES_MAX = 500;

export function scopeHeaders(scope: Scope): Headers {
  const part = scope.startEpk !== undefined || scope.endEpk !== undefined;
  return {
    'x-ms-documentdb-partitionkeyrangeid': scope.rangeId,
    'x-ms-documentdb-partitionkey': scope.key === undefined ? undefined : asHeaderJson(scope.key),
    'x-ms-start-epk': scope.startEpk,
    'x-ms-end-epk': scope.endEpk,
    'x-ms-read-key-type': part ? 'EffectivePartitionKeyRange' : undefined,
  };
}

/** The smallest EPK window that holds exactly this key: hex text, same length, one more at its end. */
export function epkWindow(epk: string): { startEpk: string; endEpk: string } {
  const next = (BigInt(`0x${epk}`) + 1n).toString(16).toUpperCase().padStart(epk.length, '0');
  return { startEpk: epk, endEpk: next };
}

export class WireContainer {
  readonly account: RawAccount;
  readonly database: string;
  readonly id: string;
  readonly path: string;

  constructor(account: RawAccount, database: string, id: string) {
    this.account = account;
    this.database = database;
    this.id = id;
    this.path = `/dbs/${encodeURIComponent(database)}/colls/${encodeURIComponent(id)}`;
  }

  /** `DB/COLL`, as the admin routes name it. */
  get adminPath(): string {
    return `${this.database}/${this.id}`;
  }

  itemPath(id: string): string {
    return `${this.path}/docs/${encodeURIComponent(id)}`;
  }

  async ranges(): Promise<PkRange[]> {
    const reply = await this.account.send('GET', `${this.path}/pkranges`);
    if (reply.status !== 200) throw new Error(`pkranges: ${reply.status} ${reply.text}`);
    const { PartitionKeyRanges: ranges } = parseJson<{ PartitionKeyRanges: PkRange[] }>(reply);
    return [...ranges].sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
  }

  /** The only range of a container that was never split. */
  async onlyRange(): Promise<PkRange> {
    const [range, ...others] = await this.ranges();
    if (range === undefined || others.length > 0) throw new Error('expected exactly one range');
    return range;
  }

  create(text: string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.#write('POST', `${this.path}/docs`, key, text, headers);
  }

  upsert(text: string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.create(text, key, { 'x-ms-documentdb-is-upsert': 'true', ...headers });
  }

  replace(id: string, text: string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.#write('PUT', this.itemPath(id), key, text, headers);
  }

  patch(id: string, body: string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.#write('PATCH', this.itemPath(id), key, body, headers);
  }

  delete(id: string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.#write('DELETE', this.itemPath(id), key, undefined, headers);
  }

  read(id: string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.#write('GET', this.itemPath(id), key, undefined, headers);
  }

  /** Creates what a test merely needs to be there. */
  async seed(documents: readonly Doc[], keyOf: (doc: Doc) => Key = keyOfPk): Promise<void> {
    for (const document of documents) {
      const reply = await this.create(JSON.stringify(document), keyOf(document));
      if (reply.status !== 201) throw new Error(`seeding ${document.id}: ${reply.status} ${reply.text}`);
    }
  }

  /** A transactional batch within one logical key; the body may be text. */
  batch(operations: readonly Operation[] | string, key: Key, headers: Headers = {}): Promise<Reply> {
    return this.account.send('POST', `${this.path}/docs`, {
      body: typeof operations === 'string' ? operations : JSON.stringify(operations),
      headers: {
        'x-ms-cosmos-is-batch-request': 'true',
        'x-ms-cosmos-batch-atomic': 'true',
        'x-ms-documentdb-partitionkey': asHeaderJson(key),
        ...headers,
      },
    });
  }

  /** A bulk request to one physical range; the body may be text. */
  bulk(rangeId: string, body: readonly Operation[] | string, headers: Headers = {}): Promise<Reply> {
    return this.account.send('POST', `${this.path}/docs`, {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: {
        'x-ms-cosmos-is-batch-request': 'true',
        'x-ms-cosmos-batch-atomic': 'false',
        'x-ms-cosmos-batch-continue-on-error': 'true',
        'x-ms-documentdb-partitionkeyrangeid': rangeId,
        ...headers,
      },
    });
  }

  async feed<T = Doc>(scope: Scope, from: Position, options: FeedOptions = {}): Promise<FeedPage<T>> {
    const reply = await this.readFeed(scope, from, options);
    if (reply.status !== 200 && reply.status !== 304) {
      throw new Error(`feed: ${reply.status}/${reply.headers['x-ms-substatus']?.toString()} ${reply.text}`);
    }
    const etag = reply.headers.etag;
    if (etag === undefined) throw new Error('a feed page without an etag');
    const items = reply.status === 200 ? parseJson<{ Documents: T[] }>(reply).Documents : [];
    return { status: reply.status, etag, items, reply };
  }

  /** One feed request, whatever its answer. */
  readFeed(scope: Scope, from: Position, options: FeedOptions = {}): Promise<Reply> {
    const position = from === 'beginning' ? undefined : from === 'now' ? '*' : from.etag;
    const avad = options.mode === 'avad';
    return this.account.send('GET', `${this.path}/docs`, {
      headers: {
        'a-im': avad ? 'Full-Fidelity Feed' : 'Incremental Feed',
        'x-ms-cosmos-changefeed-wire-format-version': avad ? '2021-09-15' : undefined,
        'if-none-match': position,
        'if-modified-since': options.since?.toUTCString(),
        'x-ms-max-item-count': options.max?.toString(),
        'x-ms-session-token': options.sessionToken,
        'x-ms-consistency-level': options.sessionToken === undefined ? undefined : 'Session',
        ...scopeHeaders(scope),
        ...options.headers,
      },
    });
  }

  /** Reads until the feed says 304. */
  async drain<T = Doc>(
    scope: Scope,
    from: Position,
    options: FeedOptions = {},
  ): Promise<{ items: T[]; pages: FeedPage<T>[]; etag: string }> {
    const pages: FeedPage<T>[] = [];
    const items: T[] = [];
    let position = from;
    while (pages.length < PAGES_MAX) {
      const page = await this.feed<T>(scope, position, options);
      if (page.status === 304) return { items, pages, etag: page.etag };
      pages.push(page);
      items.push(...page.items);
      position = { etag: page.etag };
    }
    throw new Error(`the feed did not end within ${PAGES_MAX} pages`);
  }

  query(query: string, scope: Scope = {}, headers: Headers = {}): Promise<Reply> {
    return this.account.send('POST', `${this.path}/docs`, {
      body: JSON.stringify({ query, parameters: [] }),
      headers: {
        'content-type': 'application/query+json',
        'x-ms-documentdb-isquery': 'true',
        'x-ms-documentdb-query-enablecrosspartition': 'true',
        ...scopeHeaders(scope),
        ...headers,
      },
    });
  }

  #write(method: string, path: string, key: Key, body: string | undefined, headers: Headers): Promise<Reply> {
    return this.account.send(method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { 'x-ms-documentdb-partitionkey': asHeaderJson(key), ...headers },
    });
  }
}

/** The key of a document in a container on /pk. */
export function keyOfPk(document: Doc): Key {
  return 'pk' in document ? [document['pk']] : NONE;
}

/** The key text of an operation. */
export function opKey(...levels: readonly unknown[]): string {
  return asHeaderJson(levels);
}
