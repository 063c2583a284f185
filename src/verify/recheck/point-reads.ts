/**
 * Documents read one by one, in batches of reads to their ranges. What always holds: an answer is no older than what was
 * seen of its range, every document asked for has one, and reading counts against the side's budget.
 */
import {
  OPERATIONS_MAX,
  sendBatch,
  type BatchResult,
  type Outcome,
} from '../../cosmos/bulk/batch-request.ts';
import { TroubleError, type Trouble, type TroubleKind } from '../../cosmos/transport/trouble.ts';
import { lsnOf } from '../../cosmos/feed/session-tokens.ts';
import type { Patience } from '../../cosmos/load/retry.ts';
import { BatchBody } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import type { PageScan, ReplyNodes } from '../../documents/page-scan.ts';
import { effectiveKey, type KeyComponent } from '../../epk/effective-key.ts';
import { group } from '../../lib/group.ts';
import { tokenOf, type Side } from '../sides.ts';

export interface Wanted {
  /** As JSON text. */
  readonly id: string;
  readonly key: readonly KeyComponent[];
}

export interface Answer<V> {
  /** `unreadable`: the service does not take such an id, which says nothing of whether there is one. */
  readonly value: V | 'gone' | 'unreadable';
  /** How far its range had come. */
  readonly lsn: number;
}

const SENDERS_MAX = 4;
/** A reply ends at 4 MB; documents of 2 MB are read in twos. */
const FEWEST = 1;

interface Job {
  readonly wanted: Wanted;
  readonly place: string;
  readonly index: number;
}

interface Load {
  /** How many go together; less where replies have no room for them. */
  atOnce: number;
  readonly jobs: Job[];
}

export class PointReads<V> {
  readonly #side: Side;
  readonly #replies: PageScan<ReplyNodes>;
  readonly #read: (row: number, etag: string) => V;

  /** `read` makes of a row of `replies` what is wanted, at once. */
  constructor(side: Side, replies: PageScan<ReplyNodes>, read: (row: number, etag: string) => V) {
    this.#side = side;
    this.#replies = replies;
    this.#read = read;
  }

  /** An answer for each, in their order. */
  async all(wanted: readonly Wanted[], signal: AbortSignal): Promise<readonly Answer<V>[]> {
    const { keyKind } = this.#side.facts;
    const answers: Answer<V>[] = [];
    const loads = this.#loadsOf(
      wanted.map((one, index) => ({ wanted: one, place: effectiveKey(keyKind, one.key), index })),
      OPERATIONS_MAX,
    );
    await group(signal, async (members) => {
      for (let sender = 0; sender < SENDERS_MAX; sender += 1) {
        members.start(async (inner) => {
          const patience = this.#side.patience.fresh();
          for (let load = loads.pop(); load !== undefined; load = loads.pop())
            loads.push(...(await this.#send(load, { answers, patience, signal: inner })));
        });
      }
    });
    return answers;
  }

  #loadsOf(jobs: readonly Job[], atOnce: number): Load[] {
    const byRange = new Map<string, Job[]>();
    for (const job of jobs) {
      const range = this.#side.ranges.rangeOf(job.place);
      byRange.set(range, [...(byRange.get(range) ?? []), job]);
    }
    return [...byRange.values()].flatMap((all) => {
      const loads: Load[] = [];
      for (let at = 0; at < all.length; at += atOnce)
        loads.push({ atOnce, jobs: all.slice(at, at + atOnce) });
      return loads;
    });
  }

