/**
 * Reads what a container is: its identity, key, settings, throughput and size, and the facts of its account that
 * matter for a migration. Invariant: nothing here writes.
 */
import type { RequestOptions } from '@azure/cosmos';
import { NotReadyError } from '../../lib/errors.ts';
import { keyKindOf, type KeyKind } from '../../epk/effective-key.ts';
import type { Account } from '../account/client.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import { control, isAbsence, isForbidden, type ControlCall } from '../account/control-plane.ts';
import type { Trouble } from '../transport/trouble.ts';
import { describeAccount } from '../account/describe.ts';
import { readOffer, readThroughput, type Throughput } from './throughput.ts';

const SETTINGS = [
  'indexingPolicy',
  'uniqueKeyPolicy',
  'computedProperties',
  'conflictResolutionPolicy',
  'geospatialConfig',
  'vectorEmbeddingPolicy',
  'fullTextPolicy',
  'clientEncryptionPolicy',
] as const;

/** The settings that a clone takes over, as the service sent them; null for those that the container lacks. */
export type ContainerSettings = { readonly [K in (typeof SETTINGS)[number]]: unknown };

export interface AccountFacts {
  /** The account's name, the same behind each of its endpoints; null if the caller may not read it. */
  readonly id: string | null;
  /** Whether more than one region accepts writes; null if the caller may not read that. */
  readonly multiWrite: boolean | null;
}

export interface ContainerFacts {
  readonly name: ContainerName;
  readonly account: AccountFacts;
  readonly rid: string;
  /** ETag of the definition. It changes when the definition is edited or the container is created again. */
  readonly etag: string;
  readonly keyPaths: readonly string[];
  readonly keyKind: KeyKind;
  /** Whether the container is older than partition keys. Its documents then lack the key property. */
  readonly hasSystemKey: boolean;
  /** Default time to live in seconds; -1: documents expire only by their own `ttl`; null: documents never expire. */
  readonly defaultTtl: number | null;
  readonly settings: ContainerSettings;
  /** Time to live in the analytical store in seconds; -1: for ever; null: the container has no analytical store. */
  readonly analyticalTtl: number | null;
  readonly changeFeedPolicy: unknown;
  /** The policy that masks documents for identities without the right to see them. */
  readonly dataMaskingPolicy: unknown;
  readonly throughput: Throughput;
  /** The service's own count, which lags; null if the service does not report it. */
  readonly documentCount: number | null;
  readonly sizeBytes: number | null;
  /** The whole definition, as the service sent it. */
  readonly definition: Readonly<Record<string, unknown>>;
}

/** Reads a container; undefined if the container or its database does not exist. */
export async function readContainer(
  account: Account,
  name: ContainerName,
  call: ControlCall,
): Promise<ContainerFacts | undefined> {
  const container = account.client.database(name.database).container(name.container);
  const work = async (options: RequestOptions): Promise<unknown> =>
    (await container.read({ ...options, populateQuotaInfo: true })).resource;
  const seen = await control(account, call, work, isAbsence);
  if (seen === undefined) return undefined;
  const definition = asObject(seen.value);
  const self = textAt(definition, '_self');
  const [throughput, facts] = await Promise.all([
    readThroughput(account, { container: self, database: databaseLink(self) }, freshly(call)),
    readAccount(account, freshly(call)),
  ]);
  const usage = usageOf(seen.header('x-ms-resource-usage'));
  const key = asObject(definition['partitionKey']);
  const keyPaths = textsAt(key, 'paths');
  const { kind, version } = key;
  return {
    name,
    account: facts,
    rid: textAt(definition, '_rid'),
    etag: textAt(definition, '_etag'),
    keyPaths,
    keyKind: keyKindOf({
      paths: keyPaths,
      ...(typeof kind === 'string' ? { kind } : {}),
      ...(typeof version === 'number' ? { version } : {}),
    }),
    hasSystemKey: key['systemKey'] === true,
    defaultTtl: numberOrNull(definition['defaultTtl']),
    settings: settingsOf(definition),
    analyticalTtl: numberOrNull(definition['analyticalStorageTtl']),
    changeFeedPolicy: definition['changeFeedPolicy'] ?? null,
    dataMaskingPolicy: definition['dataMaskingPolicy'] ?? null,
    throughput,
    documentCount: usage.documentsCount,
    sizeBytes: usage.sizeBytes,
    definition,
  };
}

/** Returns the names of the containers in a database; none if it does not exist, or may not be listed. */
export async function listContainers(
  account: Account,
  database: string,
  call: ControlCall,
): Promise<readonly string[]> {
  const { containers } = account.client.database(database);
  const work = async (options: RequestOptions): Promise<readonly string[]> =>
    (await containers.readAll(options).fetchAll()).resources.map(({ id }) => id);
  const isNoList = (trouble: Trouble): boolean => isAbsence(trouble) || isForbidden(trouble);
  return (await control(account, call, work, isNoList))?.value ?? [];
}

/** Reads a database and the throughput that its containers share; undefined if the database does not exist. */
export async function readDatabase(
  account: Account,
  name: string,
  call: ControlCall,
): Promise<{ readonly shared: Throughput | undefined } | undefined> {
  const work = async (options: RequestOptions): Promise<unknown> =>
    (await account.client.database(name).read(options)).resource;
  const seen = await control(account, call, work, isAbsence);
  if (seen === undefined) return undefined;
  return { shared: await readOffer(account, textAt(asObject(seen.value), '_self'), freshly(call)) };
}

/** Reads the facts of an account that matter for a migration. */
export async function readAccount(account: Account, call: ControlCall): Promise<AccountFacts> {
  const { id, multiWrite } = (await describeAccount(account, call)) ?? { id: null, multiWrite: null };
  return { id, multiWrite };
}

/** Returns the call with a patience of its own: requests that run together count their trouble separately. */
function freshly({ signal, patience }: ControlCall): ControlCall {
  return { signal, patience: patience.fresh() };
}

/** Returns `dbs/<rid>/` of `dbs/<rid>/colls/<rid>/`. */
function databaseLink(self: string): string {
  return self.split('/').slice(0, 2).join('/') + '/';
}

function settingsOf(definition: Readonly<Record<string, unknown>>): ContainerSettings {
  const settings = SETTINGS.map((name) => [name, definition[name] ?? null] as const);
  // The cast is safe: SETTINGS has every name of the type, so the object is complete.
  return Object.fromEntries(settings) as ContainerSettings;
}

/** Reads a header like `documentsCount=12;documentsSize=34;...`, with sizes in KB; -1 or no value: unknown. */
function usageOf(header: string | undefined): {
  readonly documentsCount: number | null;
  readonly sizeBytes: number | null;
} {
  const values = new Map<string, number>();
  for (const pair of (header ?? '').split(';')) {
    const [name = '', value = ''] = pair.split('=');
    if (value !== '' && Number(value) >= 0) values.set(name, Number(value));
  }
  const kb = values.get('documentsSize') ?? values.get('collectionSize');
  return {
    documentsCount: values.get('documentsCount') ?? null,
    sizeBytes: kb === undefined ? null : kb * 1024,
  };
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function textAt(object: Readonly<Record<string, unknown>>, name: string): string {
  const value = object[name];
  if (typeof value === 'string' && value !== '') return value;
  throw notDescribed(name);
}

function textsAt(object: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = object[name];
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')) return value;
  throw notDescribed(name);
}

function notDescribed(name: string): NotReadyError {
  return new NotReadyError(`the service describes the container without ${name}`, {
    why: 'it may be a container without a partition key, or the server may not be Cosmos DB',
    hint: 'check the endpoint and the name of the container',
  });
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
