/**
 * The settings that must be the same in every run of one migration: as plain data for the ledger, as a hash, and as the
 * names of those in which two specs differ. Invariant: no secret is among them.
 */
import { createHash } from 'node:crypto';
import { NotReadyError } from '../lib/errors.ts';
import { flagOfField, type PinnedName } from './fields.ts';
import { containerText } from './migration-name.ts';
import type { MigrationSpec } from './migration-spec.ts';

/** The pinned fields of a spec, each as text. */
export type Pinned = { readonly [K in PinnedName]: string };

/** These texts must never change, since ledgers hold them. */
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

/** The version of the hash: part of what is hashed, so that another version never gives the same hash. */
const VERSION = 'cosmig-spec-1';

/** The same for the same pinned fields, on every machine and in every version; hexadecimal. */
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

/** The pinned fields in which `spec` differs from the ledger. */
export function differences(pinned: Pinned, spec: MigrationSpec): readonly Difference[] {
  const now = pinnedOf(spec);
  return (Object.keys(now) as PinnedName[])
    .filter((field) => now[field] !== pinned[field])
    .map((field) => ({ field, pinned: pinned[field], now: now[field] }));
}

/** Refuses a spec other than the one the ledger was created with, and names what differs. */
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

/** A pinned value for people: the ledger holds lists as JSON. */
function shown(pinned: string): string {
  return pinned.replace(/^\[(.*)\]$/s, '$1') || 'not given';
}
