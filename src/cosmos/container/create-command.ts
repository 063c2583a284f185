/** The Azure CLI command that creates a container, for an operator whose identity may not create it through cosmig. */
import { isDeepStrictEqual } from 'node:util';
import { memberOf } from '../../lib/json/json.ts';
import type { ContainerName } from '../transport/container-requests.ts';

/** The settings for which the CLI has a flag, and their flags. */
const FLAGS: Readonly<Record<string, string>> = {
  defaultTtl: '--ttl',
  indexingPolicy: '--idx',
  uniqueKeyPolicy: '--unique-key-policy',
  conflictResolutionPolicy: '--conflict-resolution-policy',
  clientEncryptionPolicy: '--cep',
  vectorEmbeddingPolicy: '--vector-embeddings',
  fullTextPolicy: '--full-text-policy',
  analyticalStorageTtl: '--analytical-storage-ttl',
};
/** Settings that every container has by default, so the command omits them. */
const USUAL: Readonly<Record<string, unknown>> = { geospatialConfig: { type: 'Geography' } };
const API_VERSION = '2024-11-15';

export interface CreationParts {
  readonly account: string;
  readonly name: ContainerName;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly throughput: { readonly kind: string; readonly ru?: number; readonly ruMax?: number };
}

/** Returns the command as one line for a POSIX shell. The operator has to replace GROUP. */
export function creationCommand(parts: CreationParts): string {
  const { account, name, definition, throughput } = parts;
  const { id, partitionKey, ...settings } = definition;
  const paths = pathsOf(partitionKey);
  const rest = Object.entries(settings).filter(([field, value]) => !isDeepStrictEqual(USUAL[field], value));
  // The CLI has no flags for hierarchical keys and some settings, but `az rest` accepts all of them.
  if (paths.length !== 1 || rest.some(([field]) => FLAGS[field] === undefined)) return restCommand(parts);
  const words = [
    'az cosmosdb sql container create --resource-group GROUP',
    `--account-name ${quoted(account)} --database-name ${quoted(name.database)}`,
    `--name ${quoted(typeof id === 'string' ? id : name.container)}`,
    `--partition-key-path ${quoted(paths[0] ?? '')} --partition-key-version 2`,
    ...rest.map(([field, value]) => `${FLAGS[field] ?? ''} ${quoted(textOf(value))}`),
    ...(throughput.ru === undefined ? [] : [`--throughput ${throughput.ru}`]),
    ...(throughput.ruMax === undefined ? [] : [`--max-throughput ${throughput.ruMax}`]),
  ];
  return words.join(' ');
}

function restCommand({ account, name, definition, throughput }: CreationParts): string {
  const { ru, ruMax } = throughput;
  const options = {
    ...(ru === undefined ? {} : { throughput: ru }),
    ...(ruMax === undefined ? {} : { autoscaleSettings: { maxThroughput: ruMax } }),
  };
  const [database, container] = [name.database, name.container].map(encodeURIComponent);
  // The CLI replaces {subscriptionId} by itself.
  const url = `/subscriptions/{subscriptionId}/resourceGroups/GROUP/providers/Microsoft.DocumentDB/databaseAccounts/${account}/sqlDatabases/${database}/containers/${container}?api-version=${API_VERSION}`;
  const body = { properties: { resource: definition, options } };
  return `az rest --method put --url ${quoted(url)} --body ${quoted(JSON.stringify(body))}`;
}

function pathsOf(partitionKey: unknown): readonly string[] {
  const paths = memberOf(partitionKey, 'paths');
  return Array.isArray(paths) ? paths.map(String) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the text quoted as one word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
