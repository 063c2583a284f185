/**
 * The account's settings. `PUT /_emulator/account` and `--config` change them, and the data file keeps them.
 *
 * Invariant: a request that changes settings is accepted as a whole or refused as a whole.
 */
import { isObject } from '../json/json-value.ts';
import { badRequest } from '../http/refusal.ts';
import { DEVIATIONS } from './deviations.ts';

/** The consistency levels, strongest first. */
export const CONSISTENCY_LEVELS = [
  'Strong',
  'BoundedStaleness',
  'Session',
  'ConsistentPrefix',
  'Eventual',
] as const;

/** A setting: its initial value, and which values it accepts. */
interface Setting<T> {
  readonly initial: T;
  readonly rule: string;
  readonly accepts: (value: unknown) => boolean;
}

function flag(initial: boolean): Setting<boolean> {
  return { initial, rule: 'must be true or false', accepts: (value) => typeof value === 'boolean' };
}

function amount(initial: number): Setting<number> {
  const accepts = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0;
  return { initial, rule: 'must be a number, 0 or more', accepts };
}

function choice<const T extends string>(initial: T, choices: readonly T[]): Setting<T> {
  const accepts = (value: unknown): boolean => choices.includes(value as T);
  return { initial, rule: `must be one of ${choices.join(', ')}`, accepts };
}

function names<const T extends string>(known: readonly T[]): Setting<readonly T[]> {
  const accepts = (value: unknown): boolean =>
    Array.isArray(value) && value.every((one) => known.includes(one as T));
  return { initial: [], rule: `must be a list of some of ${known.join(', ')}`, accepts };
}

const GB = 1024 ** 3;

const SETTINGS = {
  /** Whether the account records and serves change feeds with all versions and deletes (AVAD). */
  avad: flag(false),
  /** How long changes are kept for AVAD feeds. */
  retentionSeconds: amount(7 * 24 * 3600),
  /** Whether tokens of the form that Entra (AAD) issues are accepted. */
  aad: flag(false),
  /** The account's default consistency. A request may ask for a weaker one, and not for a stronger one. */
  consistency: choice('Session', CONSISTENCY_LEVELS),
  ru: choice('metered', ['metered', 'off']),
  numbers: choice('verbatim', ['verbatim', 'service']),
  /**
   * How a query is answered if the results of several ranges must be merged: `direct` merges them in the emulator;
   * `planned` refuses the query with a plan, as the service does.
   */
  queries: choice('direct', ['direct', 'planned']),
  logicalPartitionLimitBytes: amount(20 * GB),
  /** The size beyond which a physical range is split automatically. */
  rangeLimitBytes: amount(50 * GB),
  /** How long an expired document stays stored, invisible to clients, before it is purged. */
  ttlPurgeDelayMs: amount(2_000),
  /** A read may see the account as it was this long ago, unless its session token requires a newer state. */
  replicaLagMs: amount(0),
  /** The largest body of a feed, query or bulk reply. */
  pageBytes: amount(4 * 1024 * 1024),
  /** How long it takes to create ranges when throughput is raised beyond what the current ranges can carry. */
  scaleUpMs: amount(1_000),
  /** How the account differs from what the service is believed to do, to test clients. */
  deviations: names(DEVIATIONS),
};

export type Settings = { readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K]['initial'] };

export const DEFAULT_SETTINGS = Object.fromEntries(
  Object.entries(SETTINGS).map(([name, { initial }]) => [name, initial]),
) as unknown as Settings;

/** Returns the settings with some of them changed. Throws a Refusal for an unknown name or an invalid value. */
export function changeSettings(settings: Settings, changes: unknown): Settings {
  if (!isObject(changes)) throw badRequest('The account settings must be a JSON object.');
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(SETTINGS, name))
      throw badRequest(`There is no setting ${name}; the settings are ${Object.keys(SETTINGS).join(', ')}.`);
    const { rule, accepts } = SETTINGS[name as keyof Settings];
    if (!accepts(value)) throw badRequest(`${name} ${rule}.`);
  }
  return { ...settings, ...changes };
}
