/**
 * Carries out one batch: sends it, and gives each operation a result. Invariant: an operation that spoils a whole
 * request is found by sending each one alone; a probed read is answered by no replica that is behind our own writes;
 * only trouble that waiting cannot cure is thrown.
 */
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import { assert, must } from '../../lib/assert.ts';
import { lsnOf } from '../feed/session-tokens.ts';
import { tokenOf, type Side } from '../side.ts';
import { TroubleError, type Trouble } from '../transport/trouble.ts';
import { sendBatch, type BatchResult, type OperationReply } from './batch-request.ts';
import { batchOf, RequestBodies, type Batch } from './batcher.ts';
import type { BatchReply, OperationResult, RangeOperation, Refused } from './operation.ts';

/** What the service decided about one operation. */
export interface Decision<D> {
  readonly status: number;
  readonly substatus: number;
  /** Of a read that found one: what was kept of the document. */
  readonly document?: D;
  /** Of a read: how far its range had come. */
  readonly lsn?: number | undefined;
}

export interface ExecutorParts<D> {
  readonly side: Side;
  /** Scans the replies. */
  readonly replies: PageScan<ReplyNodes>;
  /** Low: the users of the container come first. */
  readonly priority?: 'Low';
  /** What to keep of a document that was read: it is in row `row` of `replies` until the next scan. */
  readonly keep: (row: number, etag: string) => D;
  /** Called with the service's time of each reply, before what is in the reply is looked at. */
  readonly seeDate?: ((date: string | undefined) => void) | undefined;
}

type Sent<D> = Batch<RangeOperation<Decision<D>>>;
type Reply<D> = BatchReply<Decision<D>>;

/** Most operations create something; they share one result. */
const CREATED = { is: 'done', value: { status: 201, substatus: 0 } } as const;

export class BatchExecutor<D> {
  readonly #parts: ExecutorParts<D>;
  readonly #bodies = new RequestBodies();
  /** Ranges whose session covers all our writes. */
  readonly #covered = new Set<string>();
  /** How often sessions were given up: a probe that was sent before that proves nothing. */
  #givenUp = 0;

  constructor(parts: ExecutorParts<D>) {
    this.#parts = parts;
  }

  /** A write whose reply was lost may have landed by now: every range is probed again before it is read. */
  giveUpSessions(): void {
    this.#covered.clear();
    this.#givenUp += 1;
  }

  async execute(range: string, batch: Sent<D>, signal: AbortSignal): Promise<Reply<D>> {
    const probed = this.#covered.has(range)
      ? undefined
      : batch.operations.find(({ probe }) => probe !== undefined);
    const refusal = probed === undefined ? undefined : await this.#probe(range, probed, signal);
    return refusal ?? this.#send(range, batch, signal);
  }

