/** What a reply says about the operations of its batch, and about their range. */
import { troubleOf, type Trouble } from '../transport/trouble.ts';
import { unanswered } from './execute.ts';
import type { BatchReply, OperationResult, RangeOperation, Refused } from './operation.ts';

/** Which operations of a batch were refused, and what follows from that for their range. */
interface Refusals<V> {
  /** To be sent again, in their order. */
  readonly again: readonly RangeOperation<V>[];
  /** How many were throttled, and the one with the longest hint. */
  readonly throttled: { readonly count: number; readonly longest: Refused | undefined };
  /** Of those that were refused for other trouble, the one with the longest hint. */
  readonly troubled: Refused | undefined;
  /** The range is gone. */
  readonly split: Trouble | undefined;
}

export function refusalsIn<V>(operations: readonly RangeOperation<V>[], reply: BatchReply<V>): Refusals<V> {
  const again: RangeOperation<V>[] = [];
  let throttled: Refusals<V>['throttled'] = { count: 0, longest: undefined };
  let troubled: Refused | undefined;
  let split: Trouble | undefined;
  for (let i = 0; i < operations.length; i += 1) {
    const result = resultAt(reply, i);
    const operation = operations[i];
    if (result.is !== 'refused' || operation === undefined) continue;
    again.push(operation);
    if (result.kind === 'split') split = result.trouble;
    else if (result.kind === 'throttled')
      throttled = { count: throttled.count + 1, longest: longerOf(throttled.longest, result) };
    else troubled = longerOf(troubled, result);
  }
  return { again, throttled, troubled, split };
}

function longerOf(one: Refused | undefined, other: Refused): Refused {
  return one === undefined || hintOf(other) > hintOf(one) ? other : one;
}

/** How long the service asks us to wait. */
export function hintOf({ trouble }: Refused): number {
  return trouble.retryAfterMs ?? 0;
}

const AMBIGUOUS = { is: 'ambiguous' } as const;

/** How the service answered one operation: by itself, or with the whole request. */
export function resultAt<V>({ results }: BatchReply<V>, index: number): OperationResult<V> {
  return (isWhole(results) ? results : results[index]) ?? AMBIGUOUS;
}

/** Whether the request was answered as a whole. `in` would be asked for each operation, and is slow on a list. */
export function isWhole<V>(
  results: BatchReply<V>['results'],
): results is Exclude<typeof results, readonly unknown[]> {
  return !Array.isArray(results);
}

/** A request without a reply, as the range sees it. */
export function silence(cause: unknown): Refused {
  const trouble = troubleOf(cause);
  return trouble === undefined ? unanswered(cause) : { is: 'refused', kind: 'transient', trouble };
}
