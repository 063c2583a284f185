/**
 * Documents read one by one, in batches of reads to their ranges. Invariant: an answer is no older than anything that
 * was seen of its range; every document that was asked for gets one answer; reads count against the side's budget and
 * give way to the users of the container.
 */
import { BatchBody, type Key } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import { effectiveKey } from '../../epk/effective-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { group } from '../../lib/group.ts';
import type { Wait } from '../load/retry.ts';
import type { Side } from '../side.ts';
import { RangeDispatcher } from './dispatcher.ts';
import { BatchExecutor, type Decision } from './execute.ts';
import { madeText, type OperationEnd } from './operation.ts';

/** By what the service finds a document. */
export interface DocumentAddress {
  /** As JSON text. */
  readonly id: Buffer;
  readonly key: Key;
}

export interface PointAnswer<D> {
  /** `unreadable`: the service does not take such an id, which does not prove that the document is gone. */
  readonly value: D | 'gone' | 'unreadable';
  /** How far the range had come. */
  readonly lsn: number;
}

export interface PointReadsParts<D> {
  readonly side: Side;
  /** Scans the replies. */
  readonly replies: PageScan<ReplyNodes>;
  /** What to keep of a document that was read: it is in row `row` of `replies` until the next scan. */
  readonly keep: (row: number, etag: string) => D;
  readonly clock: Clock;
  /** Called with the service's time of each reply, before what is in the reply is looked at. */
  readonly seeDate?: (date: string | undefined) => void;
  readonly onWait?: (wait: Wait) => void;
}

export class PointReads<D> {
  /** Carries out the reads, while it runs. */
  readonly dispatcher: RangeDispatcher<Decision<D>>;
  readonly #side: Side;
  readonly #body = new BatchBody(new ByteOutput());

  constructor({ side, replies, keep, clock, seeDate, onWait }: PointReadsParts<D>) {
    const executor = new BatchExecutor({ side, replies, keep, seeDate, priority: 'Low' });
    this.#side = side;
    this.dispatcher = new RangeDispatcher({ side, executor, clock, onWait });
  }

  async read({ id, key }: DocumentAddress): Promise<PointAnswer<D>> {
    this.#body.clear();
    this.#body.read(key, { id });
    const text = madeText(Uint8Array.prototype.slice.call(this.#body.out.view(), 1));
    const outcome = await new Promise<OperationEnd<Decision<D>>>((complete) => {
      this.dispatcher.add({
        ...text,
        effectiveKey: effectiveKey(this.#side.facts.keyKind, key),
        isRead: true,
        complete,
      });
    });
    if (outcome.is !== 'done') throw failureOf(outcome);
    const { document, status, lsn = Number.MAX_SAFE_INTEGER } = outcome.value;
    return { value: document ?? (status === 400 ? 'unreadable' : 'gone'), lsn };
  }
}

/** An answer for each document, in their order. */
export async function readAll<D>(
  documents: readonly DocumentAddress[],
  parts: PointReadsParts<D>,
  signal: AbortSignal,
): Promise<readonly PointAnswer<D>[]> {
  return group(signal, async (members) => {
    const reads = new PointReads({ onWait: (wait) => parts.side.patience.report(wait), ...parts });
    members.start(async (inner) => reads.dispatcher.run(inner));
    const answers = await Promise.all(documents.map(async (one) => reads.read(one)));
    reads.dispatcher.drain();
    return answers;
  });
}

/** Why a read was not answered. */
export function failureOf({ cause }: Exclude<OperationEnd<unknown>, { is: 'done' }>): Error {
  return cause instanceof Error ? cause : new Error('a read was not answered', { cause });
}
