/**
 * Everything an operator can ask for, as one table. Flags, environment names, keys of the config file, help and
 * what is pinned between runs all derive from it; what a value may be is told in values.ts and check.ts.
 */
import type { RawOption, SecretOption } from '../cli/command.ts';
import { must } from '../lib/assert.ts';
import { flagOf } from '../lib/flags.ts';

/** One row: a value that somebody may give, and how. */
export interface Field {
  /** `switch` is there or not; `secret` has a variable and neither a flag nor a key in a file. */
  readonly type: 'text' | 'list' | 'choice' | 'number' | 'switch' | 'secret';
  /** Begins in lower case, ends without a full stop. */
  readonly help: string;
  /** A value that works, for hints; for a number its default does. */
  readonly example: string;
  readonly env?: string;
  readonly choices?: readonly string[];
  /** The value when nobody says anything, as text. */
  readonly default?: string;
  /** True when it may not change between two runs of one migration. */
  readonly pinned: boolean;
}

/** See the module. The name of a row is its key in a config file; its flag is the same in kebab case. */
export const FIELDS = {
  source: {
    type: 'text',
    help: 'DB/CONTAINER to read from',
    example: 'shop/orders',
    env: 'COSMIG_SOURCE',
    pinned: true,
  },
  target: {
    type: 'text',
    help: 'DB/CONTAINER to write to',
    example: 'shop/orders-by-tenant',
    env: 'COSMIG_TARGET',
    pinned: true,
  },
  sourceEndpoint: {
    type: 'text',
    help: 'URL of the source account; Entra ID signs in unless there is a key',
    example: 'https://myaccount.documents.azure.com',
    env: 'COSMIG_SOURCE_ENDPOINT',
    pinned: true,
  },
  targetEndpoint: {
    type: 'text',
    help: "URL of the target account; without it the source's account",
    example: 'https://myaccount.documents.azure.com',
    env: 'COSMIG_TARGET_ENDPOINT',
    pinned: true,
  },
  sourceKey: {
    type: 'secret',
    help: 'account key of the source',
    example: 'the account key',
    env: 'COSMIG_SOURCE_KEY',
    pinned: false,
  },
  sourceConnectionString: {
    type: 'secret',
    help: 'endpoint and key of the source in one',
    example: 'AccountEndpoint=https://myaccount.documents.azure.com/;AccountKey=...',
    env: 'COSMIG_SOURCE_CONNECTION_STRING',
    pinned: false,
  },
  targetKey: {
    type: 'secret',
    help: 'account key of the target',
    example: 'the account key',
    env: 'COSMIG_TARGET_KEY',
    pinned: false,
  },
  targetConnectionString: {
    type: 'secret',
    help: 'endpoint and key of the target in one',
    example: 'AccountEndpoint=https://myaccount.documents.azure.com/;AccountKey=...',
    env: 'COSMIG_TARGET_CONNECTION_STRING',
    pinned: false,
  },
  partitionKey: {
    type: 'list',
    help: 'key path of the target; repeat it for a hierarchical key, three at most',
    example: '/tenantId',
    env: 'COSMIG_PARTITION_KEY',
    pinned: true,
  },
  derive: {
    type: 'list',
    help: 'property to write into each document, as /path=TEMPLATE; repeatable; the key unless --partition-key says otherwise',
    example: '/pk={tenantId}-{createdAt|month}',
    pinned: true,
  },
  missingKey: {
    type: 'choice',
    help: 'what becomes of documents without the key value',
    example: 'keep',
    choices: ['keep', 'dead-letter', 'fail'],
    default: 'keep',
    pinned: true,
  },
  onCollision: {
    type: 'choice',
    help: 'what becomes of the second document for one key and id',
    example: 'dead-letter',
    choices: ['dead-letter', 'fail'],
    default: 'dead-letter',
    pinned: true,
  },
  deletes: {
    type: 'text',
    help: 'how deletes are found: auto, avad, marker:/path or reconcile',
    example: 'marker:/isDeleted',
    default: 'auto',
    pinned: true,
  },
  ttl: {
    type: 'choice',
    help: 'the countdown of expiring documents begins anew at the copy, or ttl is rewritten to what remains',
    example: 'restart',
    choices: ['restart', 'remaining'],
    default: 'restart',
    pinned: true,
  },
  keepSourceKeyAs: {
    type: 'text',
    help: 'path that keeps the old key value when a derived path replaces it',
    example: '/oldTenantId',
    pinned: true,
  },
  sourceRu: {
    type: 'text',
    help: 'RU/s to take from the source, N or N% of what it has',
    example: '25%',
    pinned: false,
  },
  targetRu: {
    type: 'text',
    help: 'RU/s to take from the target, N or N% of what it has',
    example: '80%',
    pinned: false,
  },
  createTarget: {
    type: 'switch',
    help: "create the target with the source's settings and the new key; needs an account key",
    example: 'true',
    pinned: false,
  },
  targetThroughput: {
    type: 'number',
    help: 'RU/s of the created target, in steps of 100 from 400',
    example: '4000',
    pinned: false,
  },
  targetAutoscale: {
    type: 'number',
    help: 'highest RU/s of the created target with autoscale, in steps of 1000 from 1000',
    example: '10000',
    pinned: false,
  },
  yes: {
    type: 'switch',
    help: 'go on although the preflight sample warns',
    example: 'true',
    pinned: false,
  },
  ledger: {
    type: 'text',
    help: 'file that remembers the migration; without it .cosmig/<source>--<target>.db',
    example: '.cosmig/orders.db',
    env: 'COSMIG_LEDGER',
    pinned: false,
  },
  for: {
    type: 'text',
    help: 'time budget: end in good order within this long, like 90s, 30m or 1h30m',
    example: '2h',
    pinned: false,
  },
  until: {
    type: 'text',
    help: 'time budget: end in good order by the next HH:MM of this machine',
    example: '05:30',
    pinned: false,
  },
  maxDeadLetters: {
    type: 'number',
    help: 'stop beyond this many documents that cannot be moved',
    example: '10000',
    default: '10000',
    pinned: false,
  },
  skipIfRunning: {
    type: 'switch',
    help: 'end well when another run has the ledger, instead of with exit code 3',
    example: 'true',
    pinned: false,
  },
} as const satisfies Readonly<Record<string, Field>>;

