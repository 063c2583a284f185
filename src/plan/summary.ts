/** What a plan has found, in short: its candidates with their findings, for the page of the migration that follows. */
import type { PlanResult, Recommendation } from './result.ts';

export interface PlanSummary {
  /** The container that was measured, as DB/CONTAINER. */
  readonly source: string;
  /** Whether the whole container was read, or the whole sample. */
  readonly complete: boolean;
  readonly documents: number;
  /** The present key. */
  readonly key: string;
  readonly recommendation: Pick<Recommendation, 'action' | 'key'>;
  readonly candidates: readonly SummarizedCandidate[];
  /** The path of the page that was written (`--report`); null: none was. */
  readonly page: string | null;
}

export interface SummarizedCandidate {
  readonly key: string;
  readonly paths: readonly string[];
  readonly derive: readonly string[];
  readonly current: boolean;
  /** Findings as sentences. */
  readonly blockers: readonly string[];
  readonly risks: readonly string[];
  readonly gains: readonly string[];
}

export function summaryOf(result: PlanResult, page: string | null): PlanSummary {
  const { source, complete, documents, recommendation, candidates } = result;
  const { action, key } = recommendation;
  return {
    source: source.name,
    complete,
    documents: documents.estimate,
    key: source.key,
    recommendation: key === undefined ? { action } : { action, key },
    candidates: candidates.map((candidate) => ({
      key: candidate.key,
      paths: candidate.paths,
      derive: candidate.derive,
      current: candidate.current,
      blockers: candidate.verdict.blockers.map(({ text }) => text),
      risks: candidate.verdict.risks.map(({ text }) => text),
      gains: candidate.verdict.gains.map(({ text }) => text),
    })),
    page,
  };
}
