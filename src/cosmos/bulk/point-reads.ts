/**
 * Reads documents one by one, in batches of reads to their ranges. Invariant: an answer is never older than what the
 * session has seen of its range; each document that was asked for gets one answer; reads are charged to the side's
 * budget, with a lower priority than the users of the container.
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

/** The id and the key of a document, by which the service finds it. */
export interface DocumentAddress {
  /** The id as JSON text. */
  readonly id: Buffer;
  readonly key: Key;
}

export interface PointAnswer<D> {
  /** `unreadable`: the service does not accept this id, which does not prove that the document is gone. */
  readonly value: D | 'gone' | 'unreadable';
  /** LSN of the range when the service answered. */
  readonly lsn: number;
}

export interface PointReadsParts<D> {
  readonly side: Side;
  /** The scan that reads the replies. */
  readonly replies: PageScan<ReplyNodes>;
  /** Returns what to keep of a document that was read. The document is row `row` of `replies` until the next scan. */
  readonly keep: (row: number, etag: string) => D;
  readonly clock: Clock;
  readonly onWait?: (wait: Wait) => void;
}

export class PointReads<D> {
  /** Sends the reads, but only while its `run` is running. The caller has to start `run`. */
  readonly dispatcher: RangeDispatcher<Decision<D>>;
  readonly #side: Side;
  readonly #body = new BatchBody(new ByteOutput());

  constructor({ side, replies, keep, clock, onWait }: PointReadsParts<D>) {
    const executor = new BatchExecutor({ side, replies, keep, priority: 'Low' });
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

/** Reads all documents; returns the answers in their order. */
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

/** Returns the reason why a read was not answered. */
export function failureOf({ cause }: Exclude<OperationEnd<unknown>, { is: 'done' }>): Error {
  return cause instanceof Error ? cause : new Error('a read was not answered', { cause });
}
