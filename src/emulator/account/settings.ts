/**
 * The account's settings. `PUT /_emulator/account` and `--config` change them, and the data file keeps them.
 *
 * Invariant: a request that changes settings is accepted as a whole or refused as a whole.
 */
import { isObject } from '../json/json-value.ts';
import { Refusal } from '../http/refusal.ts';
import { DEVIATIONS, type Deviation } from './deviations.ts';

/** The strongest first. */
export const CONSISTENCY_LEVELS = [
  'Strong',
  'BoundedStaleness',
  'Session',
  'ConsistentPrefix',
  'Eventual',
] as const;

export interface Settings {
  /** Whether the account records and serves change feeds with all versions and deletes (AVAD). */
  readonly avad: boolean;
  /** How long changes are kept for AVAD feeds. */
  readonly retentionSeconds: number;
  /** Whether tokens of the form that Entra (AAD) issues are accepted. */
  readonly aad: boolean;
  /** The account's default consistency. A request may ask for a weaker one, and not for a stronger one. */
  readonly consistency: (typeof CONSISTENCY_LEVELS)[number];
  readonly ru: 'metered' | 'off';
  readonly numbers: 'verbatim' | 'service';
  /**
   * How a query is answered whose results from several ranges must be merged: `direct` merges them in the emulator;
   * `planned` refuses the query with a plan, as the service does.
   */
  readonly queries: 'direct' | 'planned';
  readonly logicalPartitionLimitBytes: number;
  /** The size beyond which a physical range is split automatically. */
  readonly rangeLimitBytes: number;
  /** How long an expired document stays stored, invisible to clients, before it is purged. */
  readonly ttlPurgeDelayMs: number;
  /** How far back in time a read may see the account if it has no newer session token. */
  readonly replicaLagMs: number;
  /** The largest body of a feed, query or bulk reply. */
  readonly pageBytes: number;
  /** How long it takes to create ranges when throughput is raised beyond what the current ranges can carry. */
  readonly scaleUpMs: number;
  /** How the account differs from what the service is believed to do, to test clients. */
  readonly deviations: readonly Deviation[];
}

const GB = 1024 ** 3;

export const DEFAULT_SETTINGS: Settings = {
  avad: false,
  retentionSeconds: 7 * 24 * 3600,
  aad: false,
  consistency: 'Session',
  ru: 'metered',
  numbers: 'verbatim',
  queries: 'direct',
  logicalPartitionLimitBytes: 20 * GB,
  rangeLimitBytes: 50 * GB,
  ttlPurgeDelayMs: 2_000,
  replicaLagMs: 0,
  pageBytes: 4 * 1024 * 1024,
  scaleUpMs: 1_000,
  deviations: [],
};

const CHOICES: Partial<Record<keyof Settings, readonly string[]>> = {
  consistency: CONSISTENCY_LEVELS,
  ru: ['metered', 'off'],
  numbers: ['verbatim', 'service'],
  queries: ['direct', 'planned'],
};

function checked(name: keyof Settings, value: unknown): unknown {
  const choices = CHOICES[name];
  if (choices !== undefined) {
    if (typeof value === 'string' && choices.includes(value)) return value;
    throw new Refusal(400, `${name} is one of ${choices.join(', ')}.`);
  }
  if (name === 'deviations') {
    const known: readonly unknown[] = DEVIATIONS;
    if (Array.isArray(value) && value.every((one) => known.includes(one))) return value;
    throw new Refusal(400, `deviations is a list of names of ${DEVIATIONS.join(', ')}.`);
  }
  if (typeof DEFAULT_SETTINGS[name] === 'boolean') {
    if (typeof value === 'boolean') return value;
    throw new Refusal(400, `${name} is true or false.`);
  }
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  throw new Refusal(400, `${name} is a number, 0 or more.`);
}

/** Returns the settings with some of them changed. Throws a Refusal for an unknown name or an invalid value. */
export function changeSettings(settings: Settings, changes: unknown): Settings {
  if (!isObject(changes)) throw new Refusal(400, 'The account settings must be a JSON object.');
  const changed: Record<string, unknown> = { ...settings };
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(DEFAULT_SETTINGS, name)) {
      throw new Refusal(
        400,
        `There is no setting ${name}; there are ${Object.keys(DEFAULT_SETTINGS).join(', ')}.`,
      );
    }
    changed[name] = checked(name as keyof Settings, value);
  }
  return changed as unknown as Settings;
}
