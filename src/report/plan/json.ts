/** The plan for `--json`: the result as it is, with the figures of the data next to the key, where scripts expect them. */
import type { PlanResult } from '../../plan/result.ts';
import type { PLAN } from '../json/plan-result.ts';
import type { TypeOf } from '../json/schema.ts';

export function planJson(result: PlanResult): TypeOf<typeof PLAN> {
  const { candidates, documents, ...rest } = result;
  return {
    command: 'plan',
    ...rest,
    documents: documents.estimate,
    documentsBounds: { low: documents.low, high: documents.high },
    candidates: candidates.map(({ data, ...candidate }) => ({ ...candidate, ...data })),
  };
}
