/** Orders for dead letters: those without a tenant lack the key, and two of one id and one tenant claim one slot. */
import type { Move, Order } from './move.ts';

export const NEEDS_KEY = { missingKey: ['dead-letter'] };

export function order(id: string, customerId: string, more: object = { tenantId: 't' }): Order {
  return { id, customerId, ...more };
}

/** Two documents that claim one slot. */
export function both(id: string): Order[] {
  return [order(id, 'a'), order(id, 'b')];
}

/** The customers of the documents of a collision: of the one in the target, and of the one with the letter. */
export async function sidesOf(move: Move, id: string): Promise<readonly [winner: string, loser: string]> {
  const copies = await move.documents(move.target);
  return copies.find((copy) => copy.id === id)?.['customerId'] === 'a' ? ['a', 'b'] : ['b', 'a'];
}

/** The customer whose document is not in the target. */
export async function loserOf(move: Move, id: string): Promise<string> {
  return (await sidesOf(move, id))[1];
}
