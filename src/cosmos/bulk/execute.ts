/**
 * Carries out one batch: sends it, and gives each operation a result. Invariant: if one operation makes the service
 * refuse a whole request, each operation is sent alone to find it; a read that has a probe is never answered by a
 * replica that lacks a write of this process; only trouble that waiting cannot cure is thrown.
 */
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import { assert, must } from '../../lib/assert.ts';
import { lsnOf } from '../feed/session-tokens.ts';
import { tokenOf, type Side } from '../side.ts';
import { TroubleError, type Trouble } from '../transport/trouble.ts';
import { sendBatch, type BatchResult, type OperationReply } from './batch-request.ts';
import { batchOf, RequestBodies, type Batch } from './batcher.ts';
import type { BatchReply, OperationResult, RangeOperation, Refused } from './operation.ts';

/** The service's final answer to one operation: carried out, or rejected. */
export interface Decision<D> {
  readonly status: number;
  readonly substatus: number;
  /** What `keep` returned for the document that a read found; undefined for a write, or if no document was found. */
  readonly document?: D;
  /** For a read: the LSN of its range when the service answered. */
  readonly lsn?: number | undefined;
  /** For a write, if etags are wanted: the etag of the document that was written. */
  readonly etag?: string | undefined;
}

export interface ExecutorParts<D> {
  readonly side: Side;
  /** The scan that reads the replies. */
  readonly replies: PageScan<ReplyNodes>;
  /** Low: the service serves the users of the container first. */
  readonly priority?: 'Low';
  /** Returns what to keep of a document that was read. The document is row `row` of `replies` until the next scan. */
  readonly keep: (row: number, etag: string) => D;
  /** Whether the etags of written documents are wanted. */
  readonly etags?: boolean;
  /** Called before each request. */
  readonly beforeRequest?: () => void;
}

type Sent<D> = Batch<RangeOperation<Decision<D>>>;
type Reply<D> = BatchReply<Decision<D>>;
type EachReply<D> = Reply<D> & { readonly results: readonly OperationResult<Decision<D>>[] };

/** Result of every successful create. All share one object, because most operations are creates. */
const CREATED = { is: 'done', value: { status: 201, substatus: 0 } } as const;

const ALL_CREATED = { is: 'created' } as const;

function isReadingIn<D>(batch: Sent<D>): boolean {
  return batch.singles.some(({ isRead }) => isRead);
}

export class BatchExecutor<D> {
  readonly #parts: ExecutorParts<D>;
  readonly #bodies = new RequestBodies();
  /** Ranges whose session token covers every write of this process. */
  readonly #covered = new Set<string>();
  /** Number of calls of `giveUpSessions`. A probe that was sent before the last call proves nothing. */
  #givenUp = 0;

  constructor(parts: ExecutorParts<D>) {
    this.#parts = parts;
  }

  /**
   * From now on every range is probed before its next read, because a write whose reply was lost may have been carried
   * out since.
   */
  giveUpSessions(): void {
    this.#covered.clear();
    this.#givenUp += 1;
  }

  async execute(range: string, batch: Sent<D>, signal: AbortSignal): Promise<Reply<D>> {
    const probed = this.#covered.has(range)
      ? undefined
      : batch.singles.find(({ probe }) => probe !== undefined);
    const refusal = probed === undefined ? undefined : await this.#probe(range, probed, signal);
    return refusal ?? this.#send(range, batch, signal);
  }

