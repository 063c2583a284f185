/** A migration whose every request passes through a tap, with small pages, so that a test may strike between two of them. */
import { expect } from 'vitest';
import type { RunSnapshot } from '../../../src/engine/run.ts';
import { Move, type MoveOptions, type Order } from './move.ts';
import { Tap, type Meddle, type TapRequest } from './tap.ts';

export const SOURCE = 'shop/orders';
export const TARGET = 'shop/by-tenant';
/** Five documents a page. */
const PAGED = { pageBytes: 2000 };
/** As many as a person would click at once. */
const TOGETHER = 40;

export class Tapped implements AsyncDisposable {
  readonly move: Move;
  readonly tap: Tap;

  private constructor(move: Move, tap: Tap) {
    this.move = move;
    this.tap = tap;
  }

  static async open(options: MoveOptions = {}): Promise<Tapped> {
    const move = await Move.open({ ...options, settings: { ...PAGED, ...options.settings } });
    const tap = await Tap.open(move.emulator);
    move.connectionString = tap.connectionString;
    return new Tapped(move, tap);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tap[Symbol.asyncDispose]();
    await this.move[Symbol.asyncDispose]();
  }
}

export function order(n: number, more: object = {}): Order {
  return { id: `o${n}`, customerId: `c${n % 29}`, tenantId: `t${n % 5}`, n, ...more };
}

export function orders(count: number, more: object = {}): Order[] {
  return Array.from({ length: count }, (_, n) => order(n, more));
}

/** Writes them all, several at once. */
export async function write({ source }: Move, documents: readonly Order[]): Promise<void> {
  for (let at = 0; at < documents.length; at += TOGETHER)
    await Promise.all(documents.slice(at, at + TOGETHER).map((one) => source.items.upsert(one)));
}

/** A page that is read behind another one; where the feed ends is asked for in another way. */
export function isLaterPage({ what, container, headers }: TapRequest): boolean {
  const from = headers['if-none-match'];
  return what === 'read-feed' && container === 'orders' && from !== undefined && from !== '*';
}

/** A batch of operations on the documents of one container. */
export function isBatchOf(id: string): (request: TapRequest) => boolean {
  return ({ what, container }) => what === 'batch' && container === id;
}

/** Does something right before the nth such request is answered. */
export function before(
  matches: (request: TapRequest) => boolean,
  steps: Readonly<Record<number, (request: TapRequest) => Promise<unknown> | void>>,
): Meddle {
  let count = 0;
  return async (request, forward) => {
    if (matches(request)) {
      count += 1;
      await steps[count]?.(request);
    }
    return forward();
  };
}

/** Anchors a migration and stops there: what is run next has no preflight, and meets the copy alone. */
export async function begin(move: Move): Promise<void> {
  const drain = new AbortController();
  const begun = move.run('copy', {
    drain: drain.signal,
    onPoint: (point) => {
      if (point === 'anchored') drain.abort(new Error('it has begun'));
    },
  });
  await expect(begun).rejects.toThrow('it has begun');
}

/** Every fault that was asked for has struck. */
export async function expectStruck({ admin }: Move): Promise<void> {
  const { faults } = (await admin.state()) as { faults: { rules: { fired: number }[] } };
  expect(faults.rules.length).toBeGreaterThan(0);
  expect(Math.min(...faults.rules.map(({ fired }) => fired))).toBeGreaterThan(0);
}

/** Nothing is missing, nothing is there that should not be. */
export async function expectSame(move: Move, snapshot?: RunSnapshot): Promise<void> {
  expect(snapshot?.documents.deadLettered ?? 0).toBe(0);
  expect(await move.documents(move.target)).toEqual(await move.documents(move.source));
}
