/** What an account says of itself: its name, its regions, its consistency and its clock. */
import type { DatabaseAccount, RequestOptions } from '@azure/cosmos';
import { memberOf } from '../../lib/json/json.ts';
import type { Account } from './client.ts';
import { control, isForbidden, type ControlCall } from './control-plane.ts';

export interface AccountDescription {
  /** The account's name, the same behind each of its endpoints. */
  readonly id: string | null;
  /** Whether more than one region accepts writes. */
  readonly multiWrite: boolean;
  /** The regions that serve reads, in the order of the service. */
  readonly regions: readonly string[];
  readonly consistency: string | null;
  /** How far this machine's clock is ahead of the service's, to about a second; null: the reply had no date. */
  readonly clockAheadMs: number | null;
}

/** Reads the description of an account; undefined if the caller may not read it. */
export async function describeAccount(
  account: Account,
  call: ControlCall,
): Promise<AccountDescription | undefined> {
  const work = async (options: RequestOptions): Promise<DatabaseAccount | undefined> =>
    (await account.client.getDatabaseAccount(options)).resource;
  const seen = await control(account, call, work, isForbidden);
  if (seen?.value === undefined) return undefined;
  const nowMs = account.clock.now();
  const { enableMultipleWritableLocations, writableLocations, readableLocations } = seen.value;
  // The SDK drops the id, so it is read from the body.
  const body: unknown = JSON.parse(seen.body.toString());
  const serviceMs = Date.parse(seen.header('date') ?? '');
  return {
    id: textOrNull(memberOf(body, 'id')),
    multiWrite: enableMultipleWritableLocations || writableLocations.length > 1,
    regions: readableLocations.map(({ name }) => name),
    consistency: textOrNull(memberOf(memberOf(body, 'userConsistencyPolicy'), 'defaultConsistencyLevel')),
    clockAheadMs: Number.isNaN(serviceMs) ? null : nowMs - serviceMs,
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
