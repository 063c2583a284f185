/**
 * The query that `--print-kql` prints. It runs in Log Analytics and aggregates there, because a raw export is cut at
 * 30,000 rows in the portal and at 500,000 elsewhere. Its result, as CSV or JSON, is what `--workload` reads.
 */

/** How many query shapes, and keys with operation and hour, are exported: together they fit into one result. */
const SHAPES_MAX = 2000;
const KEYS_MAX = 10_000;

/** Returns the query for a container. Its tables exist if diagnostic settings send resource-specific logs. */
export function kqlFor({
  database,
  container,
}: {
  readonly database: string;
  readonly container: string;
}): string {
  return `// Exports the queries and the RU per key of ${commented(database)}/${commented(container)} for cosmig plan --workload FILE.
// Needs a diagnostic setting of the account (resource-specific tables) with DataPlaneRequests, QueryRuntimeStatistics
// and PartitionKeyRUConsumption, and the account feature "Diagnostics full-text query": without it, the names of
// properties are hidden, and queries cannot be classed. Export the result as CSV (all columns), or as JSON.
let period = 1d;
let ownDatabase = ${quoted(database)};
let ownContainer = ${quoted(container)};
let statistics = CDBQueryRuntimeStatistics
    | where TimeGenerated > ago(period) and DatabaseName =~ ownDatabase and CollectionName =~ ownContainer;
let requests = CDBDataPlaneRequests
    | where TimeGenerated > ago(period) and DatabaseName =~ ownDatabase and CollectionName =~ ownContainer;
// One row of the statistics is one partition of one request; a query can have several requests.
let charges = statistics
    | distinct CorrelatedActivityId, ActivityId
    | join kind=inner (requests | summarize RequestCharge = sum(RequestCharge) by ActivityId) on ActivityId
    | summarize RequestCharge = sum(RequestCharge) by CorrelatedActivityId;
let queries = statistics
    | summarize Partitions = dcount(PartitionKeyRangeId), QueryText = take_any(QueryText) by CorrelatedActivityId
    | join kind=leftouter charges on CorrelatedActivityId
    | extend QueryText = coalesce(tostring(parse_json(QueryText).query), QueryText)
    | summarize Executions = count(), TotalRU = sum(RequestCharge), Charged = countif(isnotnull(RequestCharge)),
        AvgPartitions = avg(Partitions) by QueryText
    // Queries without a charge in the logs cost what the others cost.
    | extend TotalRU = iff(Charged == 0, real(null), TotalRU * Executions / Charged)
    | top ${SHAPES_MAX} by Executions
    | project Kind = "query", QueryText, OperationName = "Query", PartitionKey = "", Executions, TotalRU, AvgPartitions;
let operations = requests
    | where OperationName !in~ ("Query", "ReadFeed")
    | summarize Executions = count(), TotalRU = sum(RequestCharge) by OperationName, RequestResourceType
    | project Kind = "operation", QueryText = "", OperationName, RequestResourceType, PartitionKey = "", Executions, TotalRU, AvgPartitions = real(null);
let keys = CDBPartitionKeyRUConsumption
    | where TimeGenerated > ago(period) and DatabaseName =~ ownDatabase and CollectionName =~ ownContainer
    | where isnotempty(PartitionKey)
    | summarize Executions = count(), TotalRU = sum(RequestCharge) by PartitionKey, OperationName, bin(TimeGenerated, 1h)
    | top ${KEYS_MAX} by TotalRU
    | project Kind = "key", QueryText = "", OperationName, PartitionKey, Executions, TotalRU, AvgPartitions = real(null);
union queries, operations, keys
| extend DatabaseName = ownDatabase, CollectionName = ownContainer, WindowSeconds = toint(period / 1s)
`;
}

/** Returns a text of KQL. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll(/[\r\n]/g, ' ')}"`;
}

function commented(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ');
}
