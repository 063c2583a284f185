/** The key value of one level; undefined for a missing value (None in the SDK). */
export type KeyComponent = string | number | boolean | null | undefined;