  /** Sends a load; gives what is still to be asked for. */
  async #send({ jobs, atOnce }: Load, { answers, patience, signal }: SendParts<V>): Promise<readonly Load[]> {
    const [first] = jobs;
    if (first === undefined) return [];
    const range = this.#side.ranges.rangeOf(first.place);
    // Ranges may have changed since these were put together.
    if (jobs.some(({ place }) => this.#side.ranges.rangeOf(place) !== range))
      return this.#loadsOf(jobs, atOnce);
    const result = await this.#exchange(range, jobs, signal);
    if (!result.answered) {
      const { trouble } = result;
      const isTooMuch = trouble.kind === 'too-large' || trouble.status === 400;
      if (isTooMuch && jobs.length > FEWEST) return this.#loadsOf(jobs, Math.ceil(jobs.length / 2));
      await this.#bear(asRead(trouble), { range, patience, signal });
      return [{ jobs, atOnce }];
    }
    return this.#answered({ jobs, atOnce }, result, { answers, patience, signal, range });
  }

  async #answered(
    { jobs, atOnce }: Load,
    { outcomes, bytes, sessionToken }: Extract<BatchResult, { answered: true }>,
    { answers, patience, signal, range }: SendParts<V> & { readonly range: string },
  ): Promise<readonly Load[]> {
    // Another reply may have been scanned since this one was.
    this.#replies.scan(bytes);
    const lsn = lsnOf(sessionToken) ?? Number.MAX_SAFE_INTEGER;
    const again: Job[] = [];
    let trouble: Trouble | undefined;
    let isFull = false;
    jobs.forEach((job, row) => {
      const outcome = outcomes[row];
      if (outcome?.kind === 'done') answers[job.index] = { value: this.#read(row, outcome.etag ?? ''), lsn };
      else if (outcome?.kind === 'missing') answers[job.index] = { value: 'gone', lsn };
      // Its neighbours were answered, or would be: it is this name that the service will not hear of.
      else if (outcome?.status === 400) answers[job.index] = { value: 'unreadable', lsn };
      else {
        again.push(job);
        // The reply has no room for this document; the next one has.
        if (outcome?.status === 413 && jobs.length > FEWEST) isFull = true;
        else if (outcome !== undefined) trouble = troubleIn(outcome);
      }
    });
    // A reply in which every operation was refused is no success.
    if (again.length < jobs.length) patience.reset();
    if (again.length === 0) return [];
    if (trouble !== undefined) await this.#bear(trouble, { range, patience, signal });
    return this.#loadsOf(again, isFull ? Math.max(FEWEST, Math.floor(jobs.length / 2)) : atOnce);
  }

  async #bear(
    trouble: Trouble,
    {
      range,
      patience,
      signal,
    }: { readonly range: string; readonly patience: Patience; readonly signal: AbortSignal },
  ): Promise<void> {
    await patience.bear(trouble, signal);
    if (trouble.kind === 'split') await this.#side.ranges.refresh(range, signal);
  }

  async #exchange(range: string, jobs: readonly Job[], signal: AbortSignal): Promise<BatchResult> {
    const { lane, governor, sessions, timeoutMs } = this.#side;
    const body = new BatchBody(new ByteOutput(4096));
    for (const { wanted } of jobs) body.read(wanted.key, { id: Buffer.from(wanted.id) });
    await governor.admitted(range, signal);
    let result: BatchResult | undefined;
    try {
      const sessionToken = tokenOf(this.#side, range);
      result = await sendBatch(
        lane,
        {
          rangeId: range,
          body: body.finish(),
          count: jobs.length,
          reads: () => true,
          priority: 'Low',
          signal,
          timeoutMs,
          ...(sessionToken === undefined ? {} : { sessionToken }),
        },
        this.#replies,
      );
    } finally {
      governor.observe(range, loadOf(result, jobs.length));
    }
    sessions.add(result.answered ? result.sessionToken : result.trouble.sessionToken);
    return result;
  }
}

interface SendParts<V> {
  readonly answers: Answer<V>[];
  readonly patience: Patience;
  readonly signal: AbortSignal;
}

function loadOf(
  result: BatchResult | undefined,
  operations: number,
): Parameters<Side['governor']['observe']>[1] {
  if (result === undefined) return { chargeRu: 0, operations, throttled: 0, retryAfterMs: undefined };
  if (!result.answered) {
    const { chargeRu, kind, retryAfterMs } = result.trouble;
    return { chargeRu, operations, throttled: kind === 'throttled' ? operations : 0, retryAfterMs };
  }
  const throttled = result.outcomes.filter(({ kind }) => kind === 'throttled');
  const hints = throttled.map(({ retryAfterMs = 0 }) => retryAfterMs);
  return {
    chargeRu: result.chargeRu,
    operations,
    throttled: throttled.length,
    retryAfterMs: hints.length === 0 ? undefined : Math.max(...hints),
  };
}

/** A read leaves nothing in doubt. */
function asRead(trouble: Trouble): Trouble {
  return trouble.kind === 'ambiguous' ? { ...trouble, kind: 'transient' } : trouble;
}

function troubleIn({ kind, status, substatus, chargeRu, retryAfterMs }: Outcome): Trouble {
  const told = substatus === 0 ? String(status) : `${status}/${substatus}`;
  const hint = retryAfterMs === undefined ? {} : { retryAfterMs };
  const what = `the service answered ${told} to a read`;
  // Of an operation that was asked for again it is one of these.
  const isTrouble = kind !== 'done' && kind !== 'missing';
  const known: TroubleKind = isTrouble ? kind : 'transient';
  const trouble: Trouble = { kind: known, status, substatus, what, chargeRu, ...hint };
  if (known === 'fatal' || known === 'conflict' || known === 'too-large') throw new TroubleError(trouble);
  return asRead(trouble);
}
