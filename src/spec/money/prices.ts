/**
 * Prices of the service, with their date and source. Invariant: no figure in money is computed from a price that is not in
 * the table, so every amount can be traced to it.
 */

export interface Prices {
  readonly currency: string;
  /** When the prices were read, as YYYY-MM-DD, and where. */
  readonly date: string;
  readonly source: string;
  /** For 100 RU/s during an hour, in each region. */
  readonly manual: number;
  readonly autoscale: number;
  /** For 100 RU/s during an hour of an account that writes in several regions: manual and autoscale cost the same. */
  readonly multiWrite: number;
  readonly serverlessPerMillionRu: number;
  readonly storagePerGbMonth: number;
  readonly hoursPerMonth: number;
  /** The part of the price of throughput that is not paid, such as 0.2 with reserved capacity for a year. */
  readonly discount: number;
}

/**
 * What Microsoft's documentation names for regions in the United States. Other regions cost more, Japan East for example
 * 0.009 for manual throughput.
 */
export const PRICES: Prices = {
  currency: 'USD',
  date: '2026-05-15',
  source: 'learn.microsoft.com/azure/cosmos-db: understand-your-bill, how-to-choose-offer (US regions)',
  manual: 0.008,
  autoscale: 0.012,
  multiWrite: 0.016,
  serverlessPerMillionRu: 0.25,
  storagePerGbMonth: 0.25,
  // Microsoft's own month in examples of bills.
  hoursPerMonth: 720,
  discount: 0,
};
