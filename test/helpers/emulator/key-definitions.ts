/** Partition key definitions as the service takes them; the SDK's enums only get in their way. */
import type { PartitionKeyDefinition } from '@azure/cosmos';

function definition(kind: string, version: number, paths: readonly string[]): PartitionKeyDefinition {
  const body: unknown = { paths: [...paths], kind, version };
  return body as PartitionKeyDefinition;
}

export function hashKey(path = '/pk', version = 2): PartitionKeyDefinition {
  return definition('Hash', version, [path]);
}

export function multiHashKey(...paths: readonly string[]): PartitionKeyDefinition {
  return definition('MultiHash', 2, paths);
}
