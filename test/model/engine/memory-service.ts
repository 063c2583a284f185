/**
 * Owns the account that the engine talks to: the source and the target of the model behind HTTP. A request waits until
 * the scheduler decides what becomes of it: which replica answers, whether a write lands, and whether its reply arrives.
 */
import {
  createHttpHeaders,
  type HttpClient,
  type PipelineRequest,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import type { Lag } from '../source.ts';
import type { World } from './world.ts';
import { answerSource } from './source-replies.ts';
import { TargetBatch } from './target-replies.ts';
import type { Json } from './wire.ts';

/** `short`: the last operation is not carried out, and the reply has no outcome for it. */
export type WireFate = 'ok' | 'reply-lost' | 'timed-out' | 'throttled' | 'short';

/** The content of a reply. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What a request is about, read once when it arrives. */
export interface Asked {
  /** Such as `LV 0-4@7`, `read A7`, `create A7>P7`. */
  readonly name: string;
  /** Null for a read: nothing of it lands. */
  readonly writes: TargetBatch | null;
  answer(lag: Lag, isCut?: boolean): Answer;
}

/** A request that has not been answered. */
export interface Waiting extends Asked {
  readonly sentMs: number;
  readonly reply: (answer: Answer) => void;
  readonly fail: () => void;
}

/** A write whose client has given up: it lands before `untilMs`, or never. */
export interface Abandoned {
  readonly name: string;
  readonly land: () => void;
  readonly untilMs: number;
}

/** How long a write can still take effect after its client has given up. */
export const LATE_MS = 45_000;

export class MemoryService {
  waiting: Waiting[] = [];
  abandoned: Abandoned[] = [];
  /** How many polls in a row, with nothing else in between, have found nothing new. */
  polls = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** The network between one process and the account. */
  client(): HttpClient {
    return { sendRequest: async (request) => this.#send(request) };
  }

  meet(request: Waiting, fate: WireFate, lag: Lag): void {
    this.waiting = this.waiting.filter((one) => one !== request);
    const { writes } = request;
    if (fate === 'throttled')
      return request.reply({
        status: 429,
        headers: { 'x-ms-retry-after-ms': '20', 'x-ms-substatus': '3200' },
      });
    if (fate === 'timed-out') {
      if (writes !== null) this.#abandon(writes);
      return request.fail();
    }
    const answer = request.answer(lag, fate === 'short');
    const isPoll = writes === null && answer.status === 304;
    this.polls = isPoll ? this.polls + 1 : 0;
    if (fate === 'reply-lost') return request.fail();
    request.reply(answer);
  }

  /** The process has ended, and waits for no reply. */
  abandonAll(): void {
    for (const { writes } of this.waiting) if (writes !== null) this.#abandon(writes);
    this.waiting = [];
  }

  settle(late: Abandoned, fate: 'lands' | 'never'): void {
    this.abandoned = this.abandoned.filter((one) => one !== late);
    if (fate === 'lands') late.land();
  }

  #abandon(writes: TargetBatch): void {
    const untilMs = this.#world.timers.nowMs + LATE_MS;
    for (const { name, land } of writes.each()) this.abandoned.push({ name, land, untilMs });
  }

  async #send(request: PipelineRequest): Promise<PipelineResponse> {
    const asked = this.#read(request);
    const { abortSignal } = request;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        ...asked,
        sentMs: this.#world.timers.nowMs,
        reply: (answer) => resolve(this.#respond(request, answer)),
        fail: () => reject(Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' })),
      };
      this.waiting.push(waiting);
      abortSignal?.addEventListener('abort', () => {
        if (!this.waiting.includes(waiting)) return;
        this.waiting = this.waiting.filter((one) => one !== waiting);
        if (waiting.writes !== null) this.#abandon(waiting.writes);
        reject(Object.assign(new Error('the request was aborted'), { name: 'AbortError' }));
      });
    });
  }

  #read(request: PipelineRequest): Asked {
    const { pathname } = new URL(request.url);
    const header = (name: string): string | undefined => request.headers.get(name);
    const body = request.body instanceof Uint8Array ? Buffer.from(request.body).toString() : undefined;
    const operations = body === undefined ? undefined : (JSON.parse(body) as Json[]);
    const isSource = pathname.includes('/colls/orders/');
    if (header('x-ms-documentdb-isquery')?.toLowerCase() === 'true') return NO_DOCUMENTS;
    if (pathname.endsWith('/pkranges') && !isSource) return TARGET_RANGES;
    if (isSource) return answerSource(this.#world, { pathname, header, operations });
    const batch = new TargetBatch(this.#world.target, operations ?? [], header('x-ms-session-token'));
    return {
      name: batch.name,
      writes: batch.writes ? batch : null,
      answer: (lag, isCut) => batch.answer(lag, isCut),
    };
  }

  #respond(request: PipelineRequest, { status, headers = {}, body }: Answer): PipelineResponse {
    const text = body === undefined ? '' : JSON.stringify(body);
    return {
      status,
      request,
      headers: createHttpHeaders({
        'x-ms-request-charge': '1',
        date: new Date(this.#world.timers.nowMs).toUTCString(),
        ...headers,
      }),
      bodyAsText: text,
    };
  }
}

/** The only query of the engine asks whether it may count at all. */
const NO_DOCUMENTS: Asked = {
  name: 'count',
  writes: null,
  answer: () => ({ status: 200, body: { _rid: 'x', Documents: [0], _count: 1 } }),
};

/** The target has one range, which never splits. */
const TARGET_RANGES: Asked = {
  name: 'ranges of the target',
  writes: null,
  answer: () => ({
    status: 200,
    body: { PartitionKeyRanges: [{ id: '0', minInclusive: '', maxExclusive: 'FF', parents: [] }] },
  }),
};
