/**
 * Asks the source where its documents would go as they are now. Invariant: a document is read by its id and its key, so an
 * answer does not depend on what was true when its page was read.
 */
import { mapKeyOfWords } from '../documents/hash.ts';
import { replyScan } from '../documents/page-scan.ts';
import type { Key } from '../documents/batch-body.ts';
import { readAll } from '../cosmos/bulk/point-reads.ts';
import type { Patience, Wait } from '../cosmos/load/retry.ts';
import { openSide, type SideParts } from '../cosmos/side.ts';
import { Rekey, rekeyPaths, type RekeyOptions } from '../keys/rekey.ts';

export interface SourceSlotsParts extends Pick<SideParts, 'clock' | 'random'> {
  readonly source: Pick<SideParts, 'account' | 'facts'>;
  readonly rekey: RekeyOptions;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly patience: Patience;
}

/** Returns the slot of each document; undefined: it is not there, or it would not be moved. */
export async function slotsNow(
  documents: ReadonlyArray<{ readonly id: string; readonly key: Key }>,
  { source, rekey, clock, random, signal, timeoutMs, patience }: SourceSlotsParts,
): Promise<ReadonlyArray<string | undefined>> {
  const onWait = (wait: Wait): void => patience.report(wait);
  const { account, facts } = source;
  const budget = { kind: 'automatic' } as const;
  const side = await openSide('source', { account, facts, budget, onWait, clock, random, timeoutMs }, signal);
  const replies = replyScan(rekeyPaths(rekey.plan));
  const reader = new Rekey(replies, rekey);
  const keep = (row: number): string =>
    reader.read(row, 0) === 'moves' ? mapKeyOfWords(reader.hashes, 4) : '';
  const addresses = documents.map(({ id, key }) => ({ id: Buffer.from(JSON.stringify(id)), key }));
  const answers = await readAll(addresses, { side, replies, keep, clock }, signal);
  return answers.map(({ value }) =>
    value === 'gone' || value === 'unreadable' || value === '' ? undefined : value,
  );
}