/** What a value is called: in a config file, and everywhere in the code. */
export type FieldName = keyof typeof FIELDS;

/** The fields that may not change between two runs. */
export type PinnedName = {
  [K in FieldName]: (typeof FIELDS)[K]['pinned'] extends true ? K : never;
}[FieldName];

/** The fields that come by variable only. */
export type SecretName = {
  [K in FieldName]: (typeof FIELDS)[K]['type'] extends 'secret' ? K : never;
}[FieldName];

/** The row, without the narrow type of what is written there. */
export function fieldOf(name: FieldName): Field {
  return FIELDS[name];
}

export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[];

export const CONFIG_VARIABLE = 'COSMIG_CONFIG';

/** The option table of the whole spec, for a command to spread into its own. */
export const SPEC_OPTIONS = Object.fromEntries([
  ['config', configOption()],
  ...FIELD_NAMES.map((name) => [name, optionOf(name)] as const),
]) as { readonly config: RawOption } & {
  // Named by the same table the entries are made from.
  readonly [K in FieldName]: K extends SecretName ? SecretOption : RawOption;
};

function configOption(): RawOption {
  const help =
    'YAML or JSON file with the same values by their names in camelCase; cosmig.config.yaml is found by itself';
  return { type: 'raw', help, env: CONFIG_VARIABLE, alias: 'c' };
}

function optionOf(name: FieldName): RawOption | SecretOption {
  const { type, env, choices, default: fallback } = fieldOf(name);
  const help = choices === undefined ? fieldOf(name).help : `${fieldOf(name).help}: ${choices.join(', ')}`;
  if (type === 'secret') return { type, help, env: must(env, 'a secret comes by a variable') };
  return {
    type: 'raw',
    help,
    ...(env === undefined ? {} : { env }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(type === 'switch' ? { switch: true } : {}),
  };
}

/** The flag of a field, as it is typed. */
export function flagOfField(name: FieldName): string {
  return `--${flagOf(name)}`;
}
