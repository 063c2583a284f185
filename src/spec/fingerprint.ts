/**
 * What may not change between two runs of one migration: as plain data for the ledger, as a hash, and as the names
 * of the fields in which two specs differ. No secret is in it.
 */
import { createHash } from 'node:crypto';
import { NotReadyError } from '../lib/errors.ts';
import { flagOfField, type PinnedName } from './fields.ts';
import type { MigrationSpec, Place } from './migration-spec.ts';

/** The pinned fields of a spec, each as text; the type is complete by the table in fields.ts. */
export type Pinned = { readonly [K in PinnedName]: string };

/** What the pinned fields of this spec are. Texts stay the same for as long as there are ledgers that hold them. */
export function pinnedOf(spec: MigrationSpec): Pinned {
  const { deletes } = spec;
  return Object.freeze({
    source: nameOf(spec.source),
    target: nameOf(spec.target),
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

function nameOf({ database, container }: Place): string {
  return `${database}/${container}`;
}

/** Begins every hash, so that another way to make it can be told apart. */
const VERSION = 'cosmig-spec-1';

/** The same for the same pinned fields, on every machine and in every version; hexadecimal. */
export function fingerprint(spec: MigrationSpec): string {
  const entries = Object.entries(pinnedOf(spec)).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([VERSION, entries]))
    .digest('hex');
}

/** A pinned field that is not what it was. */
export interface Difference {
  readonly field: PinnedName;
  readonly pinned: string;
  readonly now: string;
}

/** The pinned fields in which `spec` differs from what a ledger holds. */
export function differences(pinned: Pinned, spec: MigrationSpec): readonly Difference[] {
  const now = pinnedOf(spec);
  return (Object.keys(now) as PinnedName[])
    .filter((field) => now[field] !== pinned[field])
    .map((field) => ({ field, pinned: pinned[field], now: now[field] }));
}

/** Refuses a spec that is not the one a ledger was begun with, naming what differs. */
export function refuseChanges(pinned: Pinned, spec: MigrationSpec): void {
  const changed = differences(pinned, spec);
  if (changed.length === 0) return;
  const names = changed.map(({ field }) => flagOfField(field)).join(', ');
  const told = changed.map(
    ({ field, pinned: old, now }) => `${flagOfField(field)} was ${shown(old)} and is ${shown(now)}`,
  );
  throw new NotReadyError(`this migration was begun with another ${names}`, {
    why: told.join('; '),
    hint: 'put the old value back, or begin a new migration with --ledger and an empty target',
    details: { differences: changed },
  });
}

/** What was pinned, as somebody would say it: lists are pinned as JSON. */
function shown(pinned: string): string {
  return pinned.replace(/^\[(.*)\]$/s, '$1') || 'not given';
}
