/**
 * The limits that figures are compared with, each with its source. The facts are numbered in
 * docs/internals/service-facts.md.
 */
import { KEY_BYTES_ALERT, KEY_BYTES_MAX } from '../../cosmos/container/large-keys.ts';

export interface Limit {
  readonly value: number;
  readonly source: string;
}

const GB = 1024 ** 3;
/** Fact SVC-9. */
const LOGICAL = "Microsoft's service quotas";

/** The most bytes of data and index that a key value may have: then the service refuses its writes. */
export const VALUE_BYTES_MAX: Limit = { value: KEY_BYTES_MAX, source: LOGICAL };
/** The size of a key value at which Microsoft's own example raises an alert: 70 % of the limit (fact SVC-9). */
export const VALUE_BYTES_ALERT: Limit = {
  value: KEY_BYTES_ALERT,
  source: "Microsoft's example of an alert at 70 % of the limit",
};
/** The most RU/s that a physical partition has, and so the most that one key value can use. */
export const PARTITION_RU_MAX: Limit = { value: 10_000, source: LOGICAL };
/** The most bytes of a physical partition (fact SVC-10). */
export const PARTITION_BYTES_MAX: Limit = { value: 50 * GB, source: "Microsoft's service quotas" };
/** "Hundreds or thousands" of values, says Microsoft's page of synthetic keys (fact SVC-13). */
export const VALUES_MIN: Limit = {
  value: 100,
  source: "Microsoft's page of synthetic partition keys",
};
/** The number of physical partitions above which the choice of a key starts to matter. */
export const PARTITIONS_THAT_MATTER: Limit = { value: 5, source: "Microsoft's page of partitioning" };
/** A value with a larger share of all documents is more than its part on any container of ten partitions. */
export const TOP_SHARE_MAX: Limit = {
  value: 0.1,
  source: 'a rule of thumb: the part of one partition in ten',
};
/** A value with a larger share of the last hour's writes makes one partition do most of the work. */
export const RECENT_SHARE_MAX: Limit = {
  value: 0.25,
  source: 'a rule of thumb: a quarter of all writes',
};
/** With fewer writes in an hour, the share of one value is chance. */
export const RECENT_WRITES_MIN = 50;
/** A larger share of documents without a value makes their common, undefined value a big one (fact SVC-3). */
export const MISSING_SHARE_MAX: Limit = {
  value: 0.01,
  source: 'documents without a value share one logical partition',
};
/** A larger share of updates that move a document costs a write and a delete instead of a replace, often. */
export const MOVES_SHARE_MAX: Limit = {
  value: 0.01,
  source: 'a rule of thumb: a move is a create and a delete',
};
/** A larger share of executions that ask every partition makes reads dearer with every partition. */
export const FAN_OUT_SHARE_MAX: Limit = { value: 0.1, source: "the threshold of Azure's account dashboard" };
