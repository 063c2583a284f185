/**
 * Connects to both sides of a migration. Invariant: one account is opened and closed once, even if it is both sides.
 */
import type { Connections } from '../../spec/connection.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { connect, type Account } from './client.ts';
import { ServiceTime } from './service-time.ts';

export interface BothAccounts extends Disposable {
  readonly source: Account;
  /** The same object as `source` if both sides are in one account. */
  readonly target: Account;
}

export interface ConnectParts {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  /** The service's time of a command that connects more than once, so that it warns of a wrong clock once. */
  readonly serviceTime?: ServiceTime | undefined;
}

export async function connectBoth(
  { source, target }: Connections,
  { signal, clock, log, serviceTime = new ServiceTime(clock, log) }: ConnectParts,
): Promise<BothAccounts> {
  // Both sides share one service time, and the replies of both keep it right.
  const options = { signal, clock, serviceTime };
  const one = await connect(source, options);
  let other: Account;
  try {
    other = source === target ? one : await connect(target, options);
  } catch (error) {
    one[Symbol.dispose]();
    throw error;
  }
  return {
    source: one,
    target: other,
    [Symbol.dispose]: () => {
      one[Symbol.dispose]();
      if (other !== one) other[Symbol.dispose]();
    },
  };
}