  /**
   * Sends a write that makes the session of the range cover all our writes. Returns the reply for the batch if the
   * outcome of the write is not known or the write has to be sent again; otherwise undefined.
   */
  async #probe(
    range: string,
    { probe, ...read }: RangeOperation<Decision<D>>,
    signal: AbortSignal,
  ): Promise<Reply<D> | undefined> {
    const givenUp = this.#givenUp;
    const write = { ...read, ...must(probe, 'a probed read has its probe'), isRead: false };
    const reply = await this.#sendEach(range, batchOf([write]), signal);
    const result = must(reply.results[0], 'a probe has its result');
    // Nothing was read yet, so the whole batch is sent again. Whether a lost probe was carried out does not matter.
    if (result.is === 'refused') return { ...reply, results: result };
    if (result.is === 'ambiguous') return { ...reply, results: unanswered(result.cause) };
    // A 400 refuses the probe for its id, without looking for the document, so it proves nothing about the session.
    if (result.value.status !== 400 && givenUp === this.#givenUp) this.#covered.add(range);
    return undefined;
  }

  async #send(range: string, batch: Sent<D>, signal: AbortSignal): Promise<Reply<D>> {
    const result = await this.#request(range, batch, signal);
    if (!result.answered && isSpoiled(result.trouble)) return this.#sendEach(range, batch, signal);
    if (result.answered && result.areCreated) return { chargeRu: result.chargeRu, results: ALL_CREATED };
    return this.#replyOf(batch, result);
  }

  /** Sends each operation alone. Done after a whole request was refused because of its content. */
  async #sendEach(range: string, { operations }: Sent<D>, signal: AbortSignal): Promise<EachReply<D>> {
    let chargeRu = 0;
    const results: OperationResult<Decision<D>>[] = [];
    for (const operation of operations) {
      const alone = batchOf([operation]);
      const result = await this.#request(range, alone, signal);
      const { trouble } = result.answered ? { trouble: undefined } : result;
      if (trouble !== undefined && isSpoiled(trouble)) {
        // The refusal says nothing about the document; returned as the read's answer, it would mean that the document
        // is gone.
        if (operation.isRead) throw new TroubleError(trouble);
        chargeRu += trouble.chargeRu;
        const { status, substatus } = trouble;
        results.push({ is: 'done', value: { status, substatus } });
        continue;
      }
      const reply = this.#replyOf(alone, result);
      chargeRu += reply.chargeRu;
      results.push(...reply.results);
    }
    return { chargeRu, results };
  }

  async #request(range: string, batch: Sent<D>, signal: AbortSignal): Promise<BatchResult> {
    const { side, replies, priority, beforeRequest, etags = false } = this.#parts;
    const isReading = isReadingIn(batch);
    const sessionToken = isReading ? tokenOf(side, range) : undefined;
    const body = this.#bodies.make(batch);
    beforeRequest?.();
    const result = await sendBatch(
      side.requests,
      {
        rangeId: range,
        body: body.bytes,
        count: batch.count,
        ...(isReading ? { reads: (i: number) => batch.operations[i]?.isRead === true } : {}),
        creates: !etags && batch.onlyRuns !== undefined,
        minimalReply: true,
        ...(etags ? { etags } : {}),
        ...(priority === undefined ? {} : { priority }),
        signal,
        timeoutMs: side.timeoutMs,
        ...(sessionToken === undefined ? {} : { sessionToken }),
      },
      replies,
    );
    if (result.answered) {
      body.free();
      // The outcomes have been read. Only documents that were read are still needed.
      if (!isReading) result.free();
    }
    side.sessions.add(result.answered ? result.sessionToken : result.trouble.sessionToken);
    return result;
  }

  #replyOf(batch: Sent<D>, result: BatchResult): EachReply<D> {
    if (!result.answered) {
      const { trouble } = result;
      return { chargeRu: trouble.chargeRu, results: batch.operations.map((one) => inTrouble(one, trouble)) };
    }
    const { outcomes, chargeRu, bytes, sessionToken } = result;
    const isReading = isReadingIn(batch);
    // The scan may hold another reply by now, so this reply is scanned again.
    if (isReading) this.#parts.replies.scan(bytes);
    const lsn = isReading ? lsnOf(sessionToken) : undefined;
    return {
      chargeRu,
      results: batch.operations.map((operation, row) => {
        const reply = must(outcomes[row], 'a reply has an outcome for each operation');
        if (reply.status === 201 && this.#parts.etags !== true) return CREATED;
        return operation.isRead ? this.#readResult(reply, row, lsn) : writeResult(operation, reply);
      }),
    };
  }

  #readResult(reply: OperationReply, row: number, lsn: number | undefined): OperationResult<Decision<D>> {
    const { kind, status, substatus, etag = '' } = reply;
    if (kind === 'done')
      return { is: 'done', value: { status, substatus, document: this.#parts.keep(row, etag), lsn } };
    // 400 for one read of an accepted batch: the service does not accept this id. The caller decides what this means.
    if (kind === 'missing' || status === 400) return { is: 'done', value: { status, substatus, lsn } };
    const trouble = troubleIn(reply, 'a read');
    // 413: this document did not fit into the reply. The read succeeds in another batch.
    return inTrouble(READ, status === 413 ? { ...trouble, kind: 'transient' } : trouble);
  }
}

const READ = { isRead: true } as const;

function writeResult(
  operation: Pick<RangeOperation<never>, 'isRead'>,
  reply: OperationReply,
): OperationResult<Decision<never>> {
  const { kind, status, substatus, etag } = reply;
  const isDecided =
    // A 400 refuses the document itself.
    kind === 'done' || kind === 'missing' || kind === 'conflict' || kind === 'too-large' || status === 400;
  return isDecided
    ? { is: 'done', value: etag === undefined ? { status, substatus } : { status, substatus, etag } }
    : inTrouble(operation, troubleIn(reply, 'a write'));
}

/** Whether the service refused a whole request because of the content of one operation. */
function isSpoiled({ status, kind }: Trouble): boolean {
  return status === 400 || kind === 'too-large';
}

/** Decides how an operation in trouble ended: refused, or ambiguous. Throws trouble that ends the run. */
function inTrouble(
  { isRead }: Pick<RangeOperation<never>, 'isRead'>,
  trouble: Trouble,
): Refused | { readonly is: 'ambiguous'; readonly cause: TroubleError } {
  const { kind } = trouble;
  switch (kind) {
    case 'throttled':
    case 'transient':
    case 'denied':
    case 'split':
      return { is: 'refused', kind, trouble };
    case 'ambiguous':
      if (isRead) return { is: 'refused', kind: 'transient', trouble };
      return { is: 'ambiguous', cause: new TroubleError(trouble) };
    case 'conflict':
    case 'too-large':
    case 'fatal':
      throw new TroubleError(trouble);
    default:
      return kind satisfies never;
  }
}

function troubleIn({ kind, status, substatus, chargeRu, retryAfterMs }: OperationReply, to: string): Trouble {
  assert(kind !== 'done' && kind !== 'missing', 'an operation that was carried out is not in trouble');
  const code = substatus === 0 ? String(status) : `${status}/${substatus}`;
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { kind, status, substatus, what: `the service answered ${code} to ${to}`, chargeRu, ...hint };
}

/** Returns the refusal that stands for a missing reply. Only for operations that may be sent again, such as reads. */
export function unanswered(cause: unknown): Refused {
  const trouble: Trouble = {
    kind: 'transient',
    status: 0,
    substatus: 0,
    what: 'the service did not answer',
    chargeRu: 0,
    cause,
  };
  return { is: 'refused', kind: 'transient', trouble };
}
