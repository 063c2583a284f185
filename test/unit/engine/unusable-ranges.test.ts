/** A run that ends because a list of ranges leaves a gap: what its ledger keeps of that. */
import { expect, test } from 'vitest';
import { readRanges } from '../../../src/cosmos/feed/ranges.ts';
import { noteUnusable } from '../../../src/engine/unusable-ranges.ts';
import type { JournalEvent } from '../../../src/state/journal.ts';

const GAP = Buffer.from(
  '{"PartitionKeyRanges":[{"id":"1","minInclusive":"","maxExclusive":"80","parents":["0"]}]}',
);
const LISTED = {
  status: 200,
  substatus: 0,
  chargeRu: 0,
  sessionToken: undefined,
  body: GAP,
  free: () => {},
  header: () => undefined,
};

test('unusable ranges: containers of the same name in two accounts -> the side that listed them', async () => {
  const noted: JournalEvent[] = [];
  const journal = { append: (event: JournalEvent) => void noted.push(event), unusableRanges: () => null };
  for (const is of ['source', 'target'] as const) {
    const requests = { is, feed: async () => ({ ok: true, reply: LISTED }) as const };
    const signal = new AbortController().signal;
    const error: unknown = await readRanges(requests, { signal }).catch((thrown: unknown) => thrown);
    noteUnusable({ journal }, error, 1);
  }
  const what = "there is a gap in the list of ranges at '80'";
  expect(noted).toEqual([
    { event: 'ranges unusable', container: 'source', what },
    { event: 'ranges unusable', container: 'target', what },
  ]);
});
