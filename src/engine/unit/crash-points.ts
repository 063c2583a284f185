/** The moments at which a crash hurts most, by name: a test may strike there. */
export type Point =
  | 'anchored'
  | 'page-read'
  | 'intended'
  /** Every write of a page has its outcome, and nothing of that is in the ledger. */
  | 'written'
  | 'committed'
  | 'takeover-intended'
  /** Written to its new slot, and still in the old one. */
  | 'moved'
  | 'removed'
  | 'settled'
  | 'lease-replaced'
  | 'caught-up'
  | 'index-step'
  | 'letter-promoted'
  | 'cut-over';
