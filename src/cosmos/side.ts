/** The source or the target container of a migration, with what a run needs to use it. */
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { Budget } from '../spec/migration-spec.ts';
import type { Account } from './account/client.ts';
import type { ContainerFacts } from './container/inspect.ts';
import { ruOf } from './container/throughput.ts';
import { LiveRanges } from './feed/live-ranges.ts';
import { SessionTokens } from './feed/session-tokens.ts';
import { Governor } from './load/governor.ts';
import { Patience, type PatienceParts } from './load/retry.ts';
import { allowedRu } from './load/ru-budget.ts';
import { ContainerRequests, TIMEOUT_MS } from './transport/container-requests.ts';

export type SideName = 'source' | 'target';

export interface Side {
  readonly is: SideName;
  readonly requests: ContainerRequests;
  /** Settings and partition key of the container when the run began. */
  readonly facts: ContainerFacts;
  readonly ranges: LiveRanges;
  /** The session token of each range: how far the range had come when it last answered. */
  readonly sessions: SessionTokens;
  readonly governor: Governor;
  /** How long trouble is waited out. Each piece of work that waits by itself gets a `fresh()` copy. */
  readonly patience: Patience;
  readonly timeoutMs: number;
}

export interface SideParts {
  readonly account: Account;
  readonly facts: ContainerFacts;
  /** The part of the container's RU/s that may be spent. */
  readonly budget: Budget;
  readonly clock: Clock;
  readonly random: Random;
  readonly onWait: NonNullable<PatienceParts['onWait']>;
  /** How long a request waits for its reply. */
  readonly timeoutMs?: number;
}

export async function openSide(is: SideName, parts: SideParts, signal: AbortSignal): Promise<Side> {
  const { account, facts, budget, clock, random, onWait, timeoutMs = TIMEOUT_MS } = parts;
  const requests = new ContainerRequests(account, facts.name, { rid: facts.rid, is });
  const patience = new Patience({ clock, random, onWait });
  const ruPerSecond = allowedRu(is, budget, ruOf(facts.throughput));
  const governor = new Governor({ clock, random, ruPerSecond });
  const onChange = (gone: string, children: readonly string[]): void => governor.replace(gone, children);
  const ranges = await LiveRanges.read({ requests, patience, onChange, timeoutMs }, signal);
  return { is, requests, facts, ranges, sessions: new SessionTokens(), governor, patience, timeoutMs };
}

/**
 * Returns the session token for a read of a range. A replica that lacks something already seen of the range does not
 * answer a read with this token.
 */
export function tokenOf(
  { ranges, sessions }: Pick<Side, 'ranges' | 'sessions'>,
  range: string,
): string | undefined {
  return sessions.of(ranges.find(range) ?? { id: range, parents: [] });
}
