/**
 * Between the writer and the service: a batch goes out, and each of its operations gets a result that the apply rule
 * understands. What always holds: a document that spoils a whole request is found by sending its neighbours alone,
 * and only trouble that no waiting mends ends the run.
 */
import { sendBatch, type BatchResult, type Outcome } from './batch-request.ts';
import { TroubleError, type Trouble } from '../transport/trouble.ts';
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import { assert } from '../../lib/assert.ts';
import { Bodies, type Batch } from './batcher.ts';
import type { Operation, Refused, Reply, Result } from './operation.ts';
import { tokenOf, type Side } from '../side.ts';

/** What the service decided about one operation. */
export interface Decision {
  readonly status: number;
  readonly substatus: number;
}

/** An operation on its way; one that only reads leaves nothing in doubt. */
export interface SideOperation<V> extends Operation<V> {
  readonly reads: boolean;
}

interface Parts<V extends Decision> {
  readonly side: Side;
  readonly replies: PageScan<ReplyNodes>;
  readonly timeoutMs: number;
  /** What to keep of a reply that has a document in row `row`. */
  readonly read: (decision: Decision, row: number, etag: string | undefined) => V;
  /** The same for a decision without a document. */
  readonly plain: (decision: Decision) => V;
  /** Told when the service sent a reply, before what is in it is looked at. */
  readonly seeDate?: (date: string | undefined) => void;
}

type Sent<V> = Batch<Operation<V>>;

export class LaneSend<V extends Decision> {
  readonly #parts: Parts<V>;
  readonly #bodies = new Bodies();
  /** Most operations create something; they share one result. */
  readonly #created: Result<V>;

  constructor(parts: Parts<V>) {
    this.#parts = parts;
    this.#created = { is: 'done', value: parts.plain({ status: 201, substatus: 0 }) };
  }

  async send(range: string, batch: Sent<V>, signal: AbortSignal): Promise<Reply<V>> {
    const result = await this.#exchange(range, batch, signal);
    if (!result.answered && spoils(result.trouble)) return this.#sendEach(range, batch, signal);
    return this.#replyOf(batch, result);
  }

  /** The request as a whole was refused for what is in it: who is it? */
  async #sendEach(range: string, { operations }: Sent<V>, signal: AbortSignal): Promise<Reply<V>> {
    let chargeRu = 0;
    const results: Result<V>[] = [];
    for (const operation of operations) {
      const alone = { operations: [operation], sizeBytes: operation.sizeBytes + 2 };
      const result = await this.#exchange(range, alone, signal);
      const { trouble } = result.answered ? { trouble: undefined } : result;
      if (trouble !== undefined && spoils(trouble)) {
        // Of a read it says nothing about the document; as an answer it would mean that there is none.
        if (isReading(operation)) throw new TroubleError(trouble);
        chargeRu += trouble.chargeRu;
        const { status, substatus } = trouble;
        results.push({ is: 'done', value: this.#parts.plain({ status, substatus }) });
        continue;
      }
      const reply = this.#replyOf(alone, result);
      chargeRu += reply.chargeRu;
      results.push(...('is' in reply.results ? [reply.results] : reply.results));
    }
    return { chargeRu, results };
  }

  async #exchange(range: string, batch: Sent<V>, signal: AbortSignal): Promise<BatchResult> {
    const { side, replies, timeoutMs } = this.#parts;
    const { operations } = batch;
    const isAsking = operations.some(isReading);
    const sessionToken = isAsking ? tokenOf(side, range) : undefined;
    const body = this.#bodies.make(batch);
    const result = await sendBatch(
      side.lane,
      {
        rangeId: range,
        body: body.bytes,
        count: operations.length,
        ...(isAsking ? { reads: (i: number) => isReading(operations[i]) } : {}),
        minimalReply: true,
        // Its users come first.
        ...(side.is === 'source' ? { priority: 'Low' } : {}),
        signal,
        timeoutMs,
        ...(sessionToken === undefined ? {} : { sessionToken }),
      },
      replies,
    );
    if (result.answered) body.free();
    side.sessions.add(result.answered ? result.sessionToken : result.trouble.sessionToken);
    if (result.answered) this.#parts.seeDate?.(result.date);
    return result;
  }

  #replyOf({ operations }: Sent<V>, result: BatchResult): Reply<V> {
    if (!result.answered) {
      const { trouble } = result;
      return { chargeRu: trouble.chargeRu, results: operations.map((one) => troubled(one, trouble)) };
    }
    const { outcomes, chargeRu, bytes } = result;
    // Another reply may have been scanned since this one was.
    if (operations.some(isReading)) this.#parts.replies.scan(bytes);
    return {
      chargeRu,
      results: outcomes.map((outcome, row) => this.#resultOf(operations[row], outcome, row)),
    };
  }

  #resultOf(operation: Operation<V> | undefined, outcome: Outcome, row: number): Result<V> {
    const { kind, status, substatus } = outcome;
    if (status === 201) return this.#created;
    const { plain, read } = this.#parts;
    if (isReading(operation)) {
      // The reply has no room for this document; the next one has.
      if (status === 413) return troubled(operation, { ...troubleIn(outcome), kind: 'transient' });
      if (kind === 'done') return { is: 'done', value: read(outcome, row, outcome.etag) };
      // Its neighbours were answered: it is this name that the service will not hear of.
      if (status === 400) return { is: 'done', value: plain({ status, substatus }) };
      if (kind === 'conflict' || kind === 'too-large' || kind === 'fatal')
        throw new TroubleError(troubleIn(outcome));
    }
    switch (kind) {
      case 'done':
        return { is: 'done', value: plain({ status, substatus }) };
      case 'missing':
      case 'conflict':
      case 'too-large':
        return { is: 'done', value: plain({ status, substatus }) };
      case 'fatal':
        // The document itself is refused.
        if (status === 400) return { is: 'done', value: plain({ status, substatus }) };
        throw new TroubleError(troubleIn(outcome));
      case 'throttled':
      case 'transient':
      case 'ambiguous':
      case 'split':
      case 'denied':
        return troubled(operation, troubleIn(outcome));
      default:
        return kind satisfies never;
    }
  }
}

function isReading<V>(operation: Operation<V> | undefined): boolean {
  assert(operation !== undefined && 'reads' in operation, 'a reply tells of an operation that was sent');
  return operation.reads === true;
}

/** A whole request is refused like this when one of its documents cannot be taken. */
function spoils({ status, kind }: Trouble): boolean {
  return status === 400 || kind === 'too-large';
}

/** Why an operation was not done, or that nobody knows. */
function troubled<V>(
  operation: Operation<V> | undefined,
  trouble: Trouble,
): Refused | Extract<Result<V>, { is: 'ambiguous' }> {
  const { kind } = trouble;
  switch (kind) {
    case 'throttled':
    case 'transient':
    case 'denied':
    case 'split':
      return { is: 'refused', kind, trouble };
    case 'ambiguous':
      if (isReading(operation)) return { is: 'refused', kind: 'transient', trouble };
      return { is: 'ambiguous', cause: new TroubleError(trouble) };
    case 'conflict':
    case 'too-large':
    case 'fatal':
      throw new TroubleError(trouble);
    default:
      return kind satisfies never;
  }
}

function troubleIn({ kind, status, substatus, chargeRu, retryAfterMs }: Outcome): Trouble {
  assert(kind !== 'done' && kind !== 'missing', 'what was done is no trouble');
  const told = substatus === 0 ? String(status) : `${status}/${substatus}`;
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { kind, status, substatus, what: `the service answered ${told} to a write`, chargeRu, ...hint };
}
