/** What a comparison came to: one plain object that the command, the report and the cutover read. */
import { formatCounts, pluralize } from '../lib/counting.ts';
import type { Difference, SettingName } from '../cosmos/container/settings.ts';
import type { LetterCount, RangeCount } from './counts/count-ranges.ts';

export const KINDS = ['missing', 'extra', 'different', 'wrongSlot'] as const;
/** missing: not in the target. extra: only there. different: another content. wrongSlot: under another key. */
export type Kind = (typeof KINDS)[number];

/** A document by name; values as JSON texts, null where there is none. Never its content. */
export interface Sample {
  readonly kind: Kind;
  readonly id: unknown;
  readonly sourceKey: readonly unknown[];
  /** Null when it has none. */
  readonly targetKey: readonly unknown[] | null;
}

/** A document of which nobody can say yet whether it differs. */
export interface InFlight extends Sample {
  /** Since when it is known to differ. */
  readonly ageMs: number;
}

export interface Verdict {
  readonly migration: string;
  readonly level: 'count' | 'digest';
  /** Null: not proven. */
  readonly equal: boolean | null;
  readonly source: { readonly count: number };
  readonly target: { readonly count: number };
  readonly differences: Readonly<Record<Kind, number>>;
  readonly inFlight: number;
  /** Confirmed differences, the first of them. */
  readonly samples: readonly Sample[];
  readonly letters: LetterCount;
  readonly settings: readonly Difference[];
  readonly settingsNotSeen: readonly SettingName[];
  readonly ru: { readonly source: number; readonly target: number };
  readonly durationMs: number;
  readonly complete: boolean;
  /** What the mover has not brought over, and other reasons why nothing was proven. */
  readonly waitsFor: string | null;
  readonly details: Details;
}

/** The first of each. */
export interface Listed {
  readonly differences: readonly Sample[];
  readonly inFlight: readonly InFlight[];
  readonly waived: readonly Sample[];
}

/** All of them, one after the other: there may be more than fit into memory. */
export interface Named {
  readonly differences: Iterable<Sample>;
  readonly inFlight: Iterable<InFlight>;
  readonly waived: Iterable<Sample>;
}

/** For the report: what was compared, and when. */
export interface Details {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly fingerprint: string;
  /** All documents, or what has changed since an earlier comparison; a count has none. */
  readonly extent?: 'all' | 'changes';
  readonly ranges: { readonly source: readonly RangeCount[]; readonly target: readonly RangeCount[] };
  /** Of a comparison of documents. */
  readonly listed?: Listed;
  /** How long the oldest of all that are in flight is known to differ; null: none is. A count does not know. */
  readonly oldestInFlightMs?: number | null;
  readonly [more: string]: unknown;
}

export const NO_DIFFERENCES: Readonly<Record<Kind, number>> = {
  missing: 0,
  extra: 0,
  different: 0,
  wrongSlot: 0,
};

/** The kinds of differences as people read them. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  missing: 'missing',
  extra: 'extra',
  different: 'different',
  wrongSlot: 'wrong key',
};

/** `2 missing, 1 wrong key`; empty when there are none. */
export function describeDifferences(differences: Verdict['differences']): string {
  return formatCounts(Object.fromEntries(KINDS.map((kind) => [KIND_WORDS[kind], differences[kind]])));
}

/** `3 documents may still be in flight`, and what they wait for where that is known. */
export function describeInFlight({ inFlight, waitsFor }: Pick<Verdict, 'inFlight' | 'waitsFor'>): string {
  return `${pluralize(inFlight, 'document')} may still be in flight${waitsFor === null ? '' : `: ${waitsFor}`}`;
}
