/**
 * Says where the next page starts, as an opaque token that the client sends back.
 *
 * Invariant: a token names the query that it belongs to, or the order of an ordered query. A token of another query or
 * another order is refused, because with it a query would silently skip documents.
 */
import { createHash } from 'node:crypto';
import { Refusal } from '../../http/refusal.ts';
import { parseJson } from '../../json/json-value.ts';
import { decodeKeys, encodeKeys, type OrderKeys } from './ordering.ts';

export interface Resume {
  /**
   * The position of the last document that the page has processed, and the number of the last processed row among the
   * rows of this document.
   */
  readonly position: number;
  readonly index: number;
  /** The order keys of the last processed row; empty for a query without ORDER BY. */
  readonly keys: OrderKeys;
  /** How many items OFFSET has skipped so far, and how many were returned so far. */
  readonly skipped: number;
  readonly taken: number;
}

/** Returns a hash that identifies a query by its text and its parameters. */
export function queryFingerprint(query: string, parameters: unknown): string {
  const hash = createHash('sha256').update(`${JSON.stringify(query)}${JSON.stringify(parameters)}`);
  return hash.digest('base64url').slice(0, 22);
}

export function writeToken(query: string, resume: Resume): string {
  const { position, index, skipped, taken, keys } = resume;
  const parts = [query, position, index, skipped, taken, ...encodeKeys(keys)];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

export function readToken(query: string, token: string): Resume {
  const [owner, position, index, skipped, taken, ...encoded] = decoded(token);
  if (owner !== query) throw new Refusal(400, 'The continuation token belongs to another query.');
  const keys = decodeKeys(encoded);
  if (keys === undefined || !isWhole(position) || !isWhole(index) || !isWhole(skipped) || !isWhole(taken))
    throw malformed();
  return { position, index, skipped, taken, keys };
}

function decoded(token: string): readonly unknown[] {
  const parts = parseJson(Buffer.from(token, 'base64url').toString());
  if (!Array.isArray(parts)) throw malformed();
  return parts as readonly unknown[];
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function malformed(): Refusal {
  return new Refusal(400, 'Invalid Continuation Token: the continuation token is malformed.');
}
