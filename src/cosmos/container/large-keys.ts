/**
 * Asks the service which key values of a container hold much data. It answers from samples and names only large ones, so
 * an empty answer proves nothing.
 */
import type { RequestOptions } from '@azure/cosmos';
import type { Account } from '../account/client.ts';
import { control, type ControlCall } from '../account/control-plane.ts';
import { memberOf } from '../../lib/json/json.ts';
import type { ContainerName } from '../transport/container-requests.ts';

const GB = 1024 ** 3;

/** The most bytes of data and index that a key value may have: then the service refuses its writes (fact SVC-9). */
export const KEY_BYTES_MAX = 20 * GB;
/** The size at which Microsoft's own example raises an alert: 70 % of the limit. */
export const KEY_BYTES_ALERT = 14 * GB;

/** A key value, such as `["amber"]`, and about how much it holds. */
export interface LargeKey {
  readonly key: string;
  readonly bytes: number;
}

/** Returns the key values that hold at least this much, as far as the service names them, the largest first. */
export async function largeKeys(
  account: Account,
  { database, container }: ContainerName,
  atLeastBytes: number,
  call: ControlCall,
): Promise<LargeKey[]> {
  const work = async ({ initialHeaders, ...options }: RequestOptions): Promise<unknown> => {
    const headers = { ...initialHeaders, 'x-ms-documentdb-populatepartitionstatistics': 'true' };
    const { resource } = await account.client
      .database(database)
      .container(container)
      .read({ ...options, initialHeaders: headers });
    return resource;
  };
  const seen = await control(account, call, work);
  return listAt(seen?.value, 'statistics')
    .flatMap((range) => listAt(range, 'partitionKeys'))
    .flatMap((one) => {
      const kb = memberOf(one, 'sizeInKB');
      return typeof kb === 'number'
        ? [{ key: JSON.stringify(memberOf(one, 'partitionKey')), bytes: kb * 1024 }]
        : [];
    })
    .filter(({ bytes }) => bytes >= atLeastBytes)
    .toSorted((a, b) => b.bytes - a.bytes);
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}
