/** Puts durations and late writes into words, for the messages of a cutover and for the report of its journal. */
import { IDS_MAX, type Straggler } from './source-ends.ts';

export function describeStraggler({ range, ids, what }: Straggler): string {
  const named = ids.length === 0 ? 'documents' : ids.join(', ');
  const others = ids.length < IDS_MAX ? '' : ' and perhaps others';
  return `${named}${others} ${what} in range ${range}`;
}

export function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
