/**
 * Owns how the things of the model look on the wire: identities and slots as keys and ids, versions and copies as
 * documents, LSNs as etags and session tokens, places of the hash space as effective keys.
 */
import { effectiveKey } from '../../../src/epk/effective-key.ts';
import { hashToBytes } from '../../../src/documents/hash.ts';
import { IdentityHasher } from '../../../src/documents/identity.ts';
import { PLACES, placeOf, type Identity, type Slot, type Version } from '../source.ts';
import type { Copy } from '../target.ts';

export type Json = Readonly<Record<string, unknown>>;

const tenants = new Map<string, string>();

/** The source key of an identity: it begins with the identity's letter, and lies at its place in the hash space. */
export function tenantOf(id: Identity): string {
  const letter = id.slice(0, 1);
  let tenant = tenants.get(letter);
  for (let n = 0; tenant === undefined; n += 1) {
    const candidate = `${letter}${n}`;
    if (placeAt(effectiveKey('hash-v2', [candidate])) === placeOf(id)) tenant = candidate;
  }
  tenants.set(letter, tenant);
  return tenant;
}

/** The place of an effective key, or of a border between two ranges. */
export function placeAt(key: string): number {
  if (key === '') return 0;
  return Math.min(PLACES, Number.parseInt(key.slice(0, 2), 16) >> 4);
}

/** The border of a range at a place, as an effective key. */
export function borderAt(place: number): string {
  if (place === 0) return '';
  return place >= PLACES ? 'FF' : `${place}0`;
}

export function identityOf(tenant: unknown, id: unknown): Identity {
  return `${String(tenant).slice(0, 1)}${String(id)}`;
}

/** The hash of an identity, as the ledger has it. */
export function identityHash(id: Identity): Buffer {
  return hashOf(id.slice(1), tenantOf(id));
}

/** The hash of a slot, as the ledger has it. */
export function slotHash(slot: Slot): Buffer {
  return hashOf(slot.slice(1), slot.slice(0, 1));
}

function hashOf(id: string, key: string): Buffer {
  const hasher = new IdentityHasher();
  const words = new Uint32Array(4);
  hasher.clear();
  hasher.add(id);
  hasher.add(key);
  hasher.finish(words, 0);
  return hashToBytes(words);
}

/** A version as a document of the source. The etag stands for its bytes, so it is a property as well. */
export function sourceDocument(id: Identity, { key, big, unique, marked, etag }: Version): Json {
  return {
    id: id.slice(1),
    tenant: tenantOf(id),
    ...(key === '!' ? {} : { key }),
    ...(big ? { big } : {}),
    ...(marked ? { marked } : {}),
    // Without a value of its own a document does not compete for one.
    unique: unique === 0 ? `none of ${id}` : unique,
    content: etag,
    _rid: `r${id}`,
    _etag: sourceEtag(etag),
    _ts: 1_700_000_000,
  };
}

export function sourceEtag(etag: number): string {
  return `"s${etag}"`;
}

/** The copy that a document of the target is. */
export function copyIn(document: Json): Omit<Copy, 'etag'> {
  const { tenant, id, content, unique, stranger } = document;
  return {
    owner: stranger === true || tenant === undefined ? null : identityOf(tenant, id),
    content: Number(content ?? 0),
    unique: typeof unique === 'number' ? unique : 0,
  };
}

export function targetEtag(etag: number): string {
  return `"t${etag}"`;
}

/** The number of a target etag; one that no document has for any other text; null if no etag is required. */
export function etagNumber(etag: unknown): number | null {
  if (typeof etag !== 'string') return null;
  const [, digits] = /^"t(\d+)"$/.exec(etag) ?? [];
  return digits === undefined ? -1 : Number(digits);
}

export function sessionToken(range: string, lsn: number): string {
  return `${range}:-1#${lsn}`;
}

/** The newest LSN that a session token names for one of these ranges. */
export function lsnIn(token: string | undefined, ranges: readonly string[]): number {
  let newest = 0;
  for (const part of (token ?? '').split(',')) {
    const [id = '', vector = ''] = part.trim().split(':');
    if (ranges.includes(id)) newest = Math.max(newest, Number(vector.split('#')[1] ?? 0));
  }
  return newest;
}
