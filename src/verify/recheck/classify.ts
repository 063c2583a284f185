/**
 * Classifies what a check has seen of one document on both sides. Pure. Invariant: a dead letter explains that a
 * document is missing in the target, or that the mover has left an older version in the slot that the ledger names. It
 * explains no other difference.
 */
import { firstDifference, readCanonical } from '../../documents/canonical.ts';
import { isSameInstant } from '../pass/expiry.ts';
import type { Kind } from '../verdict.ts';

/** The content of a document, in the forms in which both sides are compared. */
export interface Content {
  readonly body: Buffer;
  /** The hash of the content as JSON.parse reads it (json-cross-check.ts). */
  readonly crossCheck: string;
  /** When the document expires, in seconds since the epoch; undefined: never, or expiry is not compared. */
  readonly expiry: number | undefined;
}

/** What a check has seen of the document in the source. */
export type SourceSeen =
  | { readonly is: 'gone' }
  /** The document is marked as deleted. */
  | { readonly is: 'marked'; readonly etag: string }
  | { readonly is: 'refused'; readonly etag: string }
  | {
      readonly is: 'moves';
      readonly etag: string;
      /** The target key, as a text that is the same for equal keys. */
      readonly targetKey: string;
      readonly content: Content;
    };

/** A document in the target that has the identity of the candidate. */
export interface TargetSeen {
  readonly targetKey: string;
  /** The hash of the slot. */
  readonly slot: string;
  readonly etag: string;
  readonly content: Content;
}

/** The dead letter of a document. */
export interface LetterSeen {
  readonly state: 'open' | 'discarded';
  /** The hash of the slot in which the mover has left an older version; null: it has left none. */
  readonly keptIn: string | null;
}

/** What a check has seen of one document: on both sides, and in the ledger. */
export interface Seen {
  readonly source: SourceSeen;
  readonly targets: readonly TargetSeen[];
  readonly letter: LetterSeen | null;
  /** The time of the service, in seconds since the epoch; 0: not known, and then no document counts as expired. */
  readonly nowTs: number;
}

/** What a check has concluded about one document. */
export type Finding =
  | { readonly is: 'equal' | 'letter' | 'waived' | 'expired' }
  | { readonly is: 'differs'; readonly kind: Kind };

/**
 * A document that has expired, or expires within this time, may be on one side only: the service removes the original
 * and the copy at different moments.
 */
const EXPIRY_SLACK_S = 60;

export function classify(seen: Seen): Finding {
  const kind = kindOf(seen);
  if (kind === undefined) return { is: 'equal' };
  if (seen.letter !== null && isExplained(seen, kind))
    return { is: seen.letter.state === 'open' ? 'letter' : 'waived' };
  return isExpired(seen, kind) ? { is: 'expired' } : { is: 'differs', kind };
}

function kindOf({ source, targets, letter }: Seen): Kind | undefined {
  switch (source.is) {
    case 'gone':
    case 'marked':
      return targets.length === 0 ? undefined : 'extra';
    case 'refused':
      // A refused document must have a dead letter. Without one, and without a copy, the document was lost.
      if (letter === null)
        return targets.length > 1 ? 'extra' : targets.length === 0 ? 'missing' : 'different';
      return areKept(targets, letter) ? 'missing' : 'extra';
    case 'moves': {
      const there = targets.find(({ targetKey }) => targetKey === source.targetKey);
      if (there === undefined) return targets.length === 0 ? 'missing' : 'wrongSlot';
      if (!isSameContent(source.content, there.content)) return 'different';
      return targets.length === 1 ? undefined : 'extra';
    }
    default:
      return source satisfies never;
  }
}

function isExplained({ targets, letter }: Seen, kind: Kind): boolean {
  return (kind === 'missing' || kind === 'different') && areKept(targets, letter);
}

/**
 * Whether the only copy, if there is one, is the older version that the mover has left. Any other copy is from another
 * process.
 */
function areKept(targets: readonly TargetSeen[], letter: LetterSeen | null): boolean {
  return targets.every(({ slot }) => slot === letter?.keptIn);
}

/** Returns whether two contents are equal: in the cross-check, in expiry, and in bytes or else in meaning as JSON. */
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

/** Returns what a check has seen as a text. Two checks return the same text if neither side changed in between. */
export function signOf({ source, targets }: Seen, finding: Finding): string {
  const etag = source.is === 'gone' ? null : source.etag;
  const there = targets.map(({ targetKey, etag: other }) => JSON.stringify([targetKey, other])).sort();
  return JSON.stringify([source.is, etag, there, finding]);
}
