/**
 * Everything about a migration that an operator can set, as one table. Flags, environment variables, keys of the
 * config file, help, the reference, and the settings that are pinned between runs derive from it. values.ts and
 * check.ts decide which values are valid.
 */
import type { RawOption, SecretOption, Section } from '../cli/command.ts';
import { must } from '../lib/assert.ts';
import { flagOf } from '../lib/flags.ts';

/** One row of the table: a value that the operator may give, and how. */
export interface Field {
  /**
   * The kind of value. A `switch` is present or absent. A `secret` has an environment variable, but neither a flag
   * nor a key in the config file.
   */
  readonly type: 'text' | 'list' | 'choice' | 'number' | 'switch' | 'secret';
  /** The purpose of the field, for help; begins in lower case and ends without a full stop. */
  readonly help: string;
  /** The placeholder that help shows for the value. */
  readonly value?: string;
  /** A valid value, for hints. Without an example, hints show the default, or `true`. */
  readonly example?: string;
  readonly env?: string;
  readonly choices?: readonly string[];
  /** Values of a text that shell completion offers. One that ends with a slash is the beginning of a value. */
  readonly offered?: readonly string[];
  /** The text of the value that applies when the operator gives none. */
  readonly default?: string;
  /** Set when the value must be the same in every run of one migration. */
  readonly pinned?: true;
}

