/**
 * The settings that must be the same in every run of one migration: their values as plain data for the ledger, a hash
 * of the values, and the fields in which a spec differs from the ledger. Invariant: these settings contain no secret.
 */
import { createHash } from 'node:crypto';
import { NotReadyError } from '../lib/errors.ts';
import { flagOfField, type PinnedName } from './fields.ts';
import { containerText } from './migration-name.ts';
import type { MigrationSpec } from './migration-spec.ts';

/** The pinned fields of a spec, each as text. */
export type Pinned = { readonly [K in PinnedName]: string };

/** Returns the pinned fields of a spec. The format of each text must never change, since ledgers contain it. */
export function pinnedOf(spec: MigrationSpec): Pinned {
  const { deletes } = spec;
  return Object.freeze({
    source: containerText(spec.source),
    target: containerText(spec.target),
    sourceEndpoint: spec.source.endpoint,
    targetEndpoint: spec.target.endpoint,
    partitionKey: JSON.stringify(spec.partitionKey),
    derive: JSON.stringify(spec.derive),
    missingKey: spec.missingKey,
    onCollision: spec.onCollision,
    deletes: deletes.kind === 'marker' ? `marker:${deletes.path}` : deletes.kind,
    ttl: spec.ttl,
    keepSourceKeyAs: spec.keepSourceKeyAs ?? '',
  });
}

/** The version of the hash. It is part of the hashed text, so that two versions never give the same hash. */
const VERSION = 'cosmig-spec-1';

/**
 * Returns a hexadecimal hash of the pinned fields. It is the same on every machine, and in every version of cosmig that
 * has this VERSION.
 */
export function fingerprint(spec: MigrationSpec): string {
  const entries = Object.entries(pinnedOf(spec)).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([VERSION, entries]))
    .digest('hex');
}

/** A pinned field whose value was changed. */
export interface Difference {
  readonly field: PinnedName;
  readonly pinned: string;
  readonly now: string;
}

/** Returns the pinned fields in which `spec` differs from the ledger. */
export function differences(pinned: Pinned, spec: MigrationSpec): readonly Difference[] {
  const now = pinnedOf(spec);
  return (Object.keys(now) as PinnedName[])
    .filter((field) => now[field] !== pinned[field])
    .map((field) => ({ field, pinned: pinned[field], now: now[field] }));
}

/** Throws if a spec differs from the one with which the ledger was created, and names the differences. */
export function refuseChanges(pinned: Pinned, spec: MigrationSpec): void {
  const changed = differences(pinned, spec);
  if (changed.length === 0) return;
  const names = changed.map(({ field }) => flagOfField(field)).join(', ');
  const changes = changed.map(
    ({ field, pinned: old, now }) => `${flagOfField(field)} was ${shown(old)} and is ${shown(now)}`,
  );
  throw new NotReadyError(`this migration was started with another ${names}`, {
    why: changes.join('; '),
    hint: 'restore the old value, or start a new migration with another --ledger and an empty target',
    details: { differences: changed },
  });
}

/** Returns a pinned value as text for people, since the ledger holds lists as JSON. */
function shown(pinned: string): string {
  return pinned.replace(/^\[(.*)\]$/s, '$1') || 'not given';
}
