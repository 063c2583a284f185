/** What the last comparison has found, also where it has not proven anything: it decides what the operator does next. */
import { describeVoid, type LastVerdict } from '../../verify/last-verdict.ts';
import { isoTime } from '../format.ts';
import type { StatusResult } from '../json/ledger-results.ts';

type Compared = Pick<StatusResult, 'proof' | 'lastComparison'>;

export function comparisonOf(verdict: LastVerdict): StatusResult['lastComparison'] {
  const { atMs, equal, differences, voidedMs } = verdict;
  return { at: isoTime(atMs), equal, differences, voids: voidedMs === null ? null : isoTime(voidedMs) };
}

/** Returns why there is no proof, if the last comparison has found differences; null: it has not. */
export function whyVoid({ proof, lastComparison: last }: Compared): string | null {
  if (proof !== null || last === null) return null;
  const voidedMs = last.voids === null ? null : Date.parse(last.voids);
  return describeVoid({ ...last, atMs: Date.parse(last.at), voidedMs });
}

/** Returns how the last comparison ended, if no run has ended since; null: a run has, or is in progress. */
export function comparedLast({
  lastComparison: last,
  lastRun,
  running,
}: Pick<StatusResult, 'lastComparison' | 'lastRun' | 'running'>): { at: string; how: string } | null {
  if (last === null || running !== null || lastRun?.ended == null) return null;
  if (Date.parse(last.at) <= Date.parse(lastRun.ended)) return null;
  const how = last.equal === true ? 'both sides were equal' : 'it was not proven that both sides are equal';
  return { at: last.at, how: last.equal === false ? 'it found differences' : how };
}