/** All fields by name. The name is the key in a config file, and the flag is the name in kebab case. */
export const FIELDS = {
  source: {
    type: 'text',
    help: 'container to read from',
    value: 'DB/CONTAINER',
    example: 'shop/orders',
    env: 'COSMIG_SOURCE',
    pinned: true,
  },
  target: {
    type: 'text',
    help: 'container to write to',
    value: 'DB/CONTAINER',
    example: 'shop/orders-by-customer',
    env: 'COSMIG_TARGET',
    pinned: true,
  },
  sourceEndpoint: {
    type: 'text',
    help: 'URL of the source account; without an account key, Entra ID signs in',
    value: 'URL',
    example: 'https://myaccount.documents.azure.com',
    env: 'COSMIG_SOURCE_ENDPOINT',
    pinned: true,
  },
  targetEndpoint: {
    type: 'text',
    help: "URL of the target account, by default the source's account",
    value: 'URL',
    example: 'https://myaccount.documents.azure.com',
    env: 'COSMIG_TARGET_ENDPOINT',
    pinned: true,
  },
  sourceKey: {
    type: 'secret',
    help: 'account key of the source',
    example: 'the account key',
    env: 'COSMIG_SOURCE_KEY',
  },
  sourceConnectionString: {
    type: 'secret',
    help: 'endpoint and key of the source in one',
    example: 'AccountEndpoint=https://myaccount.documents.azure.com/;AccountKey=...',
    env: 'COSMIG_SOURCE_CONNECTION_STRING',
  },
  targetKey: {
    type: 'secret',
    help: 'account key of the target',
    example: 'the account key',
    env: 'COSMIG_TARGET_KEY',
  },
  targetConnectionString: {
    type: 'secret',
    help: 'endpoint and key of the target in one',
    example: 'AccountEndpoint=https://myaccount.documents.azure.com/;AccountKey=...',
    env: 'COSMIG_TARGET_CONNECTION_STRING',
  },
  partitionKey: {
    type: 'list',
    help: 'key path of the target; repeat for a hierarchical key, up to three',
    value: 'PATH',
    example: '/customerId',
    env: 'COSMIG_PARTITION_KEY',
    pinned: true,
  },
  derive: {
    type: 'list',
    help: 'property to write into each document, as /path=TEMPLATE; repeatable; is the key unless --partition-key is given',
    value: 'TEMPLATE',
    example: '/pk={tenantId}-{createdAt|month}',
    pinned: true,
  },
  missingKey: {
    type: 'choice',
    help: 'documents that lack the key value: keep moves them without one, dead-letter sets them aside, fail stops',
    choices: ['keep', 'dead-letter', 'fail'],
    default: 'keep',
    pinned: true,
  },
  onCollision: {
    type: 'choice',
    help: 'two documents that get the same key and id: dead-letter sets one aside, fail stops',
    choices: ['dead-letter', 'fail'],
    default: 'dead-letter',
    pinned: true,
  },
  deletes: {
    type: 'text',
    help: 'how deletes are found: avad, from the feed of all versions and deletes; marker:/path, from a property that marks them; reconcile, by comparing both sides; auto, avad if the account has that feed, otherwise reconcile',
    value: 'MODE',
    offered: ['auto', 'avad', 'reconcile', 'marker:/'],
    example: 'marker:/isDeleted',
    default: 'auto',
    pinned: true,
  },
  ttl: {
    type: 'choice',
    help: 'when a copy expires: restart counts its ttl from the copy, remaining rewrites ttl to keep the original expiry',
    choices: ['restart', 'remaining'],
    default: 'restart',
    pinned: true,
  },
  keepSourceKeyAs: {
    type: 'text',
    help: 'path that keeps the old key value when a derived path replaces it',
    value: 'PATH',
    example: '/oldTenantId',
    pinned: true,
  },
  sourceRu: {
    type: 'text',
    help: 'RU/s to use on the source: N, or N% of what it has',
    value: 'RU',
    example: '25%',
  },
  targetRu: {
    type: 'text',
    help: 'RU/s to use on the target: N, or N% of what it has',
    value: 'RU',
    example: '80%',
  },
  createTarget: {
    type: 'switch',
    help: "let cosmig copy create the target, with the source's settings and the new key; needs an account key",
  },
  targetThroughput: {
    type: 'number',
    help: 'RU/s of the created target, in steps of 100 from 400',
    value: 'RU',
    example: '4000',
  },
  targetAutoscale: {
    type: 'number',
    help: 'maximum RU/s of the created target with autoscale, in steps of 1000 from 1000',
    value: 'RU',
    example: '10000',
  },
  yes: {
    type: 'switch',
    help: 'proceed despite preflight warnings',
  },
  ledger: {
    type: 'text',
    help: 'file that records the migration, by default .cosmig/<source>--<target>.db',
    value: 'FILE',
    example: '.cosmig/orders.db',
    env: 'COSMIG_LEDGER',
  },
  keepSourceFor: {
    type: 'text',
    help: 'make a way back: after the commit, cosmig reverse can keep the source up to date for this long, and cosmig rollback can return to it',
    value: 'TIME',
    example: '7d',
  },
  for: {
    type: 'text',
    help: 'time budget: stop cleanly within this time, for example 90s, 30m or 1h30m',
    value: 'TIME',
    example: '2h',
  },
  until: {
    type: 'text',
    help: 'time budget: stop cleanly by the next HH:MM, in the time zone of this machine',
    value: 'HH:MM',
    example: '05:30',
  },
  maxDeadLetters: {
    type: 'number',
    help: 'stop when more documents than this cannot be moved',
    value: 'N',
    default: '10000',
  },
  skipIfRunning: {
    type: 'switch',
    help: 'exit 0 instead of 3 if another run is using the ledger',
  },
  metricsFile: {
    type: 'text',
    help: 'keep the figures of the migration in this file, for the textfile collector of the Prometheus node exporter',
    value: 'FILE',
    example: '/var/lib/prometheus/node-exporter/orders.prom',
    env: 'COSMIG_METRICS_FILE',
  },
} as const satisfies Readonly<Record<string, Field>>;

/** The name of a field, in a config file and everywhere in the code. */
export type FieldName = keyof typeof FIELDS;

/** The names of the fields whose values must stay the same between runs. */
export type PinnedName = {
  [K in FieldName]: (typeof FIELDS)[K] extends { readonly pinned: true } ? K : never;
}[FieldName];

/** The names of the fields that are read only from an environment variable. */
export type SecretName = {
  [K in FieldName]: (typeof FIELDS)[K]['type'] extends 'secret' ? K : never;
}[FieldName];

/** Returns the row of a field with its general type, without the literal types of its values. */
export function fieldOf(name: FieldName): Field {
  return FIELDS[name];
}

export function exampleOf(name: FieldName): string {
  const { example, default: standard } = fieldOf(name);
  return example ?? standard ?? 'true';
}

export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[];

export const CONFIG_VARIABLE = 'COSMIG_CONFIG';

type Options<K extends FieldName> = {
  readonly [P in K]: P extends SecretName ? SecretOption : RawOption;
};

