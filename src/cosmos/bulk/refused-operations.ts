/** Sorts the results of a batch: which operations were refused, and what that means for their range. */
import { assert } from '../../lib/assert.ts';
import { troubleOf, type Trouble } from '../transport/trouble.ts';
import type { Batch } from './batcher.ts';
import { unanswered } from './execute.ts';
import type { AllCreated, BatchReply, OperationResult, RangeOperation, Refused } from './operation.ts';

/** The operations of a batch that were refused, and what that means for their range. */
interface Refusals<V> {
  /** Operations to be sent again, in their order. */
  readonly again: readonly RangeOperation<V>[];
  /** How many operations were throttled, and the refusal with the longest wait that the service asks for. */
  readonly throttled: { readonly count: number; readonly longest: Refused | undefined };
  /** Of the refusals for other reasons, the one with the longest wait that the service asks for. */
  readonly troubled: Refused | undefined;
  /** The trouble of an operation that was refused because the range was split or merged. */
  readonly split: Trouble | undefined;
}

const NONE = {
  again: [],
  throttled: { count: 0, longest: undefined },
  troubled: undefined,
  split: undefined,
};

export function refusalsIn<V>(batch: Batch<RangeOperation<V>>, reply: BatchReply<V>): Refusals<V> {
  if (areCreated(reply.results)) return NONE;
  const { operations } = batch;
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

/** Returns how long the service asks us to wait; 0 if it does not ask. */
export function hintOf({ trouble }: Refused): number {
  return trouble.retryAfterMs ?? 0;
}

const AMBIGUOUS = { is: 'ambiguous' } as const;

/** Returns the result of one operation: its own, or that of the whole request. */
export function resultAt<V>({ results }: BatchReply<V>, index: number): OperationResult<V> {
  assert(!areCreated(results), 'runs that are answered as a whole have no single results');
  return (isWhole(results) ? results : results[index]) ?? AMBIGUOUS;
}

/** Whether every operation of a batch of runs has created its document. */
export function areCreated<V>(results: BatchReply<V>['results']): results is AllCreated {
  return isWhole(results) && results.is === 'created';
}

/** Whether there is one result for the whole request. Not tested with `in`, which is slow on arrays. */
export function isWhole<V>(
  results: BatchReply<V>['results'],
): results is Exclude<typeof results, readonly unknown[]> {
  return !Array.isArray(results);
}

/** Returns the refusal that a range gets for a batch without a reply. */
export function silence(cause: unknown): Refused {
  const trouble = troubleOf(cause);
  return trouble === undefined ? unanswered(cause) : { is: 'refused', kind: 'transient', trouble };
}
