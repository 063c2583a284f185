/**
 * Where the next page starts, as the opaque token a client hands back. It names the query it belongs to;
 * anything else is refused, because resuming a different query would skip documents silently.
 */
import { createHash } from 'node:crypto';
import { Refusal } from '../../http/refusal.ts';
import type { OrderKey } from './order-key.ts';
import { decodeKey, encodeKey } from './order-key.ts';

export interface Resume {
  /** The last document a page has dealt with. */
  readonly position: number;
  /** That document's order value; undefined for a query without ORDER BY. */
  readonly key: OrderKey | undefined;
  /** How many items OFFSET has left out so far, and how many were returned. */
  readonly skipped: number;
  readonly taken: number;
}

/** What a query is known by: its text and its parameters. */
export function queryFingerprint(query: string, parameters: unknown): string {
  const hash = createHash('sha256').update(`${JSON.stringify(query)}${JSON.stringify(parameters)}`);
  return hash.digest('base64url').slice(0, 22);
}

export function writeToken(query: string, resume: Resume): string {
  const key = resume.key && encodeKey(resume.key);
  const parts = [query, resume.position, resume.skipped, resume.taken, ...(key ?? [])];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

export function readToken(query: string, token: string): Resume {
  const [owner, position, skipped, taken, ...key] = decoded(token);
  if (owner !== query) throw new Refusal(400, 'The continuation token belongs to another query.');
  if (!isWhole(position) || !isWhole(skipped) || !isWhole(taken)) throw malformed();
  if (key.length === 0) return { position, skipped, taken, key: undefined };
  return { position, skipped, taken, key: decodeKey(key) ?? refuse() };
}

function decoded(token: string): readonly unknown[] {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    throw malformed();
  }
  return Array.isArray(parts) ? (parts as readonly unknown[]) : refuse();
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function refuse(): never {
  throw malformed();
}

function malformed(): Refusal {
  return new Refusal(400, 'The continuation token is malformed.');
}
