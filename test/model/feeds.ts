/**
 * Owns what the two change feeds show of a source. LV: the newest version of what exists, and nothing of what does not.
 * AVAD: every version; of a delete only the identity; of a rename only the new id. A page ends between LSNs, never
 * within one, and an empty page (304) proves nothing but what its replica had seen.
 */
import { placeOf, type Identity, type Source, type Version } from './source.ts';

export type FeedName = 'LV' | 'AVAD';

export interface Change {
  readonly id: Identity;
  readonly lsn: number;
  /** Null for a delete. */
  readonly version: Version | null;
}

export interface FeedPage {
  readonly changes: readonly Change[];
  /** Where the next page starts. */
  readonly end: number;
  /** The LSN of the replica that answered: the session token of the reply. */
  readonly token: number;
}

export interface FeedRequest {
  readonly feed: FeedName;
  readonly min: number;
  readonly max: number;
  readonly position: number;
  /** The LSN of the replica that answers. */
  readonly replica: number;
}

// Two changes a page: enough for neighbours on one page and on the next, and nothing more.
const CHANGES_MAX = 2;

/** A page; or 410, the range was split; or 400, the position is older than AVAD's retention. */
export function readFeed(source: Source, request: FeedRequest): FeedPage | 'split' | 'forgotten' {
  const { min, max, position } = request;
  const range = source.rangeOver(min, max);
  if (range === undefined) return 'split';
  if (request.feed === 'AVAD' && position < range.forgotten) return 'forgotten';
  const replica = Math.max(request.replica, position);
  const all = source.identities
    .filter((id) => min <= placeOf(id) && placeOf(id) < max)
    .flatMap((id) => (request.feed === 'LV' ? newest(source, id, replica) : every(source, id)))
    .filter(({ lsn }) => position < lsn && lsn <= replica)
    .toSorted((a, b) => a.lsn - b.lsn);
  const last = all[CHANGES_MAX - 1];
  if (last === undefined || all.length <= CHANGES_MAX) return { changes: all, end: replica, token: replica };
  const changes = all.filter(({ lsn }) => lsn <= last.lsn);
  return { changes, end: changes.length === all.length ? replica : last.lsn, token: replica };
}

function newest(source: Source, id: Identity, replica: number): Change[] {
  const version = source.at(id, replica);
  return version === null ? [] : [{ id, lsn: version.lsn, version }];
}

function every(source: Source, id: Identity): Change[] {
  return source
    .versionsOf(id)
    .filter(({ silent }) => silent !== true)
    .map((version) => ({ id, lsn: version.lsn, version: version.op === 'delete' ? null : version }));
}
