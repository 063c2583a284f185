/**
 * Classifies what was seen of one document on both sides. Pure. Invariant: a dead letter explains that a document is not in
 * the target, or not in its newest version, and nothing else.
 */
import { firstDifference, readCanonical } from '../../documents/canonical.ts';
import { isSameInstant } from '../pass/expiry.ts';
import type { Kind } from '../verdict.ts';

/** The content that is compared. */
export interface Content {
  readonly body: Buffer;
  /** Hash of the content as JSON.parse reads it. */
  readonly crossCheck: string;
  /** When the document expires, in seconds, where that is compared. */
  readonly expiry: number | undefined;
}

export type SourceSeen =
  | { readonly is: 'gone' }
  /** It is marked as deleted. */
  | { readonly is: 'marked'; readonly etag: string }
  | { readonly is: 'refused'; readonly etag: string }
  | {
      readonly is: 'moves';
      readonly etag: string;
      /** Its target key, as a text that is equal for equal keys. */
      readonly place: string;
      readonly content: Content;
    };

/** A document in the target with the same identity. */
export interface TargetSeen {
  readonly place: string;
  readonly etag: string;
  readonly content: Content;
}

export interface Seen {
  readonly source: SourceSeen;
  readonly targets: readonly TargetSeen[];
  readonly letter: 'open' | 'discarded' | null;
  /** The service's time in seconds; 0: not known, so no document counts as expired. */
  readonly nowTs: number;
}

export type Finding =
  | { readonly is: 'equal' | 'letter' | 'waived' | 'expired' }
  | { readonly is: 'differs'; readonly kind: Kind };

/** Around its expiry a document disappears from both sides at different moments. */
const EXPIRY_SLACK_S = 60;

export function classify(seen: Seen): Finding {
  const kind = kindOf(seen);
  if (kind === undefined) return { is: 'equal' };
  if (seen.letter !== null && isExplained(seen, kind))
    return { is: seen.letter === 'open' ? 'letter' : 'waived' };
  return isExpired(seen, kind) ? { is: 'expired' } : { is: 'differs', kind };
}

function kindOf({ source, targets, letter }: Seen): Kind | undefined {
  switch (source.is) {
    case 'gone':
    case 'marked':
      return targets.length === 0 ? undefined : 'extra';
    case 'refused':
      // A refused document has a letter, or it was lost.
      return targets.length > 1 ? 'extra' : letter !== null || targets.length === 0 ? 'missing' : 'different';
    case 'moves': {
      const there = targets.find(({ place }) => place === source.place);
      if (there === undefined) return targets.length === 0 ? 'missing' : 'wrongSlot';
      if (!isSameContent(source.content, there.content)) return 'different';
      return targets.length === 1 ? undefined : 'extra';
    }
    default:
      return source satisfies never;
  }
}

function isExplained({ targets }: Seen, kind: Kind): boolean {
  return (kind === 'missing' || kind === 'different') && targets.length <= 1;
}

/** Compares bytes first, the parsed JSON only where they differ, and the cross-check in any case. */
export function isSameContent(expected: Content, actual: Content): boolean {
  if (expected.crossCheck !== actual.crossCheck || !isSameInstant(expected.expiry, actual.expiry))
    return false;
  if (expected.body.equals(actual.body)) return true;
  return firstDifference(readCanonical(expected.body), readCanonical(actual.body)) === undefined;
}

function isExpired({ source, targets, nowTs }: Seen, kind: Kind): boolean {
  const isEnding = (expiry: number | undefined): boolean =>
    expiry !== undefined && expiry <= nowTs + EXPIRY_SLACK_S;
  if (kind === 'missing') return source.is === 'moves' && isEnding(source.content.expiry);
  return kind === 'extra' && source.is === 'gone' && targets.every(({ content }) => isEnding(content.expiry));
}

/** What was seen, as a text that is equal as long as nothing changes. */
export function signOf({ source, targets }: Seen, finding: Finding): string {
  const etag = source.is === 'gone' ? null : source.etag;
  const there = targets.map(({ place, etag: other }) => JSON.stringify([place, other])).sort();
  return JSON.stringify([source.is, etag, there, finding]);
}
