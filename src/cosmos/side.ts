/** One of the two containers of a migration, with all that is known of it while a run lasts. */
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { Budget } from '../spec/migration-spec.ts';
import { containerRecreated } from '../spec/refusals.ts';
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
  /** As the container was when the run began. */
  readonly facts: ContainerFacts;
  readonly ranges: LiveRanges;
  /** How far each range had come when it answered last. */
  readonly sessions: SessionTokens;
  readonly governor: Governor;
  /** `fresh()` for each piece of work that waits by itself. */
  readonly patience: Patience;
  readonly timeoutMs: number;
}

export interface SideParts {
  readonly account: Account;
  readonly facts: ContainerFacts;
  /** What of the container's RU/s may be spent. */
  readonly budget: Budget;
  readonly clock: Clock;
  readonly random: Random;
  readonly onWait: NonNullable<PatienceParts['onWait']>;
  /** How long a request waits for its reply. */
  readonly timeoutMs?: number;
}

export async function openSide(is: SideName, parts: SideParts, signal: AbortSignal): Promise<Side> {
  const { account, facts, budget, clock, random, onWait, timeoutMs = TIMEOUT_MS } = parts;
  const requests = new ContainerRequests(account, facts.name, facts.rid);
  const patience = new Patience({ clock, random, onWait });
  const ruPerSecond = allowedRu(is, budget, ruOf(facts.throughput));
  const governor = new Governor({ clock, random, ruPerSecond });
  const onChange = (gone: string, children: readonly string[]): void => governor.replace(gone, children);
  const ranges = await LiveRanges.read({ requests, patience, onChange, timeoutMs }, signal);
  return { is, requests, facts, ranges, sessions: new SessionTokens(), governor, patience, timeoutMs };
}

/** The session token to ask a range with, so that no replica answers that is older than what was seen. */
export function tokenOf(
  { ranges, sessions }: Pick<Side, 'ranges' | 'sessions'>,
  range: string,
): string | undefined {
  return sessions.of(ranges.find(range) ?? { id: range, parents: [] });
}

/** Throws when another container answers under this name. */
export function checkContainer({ is, facts }: Side, containerRid: string | undefined): void {
  if (containerRid === undefined || containerRid === facts.rid) return;
  throw containerRecreated(`${is} container`, { was: facts.rid, is: containerRid });
}
