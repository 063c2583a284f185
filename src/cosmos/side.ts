/** One of the two containers, with all that is known of it while a run lasts. */
import type { ContainerLane } from './transport/container-requests.ts';
import type { Governor } from './load/governor.ts';
import type { LiveRanges } from './feed/live-ranges.ts';
import type { Patience } from './load/retry.ts';
import type { Sessions } from './feed/session-tokens.ts';
import type { KeyKind } from '../epk/effective-key.ts';

export interface Side {
  readonly is: 'source' | 'target';
  readonly lane: ContainerLane;
  readonly rid: string;
  readonly kind: KeyKind;
  readonly ranges: LiveRanges;
  /** How far each range had come when it answered last. */
  readonly sessions: Sessions;
  readonly governor: Governor;
  /** For those who ask by themselves; `fresh()` for each. */
  readonly patience: Patience;
}

/** A range as it is known; one that is gone by its name alone. */
function rangeIn({ ranges }: Side, id: string): { readonly id: string; readonly parents: readonly string[] } {
  return ranges.find(id) ?? { id, parents: [] };
}

/** What a range is asked with, so that nothing older answers than what was seen. */
export function tokenOf(side: Side, range: string): string | undefined {
  return side.sessions.of(rangeIn(side, range));
}