/**
 * Returns the options of some fields, for a section of help. Without a section, help lists these options together
 * with those of the command itself.
 */
function optionsOf<const K extends FieldName>(names: readonly K[], section?: Section): Options<K> {
  return Object.fromEntries(names.map((name) => [name, optionOf(name, section)])) as Options<K>;
}

function optionOf(name: FieldName, section: Section | undefined): RawOption | SecretOption {
  const { type, help, value, env, choices, offered = choices, default: fallback } = fieldOf(name);
  if (type === 'secret') return { type, help, env: must(env, 'a secret is given by a variable') };
  return {
    type: 'raw',
    help,
    ...(value === undefined && choices === undefined ? {} : { value: value ?? choices?.join('|') ?? '' }),
    ...(section === undefined ? {} : { section }),
    ...(env === undefined ? {} : { env }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(type === 'switch' ? { switch: true } : {}),
    ...(type === 'list' ? { repeats: true } : {}),
    ...(offered === undefined ? {} : { offered }),
  };
}

const CONFIG_OPTION: RawOption = {
  type: 'raw',
  help: 'YAML or JSON file with these settings by their camelCase names; cosmig.config.yaml is read automatically if present',
  value: 'FILE',
  section: 'Migration',
  env: CONFIG_VARIABLE,
  alias: 'c',
};

const KEY_NAMES = ['partitionKey', 'derive', 'missingKey'] as const;
const LEDGER_NAMES = ['source', 'target', 'ledger'] as const;

/** The options that define a key, for `cosmig key`, which opens no migration. */
export const KEY_OPTIONS = optionsOf(KEY_NAMES);

/** The options that identify a ledger, for commands that need only the ledger. */
export const LEDGER_OPTIONS = { config: CONFIG_OPTION, ...optionsOf(LEDGER_NAMES, 'Migration') };

/** The options for reaching the source, for commands that read everything else from the ledger. */
export const SOURCE_OPTIONS = optionsOf(
  ['sourceEndpoint', 'sourceKey', 'sourceConnectionString'],
  'Migration',
);

/** The options of a plan, which needs only the source. */
export const PLAN_OPTIONS = {
  ...optionsOf(['for', 'until'], 'Run'),
  ...optionsOf(['sourceRu'], 'Load'),
  config: CONFIG_OPTION,
  ...optionsOf(['source', 'ledger'], 'Migration'),
  ...SOURCE_OPTIONS,
};

/**
 * The options that identify a migration, and the RU/s that may be used. Every command that opens a migration takes all
 * of these options, since the ledger refuses changed settings.
 */
export const MIGRATION_OPTIONS = {
  config: CONFIG_OPTION,
  ...optionsOf(
    [
      ...LEDGER_NAMES,
      'sourceEndpoint',
      'targetEndpoint',
      'sourceKey',
      'sourceConnectionString',
      'targetKey',
      'targetConnectionString',
      ...KEY_NAMES,
      'onCollision',
      'deletes',
      'ttl',
      'keepSourceKeyAs',
    ],
    'Migration',
  ),
  ...optionsOf(['sourceRu', 'targetRu'], 'Load'),
};

/**
 * The options of commands that run a migration: those that identify the migration, and those that say when a run ends
 * and whether it begins.
 */
export const RUN_OPTIONS = {
  ...optionsOf(['for', 'until', 'skipIfRunning', 'maxDeadLetters', 'metricsFile'], 'Run'),
  ...MIGRATION_OPTIONS,
};

/** The option of a cutover that makes a way back. */
export const WAY_BACK_OPTIONS = optionsOf(['keepSourceFor']);

/** The options that say how a missing target is created. */
export const TARGET_OPTIONS = optionsOf(['createTarget', 'targetThroughput', 'targetAutoscale']);

/** The options for creating a target, and for copying despite warnings. */
export const CREATE_OPTIONS = { ...TARGET_OPTIONS, ...optionsOf(['yes']) };

/** All options of a spec. They define the type of what an operator may give, and the reference lists them. */
export const SPEC_OPTIONS = { config: CONFIG_OPTION, ...optionsOf(FIELD_NAMES) };

/** Returns the flag of a field, as the operator types it. */
export function flagOfField(name: FieldName): string {
  return `--${flagOf(name)}`;
}
