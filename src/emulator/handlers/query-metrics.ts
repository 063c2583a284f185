/**
 * Says what a query did, in the headers that clients ask for: counts, sizes and times of the query, and how it used the
 * index.
 *
 * Invariant: the emulator scans and has no index, so the report names neither an index that was used nor one that would
 * help.
 */
import { isTrue, type GatewayRequest } from '../http/request.ts';
import type { QueryPage } from '../query/pages/pages.ts';

const INDEXES_1 = {
  UtilizedSingleIndexes: [],
  PotentialSingleIndexes: [],
  UtilizedCompositeIndexes: [],
  PotentialCompositeIndexes: [],
};
const INDEXES_2 = {
  UtilizedIndexes: { SingleIndexes: [], CompositeIndexes: [] },
  PotentialIndexes: { SingleIndexes: [], CompositeIndexes: [] },
};

export function metricsHeaders(
  request: GatewayRequest,
  page: QueryPage,
  tookMs: number,
): Record<string, string> {
  const asksFor = (name: string): boolean => isTrue(request.headers, name);
  const headers: Record<string, string> = {};
  if (asksFor('x-ms-documentdb-populatequerymetrics'))
    headers['x-ms-documentdb-query-metrics'] = metricsOf(page, tookMs);
  // The two versions of the report differ in their form and in their encoding.
  if (asksFor('x-ms-cosmos-populateindexmetrics')) {
    headers['x-ms-cosmos-index-utilization'] = Buffer.from(JSON.stringify(INDEXES_1)).toString('base64');
  }
  if (asksFor('x-ms-cosmos-populateindexmetrics-v2')) {
    headers['x-ms-cosmos-index-utilization'] = encodeURIComponent(JSON.stringify(INDEXES_2));
  }
  return headers;
}

function metricsOf({ items, scanned, scannedBytes }: QueryPage, tookMs: number): string {
  const outputBytes = items.reduce((sum, item) => sum + Buffer.byteLength(item), 0);
  const ratio = scanned === 0 ? 1 : Math.min(1, items.length / scanned);
  // Only the time of the whole query is measured, and stated as the total and as the time of the VM. The times of the
  // steps are 0: they are stated because clients expect every field.
  const fields: Record<string, number> = {
    totalExecutionTimeInMs: tookMs,
    queryCompileTimeInMs: 0,
    queryLogicalPlanBuildTimeInMs: 0,
    queryPhysicalPlanBuildTimeInMs: 0,
    queryOptimizationTimeInMs: 0,
    VMExecutionTimeInMs: tookMs,
    indexLookupTimeInMs: 0,
    documentLoadTimeInMs: 0,
    systemFunctionExecuteTimeInMs: 0,
    userFunctionExecuteTimeInMs: 0,
    retrievedDocumentCount: scanned,
    retrievedDocumentSize: scannedBytes,
    outputDocumentCount: items.length,
    outputDocumentSize: outputBytes,
    writeOutputTimeInMs: 0,
    indexUtilizationRatio: ratio,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${/Count$|Size$/.test(name) ? value : value.toFixed(2)}`)
    .join(';');
}
