/**
 * What throughput and storage cost in a month. Pure. The service bills each hour at the highest RU/s that were set in it,
 * in every region of the account.
 */
import type { Throughput } from '../../cosmos/container/throughput.ts';
import type { Prices } from '../../spec/money/prices.ts';

/** What the limits of the service mean by a gigabyte. */
export const GB = 1024 ** 3;

/** How an account is billed. */
export interface Billing {
  readonly kind: Throughput['kind'];
  readonly regions: number;
  readonly writeRegions: number;
}

const SECONDS_PER_HOUR = 3600;

/** Returns what RU/s cost for some hours, without storage. Serverless accounts pay for the RU that they use. */
export function throughputCost(
  ruPerSecond: number,
  hours: number,
  { billing, prices }: { readonly billing: Billing; readonly prices: Prices },
): number {
  if (billing.kind === 'serverless')
    return (ruPerSecond * hours * SECONDS_PER_HOUR * prices.serverlessPerMillionRu) / 1e6;
  return (ruPerSecond / 100) * hours * priceOf(billing, prices) * billing.regions * (1 - prices.discount);
}

/** Returns what stored bytes, data and index, cost in a month. */
export function storageCost(
  bytes: number,
  { billing, prices }: { readonly billing: Billing; readonly prices: Prices },
): number {
  return (bytes / GB) * prices.storagePerGbMonth * billing.regions;
}

/** Returns the price of 100 RU/s for an hour in one region. */
function priceOf({ kind, writeRegions }: Billing, prices: Prices): number {
  if (writeRegions > 1) return prices.multiWrite;
  return kind === 'autoscale' ? prices.autoscale : prices.manual;
}
