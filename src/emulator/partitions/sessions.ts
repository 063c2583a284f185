/**
 * Session tokens, and how much of a range a reader sees.
 *
 * Invariant: a read without a token sees the range at least as it was `replicaLagMs` ago. A read with the token of a
 * write sees at least that write.
 */
import type { LocalAccount } from '../account/account.ts';
import type { RangeModel } from './ranges.ts';
import { badRequest, Refusal } from '../http/refusal.ts';

/** Returns a session token in the form that the SDK parses: `<range>:<version>#<lsn>`. */
export function sessionToken(range: RangeModel, lsn: number): string {
  return `${range.id}:-1#${lsn}`;
}

/** The first protocol version whose clients know tokens with a vector. Older clients know only `<range>:<lsn>`. */
const VECTOR_TOKENS_SINCE = '2018-06-18';

/** Returns session tokens in the form that a client of this protocol version parses. */
export function sessionTokensFor(version: string | undefined, tokens: string): string {
  return version === undefined || version >= VECTOR_TOKENS_SINCE ? tokens : tokens.replaceAll(':-1#', ':');
}

/** The substatus of a 404 whose cause is the session token, not a missing document. */
export const READ_SESSION_UNAVAILABLE = 1002;

function tokenLsn(header: string, range: RangeModel): number | undefined {
  const known = new Set([String(range.id), ...range.parents.map(String)]);
  let newest: number | undefined;
  for (const part of header.split(',')) {
    const [id, vector = ''] = part.trim().split(':');
    if (id === undefined || !known.has(id)) continue;
    const digits = vector.includes('#') ? (vector.split('#')[1] ?? '') : vector;
    if (!/^\d{1,16}$/.test(digits)) throw badRequest(`The session token ${part} is invalid.`);
    newest = Math.max(newest ?? 0, Number(digits));
  }
  return newest;
}

function laggingLsn(range: RangeModel, cutoffMs: number): number {
  const first = range.commits[0];
  if (first === undefined) return range.lsn;
  let seen = first.lsn - 1;
  for (const commit of range.commits) {
    if (commit.atMs > cutoffMs) break;
    seen = commit.lsn;
  }
  return seen;
}

/** Returns the LSN of the newest transaction of a range that the reader with this token sees. */
export function visibleLsn(account: LocalAccount, range: RangeModel, token: string | undefined): number {
  const asked = token === undefined || token === '' ? undefined : tokenLsn(token, range);
  if (asked !== undefined && asked > range.lsn && !account.deviates('future-tokens-served')) {
    throw new Refusal(404, 'The read session is not available for the input session token.', {
      substatus: READ_SESSION_UNAVAILABLE,
    });
  }
  const lagMs = account.settings.replicaLagMs;
  if (lagMs === 0) return range.lsn;
  return Math.max(laggingLsn(range, account.machineMs() - lagMs), asked ?? 0);
}
