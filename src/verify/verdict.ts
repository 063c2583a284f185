/** The result of a comparison: one plain object for the command, the report and the cutover. */
import { formatCounts, pluralize } from '../lib/counting.ts';
import type { SettingDifference, SettingName } from '../cosmos/container/settings.ts';
import type { LetterCount, RangeCount } from './counts/count-ranges.ts';

export const KINDS = ['missing', 'extra', 'different', 'wrongSlot'] as const;
/**
 * How a document differs. `missing`: not in the target. `extra`: only in the target. `different`: with other content.
 * `wrongSlot`: under a key other than its target key.
 */
export type Kind = (typeof KINDS)[number];

/** A document that differs, identified by its id and keys, never with its content. */
export interface DifferenceSample {
  readonly kind: Kind;
  readonly id: unknown;
  readonly sourceKey: readonly unknown[];
  /** The values of the target key; null: the document has no target key. */
  readonly targetKey: readonly unknown[] | null;
}

/** A document that differs now, but may become equal when the mover has replicated its last change. */
export interface InFlight extends DifferenceSample {
  /** How long the document has been known to differ. */
  readonly ageMs: number;
}

export interface Verdict {
  readonly migration: string;
  readonly level: 'count' | 'digest';
  /** Whether both sides are equal; null: neither equality nor a difference was proven. */
  readonly equal: boolean | null;
  readonly source: { readonly count: number };
  readonly target: { readonly count: number };
  readonly differences: Readonly<Record<Kind, number>>;
  /** What the repairs before this verdict have written and deleted; absent: there was none. */
  readonly repaired?: Readonly<Record<'written' | 'deleted', number>> & {
    /** The ids of some of the deleted documents, as JSON texts. */
    readonly deletedIds: readonly string[];
  };
  /** The dead letters that `verify --repair` has closed; absent: none. */
  readonly closedLetters?: ClosedLetters;
  readonly inFlight: number;
  /** How many documents of each side have an integer beyond 2^53; absent: none, or not compared. */
  readonly longIntegers?: DocumentCounts;
  /** The first confirmed differences. */
  readonly samples: readonly DifferenceSample[];
  readonly letters: LetterCount;
  readonly settings: readonly SettingDifference[];
  readonly settingsNotSeen: readonly SettingName[];
  readonly ru: { readonly source: number; readonly target: number };
  readonly durationMs: number;
  readonly complete: boolean;
  /** Why nothing was proven, for example changes that are not replicated yet. */
  readonly waitsFor: string | null;
  readonly details: Details;
}

/** Dead letters that were closed: how many, and the first of them with what became of their documents. */
export interface ClosedLetters {
  readonly closed: number;
  readonly named: ReadonlyArray<{
    readonly number: number;
    readonly id: unknown;
    readonly sourceKey: unknown;
    readonly became: 'moved' | 'gone' | 'changed';
  }>;
  /** How many others were opened and closed while both sides were compared and repaired. */
  readonly meanwhile: number;
}

/** The first documents of each list, few enough for memory. */
export interface DifferenceLists {
  readonly differences: readonly DifferenceSample[];
  readonly inFlight: readonly InFlight[];
  readonly waived: readonly DifferenceSample[];
}

/** The lists of all documents that differ. They may not fit into memory, so a caller reads them one by one. */
export interface DifferenceStream {
  readonly differences: Iterable<DifferenceSample>;
  readonly inFlight: Iterable<InFlight>;
  readonly waived: Iterable<DifferenceSample>;
}

/** The numbers of documents on both sides. */
export interface DocumentCounts {
  readonly source: number;
  readonly target: number;
}

/** How many documents of a range were read. */
export interface RangeRead extends RangeCount {
  /** The LSN up to which they were compared. Absent for a count. */
  readonly upToLsn?: number;
}

/** What was compared and when, for the report and for the proof. */
export interface Details {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly fingerprint: string;
  /** Which documents were compared: all, or those changed since an earlier comparison. Absent for a count. */
  readonly extent?: 'all' | 'changes';
  readonly ranges: { readonly source: readonly RangeRead[]; readonly target: readonly RangeRead[] };
  /** The first documents found. Absent for a count, which identifies no documents. */
  readonly listed?: DifferenceLists;
  /** How many documents were looked at one by one after both sides were read. Absent for a count. */
  readonly lookedAtAgain?: number;
  /** Whether both sides were read before this run, which has resumed the comparison. Absent for a count. */
  readonly isResumed?: boolean;
  /** How long the oldest document in flight has been known to differ; null: none is in flight. Absent for a count. */
  readonly oldestInFlightMs?: number | null;
  /** How long the last comparison of all documents needed to read both sides; null: not known. Absent for a count. */
  readonly readMs?: number | null;
  /**
   * If only changes were compared: the numbers of documents; null: they are not those that the ledger expects, or were
   * not counted.
   */
  readonly counted?: DocumentCounts | null;
  /** If only changes were compared: when the earlier comparison ended, after which they were made. */
  readonly sinceMs?: number;
  readonly [more: string]: unknown;
}

export const NO_DIFFERENCES: Readonly<Record<Kind, number>> = {
  missing: 0,
  extra: 0,
  different: 0,
  wrongSlot: 0,
};

/** The kinds of differences in the words of reports and messages. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  missing: 'missing',
  extra: 'extra',
  different: 'different',
  wrongSlot: 'wrong key',
};

/** Returns differences as text, such as `2 missing, 1 wrong key`; empty text when there are none. */
export function describeDifferences(differences: Verdict['differences']): string {
  return formatCounts(Object.fromEntries(KINDS.map((kind) => [KIND_WORDS[kind], differences[kind]])));
}

/** Returns a text such as `3 documents may still be in flight`, followed by what they wait for, if that is known. */
export function describeInFlight({ inFlight, waitsFor }: Pick<Verdict, 'inFlight' | 'waitsFor'>): string {
  return `${pluralize(inFlight, 'document')} may still be in flight${waitsFor === null ? '' : `: ${waitsFor}`}`;
}
