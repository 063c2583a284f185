/**
 * Sends a ready-made batch to one range, and reads the outcome of each operation. Invariant: either every operation
 * has an outcome, or the batch failed as a whole; a reply that cannot be read completely leaves every write of the
 * batch ambiguous; no document is parsed.
 */
import { PageError } from '../../documents/page-error.ts';
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import { integerAt } from '../../documents/scalar.ts';
import { classifyOperation, type OutcomeKind, type Trouble } from '../transport/trouble.ts';
import type { BatchCall, ContainerRequests, Reply } from '../transport/container-requests.ts';

/** How the service answered one operation. */
export interface OperationReply {
  readonly kind: OutcomeKind;
  readonly status: number;
  readonly substatus: number;
  /**
   * Charge of a read or a refusal; 0 for a write that was carried out, whose charge is known only as a part of the
   * batch's charge.
   */
  readonly chargeRu: number;
  readonly retryAfterMs: number | undefined;
  /** ETag of the document that was read or written, decoded, as `ifMatch` needs it; undefined if the reply has none. */
  readonly etag: string | undefined;
}

export type BatchResult =
  | {
      readonly answered: true;
      readonly outcomes: readonly OperationReply[];
      /** Whether every operation has created its document. Then there are no single outcomes. Only for `creates`. */
      readonly areCreated: boolean;
      /**
       * The body of the reply: the outcomes, and the documents that were read. A caller that needs the documents scans
       * it.
       */
      readonly bytes: Buffer;
      /** Returns the memory of `bytes`. Called at most once, when they are no longer needed. */
      readonly free: () => void;
      readonly chargeRu: number;
      readonly sessionToken: string | undefined;
    }
  | { readonly answered: false; readonly trouble: Trouble };

export interface BatchRequest extends BatchCall {
  /** Number of operations in the body. */
  readonly count: number;
  /**
   * Whether the operation with this index is a read. A read whose reply was lost is not ambiguous, because a read
   * changes nothing.
   */
  readonly reads?: (operation: number) => boolean;
  /** Whether the etags of written documents are wanted. */
  readonly etags?: boolean;
  /** Whether all operations are creates of which nothing but the success is wanted. */
  readonly creates?: boolean;
}

/** The most operations that the service accepts in one request (fact SDK-8). */
export const OPERATIONS_MAX = 100;

/** The replies to successful writes, by status. Shared objects, because a migration receives millions of them. */
const WRITTEN: readonly (OperationReply | undefined)[] = [200, 201, 204].reduce<OperationReply[]>(
  (list, status) => {
    list[status] = {
      kind: 'done',
      status,
      substatus: 0,
      chargeRu: 0,
      retryAfterMs: undefined,
      etag: undefined,
    };
    return list;
  },
  [],
);

/** Stands for the outcomes of a batch in which every operation has created its document. */
const CREATED: OperationReply[] = [];

/** Sends a batch once, and reads the outcomes with the scan `replies`, which the caller may use again afterwards. */
export async function sendBatch(
  requests: ContainerRequests,
  batch: BatchRequest,
  replies: PageScan<ReplyNodes>,
): Promise<BatchResult> {
  const exchange = await requests.batch(batch);
  if (!exchange.ok) return { answered: false, trouble: exchange.trouble };
  const { reply } = exchange;
  const outcomes = readOutcomes(reply, batch, replies);
  if (!Array.isArray(outcomes)) return { answered: false, trouble: outcomes };
  const areCreated = outcomes === CREATED;
  const { body: bytes, free, chargeRu, sessionToken } = reply;
  return { answered: true, outcomes, areCreated, bytes, free, chargeRu, sessionToken };
}

function readOutcomes(
  reply: Reply,
  { count, reads = () => false, etags = false, creates = false }: BatchRequest,
  replies: PageScan<ReplyNodes>,
): OperationReply[] | Trouble {
  try {
    replies.scan(reply.body);
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    return unreadable(reply, error.message, error);
  }
  if (replies.count !== count)
    return unreadable(reply, `the reply has ${replies.count} outcomes for ${count} operations`);
  const { around } = replies;
  if (creates && haveCreated(replies, around.statusCode)) return CREATED;
  const outcomes: OperationReply[] = [];
  for (let row = 0; row < count; row += 1) {
    const status = numberAt(replies, row, around.statusCode);
    if (status === undefined || status < 100) return unreadable(reply, 'an outcome has no status');
    const access = reads(row) ? 'read' : 'write';
    const written = access === 'write' && !etags ? WRITTEN[status] : undefined;
    if (written !== undefined) {
      outcomes.push(written);
      continue;
    }
    const substatus = numberAt(replies, row, around.subStatusCode) ?? 0;
    const kind = classifyOperation(status, substatus, access);
    outcomes.push({
      kind,
      status,
      substatus,
      chargeRu: numberAt(replies, row, around.requestCharge) ?? 0,
      retryAfterMs: numberAt(replies, row, around.retryAfterMilliseconds),
      etag: textAt(replies, row, around.eTag),
    });
  }
  return outcomes;
}

/** Whether the status of every outcome is 201. */
function haveCreated(scan: PageScan<ReplyNodes>, node: number): boolean {
  const { page } = scan;
  for (let outcome = 0; outcome < scan.count; outcome += 1) {
    const at = scan.start(outcome, node);
    if (scan.end(outcome, node) - at !== 3) return false;
    if (page[at] !== 0x32 || page[at + 1] !== 0x30 || page[at + 2] !== 0x31) return false;
  }
  return true;
}

function numberAt(scan: PageScan<ReplyNodes>, row: number, node: number): number | undefined {
  const whole = integerAt(scan, row, node);
  if (whole !== null || scan.start(row, node) === 0) return whole ?? undefined;
  const value = Number(scan.bytes(row, node).toString('latin1'));
  return Number.isFinite(value) ? value : undefined;
}

/** Decodes a JSON text of a reply, such as an etag, whose quotes are escaped; undefined if the text is absent. */
function textAt(scan: PageScan<ReplyNodes>, row: number, node: number): string | undefined {
  const [start, end] = [scan.start(row, node), scan.end(row, node)];
  if (start === 0 || scan.page[start] !== 0x22) return undefined;
  return JSON.parse(scan.page.toString('utf8', start, end)) as string;
}

function unreadable(
  { status, substatus, chargeRu, sessionToken }: Reply,
  what: string,
  cause?: unknown,
): Trouble {
  return {
    kind: 'ambiguous',
    status,
    substatus,
    what,
    chargeRu,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...(cause === undefined ? {} : { cause }),
  };
}
