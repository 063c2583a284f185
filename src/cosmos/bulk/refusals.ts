/** Of a reply to a batch: which of its operations were refused, and what follows from that for their range. */
import type { Trouble } from '../transport/trouble.ts';
import { isWhole, type Operation, type Refused, type Reply, type Result } from './operation.ts';

interface Refusals<V> {
  /** To be sent again, in their order. */
  readonly again: readonly Operation<V>[];
  readonly throttled: number;
  /** The range is gone. */
  readonly split: Trouble | undefined;
  /** Of the others, the one with the longest hint: how long the range shall be left alone. */
  readonly rest: Refused | undefined;
}

const AMBIGUOUS = { is: 'ambiguous' } as const;

/** What the service said to one operation, of the whole request or of itself. */
export function resultAt<V>({ results }: Reply<V>, index: number): Result<V> {
  return (isWhole(results) ? results : results[index]) ?? AMBIGUOUS;
}

export function refusalsIn<V>(operations: readonly Operation<V>[], reply: Reply<V>): Refusals<V> {
  const again: Operation<V>[] = [];
  let throttled = 0;
  let split: Trouble | undefined;
  let rest: Refused | undefined;
  for (let i = 0; i < operations.length; i += 1) {
    const result = resultAt(reply, i);
    const operation = operations[i];
    if (result.is !== 'refused' || operation === undefined) continue;
    again.push(operation);
    if (result.kind === 'throttled') throttled += 1;
    if (result.kind === 'split') split = result.trouble;
    else if (rest === undefined || hintOf(result) > hintOf(rest)) rest = result;
  }
  return { again, throttled, split, rest };
}

/** How long the service asks us to wait. */
export function hintOf({ trouble }: Refused): number {
  return trouble.retryAfterMs ?? 0;
}