  /** Has the range's session cover our writes; gives the refusal of the probe, or nothing when reads may follow. */
  async #probe(
    range: string,
    { probe, ...read }: RangeOperation<Decision<D>>,
    signal: AbortSignal,
  ): Promise<Reply<D> | undefined> {
    const givenUp = this.#givenUp;
    const write = { ...read, ...must(probe, 'a probed read has its probe'), isRead: false };
    const reply = await this.#send(range, batchOf([write]), signal);
    const result = 'is' in reply.results ? reply.results : reply.results[0];
    // Nothing was read yet, so the whole batch is sent again. Whether a lost probe was carried out does not matter.
    if (result?.is === 'refused') return { ...reply, results: result };
    if (result?.is === 'ambiguous') return { ...reply, results: unanswered(result.cause) };
    // A probe that was refused for its id was not looked up, and proves nothing.
    if (result?.value.status !== 400 && givenUp === this.#givenUp) this.#covered.add(range);
    return undefined;
  }

  async #send(range: string, batch: Sent<D>, signal: AbortSignal): Promise<Reply<D>> {
    const result = await this.#request(range, batch, signal);
    if (!result.answered && isSpoiled(result.trouble)) return this.#sendEach(range, batch, signal);
    return this.#replyOf(batch, result);
  }

  /** The request as a whole was refused for what is in it; sent alone, each operation is answered for itself. */
  async #sendEach(range: string, { operations }: Sent<D>, signal: AbortSignal): Promise<Reply<D>> {
    let chargeRu = 0;
    const results: OperationResult<Decision<D>>[] = [];
    for (const operation of operations) {
      const alone = batchOf([operation]);
      const result = await this.#request(range, alone, signal);
      const { trouble } = result.answered ? { trouble: undefined } : result;
      if (trouble !== undefined && isSpoiled(trouble)) {
        // Of a read this says nothing about the document; as an answer it would mean that there is none.
        if (operation.isRead) throw new TroubleError(trouble);
        chargeRu += trouble.chargeRu;
        const { status, substatus } = trouble;
        results.push({ is: 'done', value: { status, substatus } });
        continue;
      }
      const reply = this.#replyOf(alone, result);
      chargeRu += reply.chargeRu;
      results.push(...('is' in reply.results ? [reply.results] : reply.results));
    }
    return { chargeRu, results };
  }

  async #request(range: string, batch: Sent<D>, signal: AbortSignal): Promise<BatchResult> {
    const { side, replies, priority, seeDate } = this.#parts;
    const { operations } = batch;
    const isReading = operations.some(({ isRead }) => isRead);
    const sessionToken = isReading ? tokenOf(side, range) : undefined;
    const body = this.#bodies.make(batch);
    const result = await sendBatch(
      side.requests,
      {
        rangeId: range,
        body: body.bytes,
        count: operations.length,
        ...(isReading ? { reads: (i: number) => operations[i]?.isRead === true } : {}),
        minimalReply: true,
        ...(priority === undefined ? {} : { priority }),
        signal,
        timeoutMs: side.timeoutMs,
        ...(sessionToken === undefined ? {} : { sessionToken }),
      },
      replies,
    );
    if (result.answered) body.free();
    side.sessions.add(result.answered ? result.sessionToken : result.trouble.sessionToken);
    if (result.answered) seeDate?.(result.date);
    return result;
  }

  #replyOf({ operations }: Sent<D>, result: BatchResult): Reply<D> {
    if (!result.answered) {
      const { trouble } = result;
      return { chargeRu: trouble.chargeRu, results: operations.map((one) => inTrouble(one, trouble)) };
    }
    const { outcomes, chargeRu, bytes, sessionToken } = result;
    const isReading = operations.some(({ isRead }) => isRead);
    // Another reply may have been scanned since this one was.
    if (isReading) this.#parts.replies.scan(bytes);
    const lsn = isReading ? lsnOf(sessionToken) : undefined;
    return {
      chargeRu,
      results: operations.map((operation, row) => {
        const reply = must(outcomes[row], 'a reply has an outcome for each operation');
        if (reply.status === 201) return CREATED;
        return operation.isRead ? this.#readResult(reply, row, lsn) : writeResult(operation, reply);
      }),
    };
  }

  #readResult(reply: OperationReply, row: number, lsn: number | undefined): OperationResult<Decision<D>> {
    const { kind, status, substatus, etag = '' } = reply;
    if (kind === 'done')
      return { is: 'done', value: { status, substatus, document: this.#parts.keep(row, etag), lsn } };
    // 400: the other operations were answered, so it is this id that the service does not take.
    if (kind === 'missing' || status === 400) return { is: 'done', value: { status, substatus, lsn } };
    const trouble = troubleIn(reply, 'a read');
    // The reply had no room for this document; the next one has.
    return inTrouble(READ, status === 413 ? { ...trouble, kind: 'transient' } : trouble);
  }
}

const READ = { isRead: true } as const;

function writeResult(
  operation: Pick<RangeOperation<never>, 'isRead'>,
  reply: OperationReply,
): OperationResult<Decision<never>> {
  const { kind, status, substatus } = reply;
  const isDecided =
    // A 400 refuses the document itself.
    kind === 'done' || kind === 'missing' || kind === 'conflict' || kind === 'too-large' || status === 400;
  return isDecided
    ? { is: 'done', value: { status, substatus } }
    : inTrouble(operation, troubleIn(reply, 'a write'));
}

/** A whole request is refused like this when one of its documents cannot be taken. */
function isSpoiled({ status, kind }: Trouble): boolean {
  return status === 400 || kind === 'too-large';
}

/** What trouble means to one operation: it was refused, or it may have happened, or the run must end. */
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

/** No reply came, and what was sent has changed nothing. */
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
