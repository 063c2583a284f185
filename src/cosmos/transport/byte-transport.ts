/**
 * The raw lane: the SDK's own `httpClient` seam, through which documents travel as bytes.
 *
 * A request that carries a lane token belongs to a passage. Its ready-made bytes are sent instead of the SDK's stub
 * body, its reply's bytes are kept aside, and the SDK gets a stub to parse. Signing, endpoints and routing stay the
 * SDK's. What always holds: the token leaves no process, bytes in are bytes out, a reply is whole or a failure, and
 * the SDK sees no failure of the network it would retry by itself: the only retry loop is ours.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import {
  createHttpHeaders,
  type HttpClient,
  type PipelineRequest,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import { assert, must } from '../../lib/assert.ts';
import { BufferPool } from '../../lib/buffers.ts';
import { isLoopback } from '../../spec/connection.ts';
import type { Differing, SignedRequest } from './signed-requests.ts';

/** Names the passage; taken off before anything is sent. */
export const LANE_HEADER = 'x-cosmig-lane';

/** A page is 4 MB, and more when a transaction does not fit (fact SVC-8). Beyond this nobody is sane. */
const REPLY_BYTES_MAX = 256 * 1024 * 1024;
/** Where no length was told, so much is made ready for what follows the first piece. */
const UNTOLD_BYTES = 1024 * 1024;
/** Pages of all ranges that are read at the same time; what exceeds this is left to the garbage collector. */
const MEMORY = { stepBytes: 256 * 1024, idleBytesMax: 8 * 1024 * 1024 };
const EVERY_STATUS = new Set([Number.POSITIVE_INFINITY]);
/** What the SDK may act on: who it is, whether to sign in again, whether another region is to be asked. */
const HEADERS_FOR_SDK = [
  'x-ms-substatus',
  'x-ms-activity-id',
  'x-ms-retry-after-ms',
  'www-authenticate',
] as const;

/** The reply ended before the length it had promised, or went on beyond all reason. */
export class CutShort extends Error {
  override readonly name = 'CutShort';

  constructor() {
    super('the reply is not as long as it should be');
  }
}

/** What came back, as it came. */
export interface RawReply {
  readonly status: number;
  /** By lower-case name. */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** Nobody looks at the body any more: its memory may be another's. Called once, or not at all. */
  readonly free: () => void;
}

/** What a passage carries. */
export interface Parcel {
  readonly body?: Uint8Array | undefined;
  readonly isShown?: boolean;
}

/** One request on its way through the lane. Disposing of it forgets its bytes. */
export class Passage implements Disposable {
  readonly token: string;
  /** Sent instead of what the SDK made; nothing for a read. */
  readonly body: Uint8Array | undefined;
  /** Whether the SDK is shown a reply that is no refusal, to make something of it. */
  readonly isShown: boolean;
  /** Whether a byte may have left this process. */
  sent = false;
  /** As the SDK made it, if it did; without what the lane had put in. */
  request: PipelineRequest | undefined;
  reply: RawReply | undefined;
  failure: unknown;
  readonly #close: () => void;

  constructor(token: string, { body, isShown = false }: Parcel, close: () => void) {
    this.token = token;
    this.body = body;
    this.isShown = isShown;
    this.#close = close;
  }

  /** To be sent with the request. */
  get headers(): Readonly<Record<string, string>> {
    return { [LANE_HEADER]: this.token };
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}

/** What is new about a request that is sent again. */
interface Resend extends Differing {
  readonly signal: AbortSignal;
}

export class RawLane implements HttpClient {
  readonly #inner: HttpClient;
  readonly #memory = new BufferPool(MEMORY);
  readonly #open = new Map<string, Passage>();
  #opened = 0;

  constructor(inner: HttpClient) {
    this.#inner = inner;
  }

  /** How many passages are open. Tests use it to find one that was not closed. */
  get size(): number {
    return this.#open.size;
  }

  open(parcel: Parcel = {}): Passage {
    this.#opened += 1;
    const token = String(this.#opened);
    const passage = new Passage(token, parcel, () => this.#open.delete(token));
    this.#open.set(token, passage);
    return passage;
  }

  async sendRequest(request: PipelineRequest): Promise<PipelineResponse> {
    // The SDK allows plain http with sockets of its own only. Beyond this machine nobody shall.
    const url = new URL(request.url);
    if (url.protocol === 'http:' && isLoopback(url.hostname)) request.allowInsecureConnection = true;
    const token = request.headers.get(LANE_HEADER);
    if (token === undefined) return this.#inner.sendRequest(request);
    return this.#carry(request, must(this.#open.get(token), 'a lane token belongs to a passage under way'));
  }

  /** Sends a passage's bytes with a request that the SDK has signed before; throws what the network did. */
  async resend(signed: SignedRequest, passage: Passage, { signal, ...differing }: Resend): Promise<void> {
    const { body } = passage;
    assert(body !== undefined && !passage.sent, 'a write is sent once');
    passage.sent = true;
    try {
      const incoming = await signed.send(asBuffer(body), differing, signal);
      passage.reply = await readReply(asResponse(incoming), this.#memory);
    } catch (error) {
      passage.failure = error;
      throw error;
    }
  }

  async #carry(request: PipelineRequest, passage: Passage): Promise<PipelineResponse> {
    // A fail-over of the SDK's may send a write again that has been done; what came first then stands.
    if (passage.sent && passage.body !== undefined && !wasRefused(passage))
      throw new Error('a write is sent once');
    // Signing in again, or to another region, sends the same passage twice; then the last reply counts.
    passage.reply = undefined;
    passage.failure = undefined;
    request.headers.delete(LANE_HEADER);
    request.streamResponseStatusCodes = EVERY_STATUS;
    const { body } = passage;
    if (body !== undefined) request.body = asBuffer(body);
    passage.request = request;
    passage.sent = true;
    try {
      const response = await this.#inner.sendRequest(request);
      const { headers, ...rest } = response;
      const reply = await readReply({ ...rest, header: (name) => headers.get(name) }, this.#memory);
      passage.reply = reply;
      return passage.isShown && reply.status < 400
        ? { status: reply.status, headers, request, bodyAsText: reply.body.toString() }
        : stubOf(reply, request);
    } catch (error) {
      passage.failure = error;
      if (request.abortSignal?.aborted === true) throw aborted(error);
      // No code: by its code the SDK would know it, and try again where we cannot see it.
      throw new Error('the request failed on its way', { cause: error });
    }
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Whether the last reply said that nothing was even tried: not signed in, or not the region to write to. */
function wasRefused({ reply }: Passage): boolean {
  return reply?.status === 401 || reply?.status === 403;
}

/** By this name the SDK knows that it was called off. */
function aborted(cause: unknown): Error {
  const error = new Error('the request was called off', { cause });
  error.name = 'AbortError';
  return error;
}

function stubOf(reply: RawReply, request: PipelineRequest): PipelineResponse {
  const headers = createHttpHeaders();
  for (const name of HEADERS_FOR_SDK) {
    const value = reply.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const { status } = reply;
  const bodyAsText = status >= 400 ? '{"code":"refused","message":"the reply was kept aside"}' : '{}';
  return { status, headers, request, bodyAsText };
}

/** As much of a reply as is read here. */
type Incoming = Pick<PipelineResponse, 'status' | 'readableStreamBody' | 'bodyAsText'> & {
  readonly header: (name: string) => string | undefined;
};

function asResponse(incoming: IncomingMessage): Incoming {
  const { statusCode: status = 0, headers } = incoming;
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'object' ? value.join() : value;
  };
  return { status, header, readableStreamBody: incoming };
}

async function readReply(response: Incoming, memory: BufferPool): Promise<RawReply> {
  const { status, header } = response;
  try {
    return { status, header, ...(await readBody(response, memory)) };
  } catch (error) {
    // A refusal is one by its status; what a proxy has made of its words is of no interest.
    if (status >= 400) return { status, header, ...asItIs(Buffer.alloc(0)) };
    throw error;
  }
}

type Body = Pick<RawReply, 'body' | 'free'>;

async function readBody(
  { status, header, readableStreamBody, bodyAsText }: Incoming,
  memory: BufferPool,
): Promise<Body> {
  const told = header('content-length');
  const promised = told === undefined ? undefined : Number(told);
  const read =
    readableStreamBody === undefined
      ? asItIs(Buffer.from(bodyAsText ?? ''))
      : await readWhole(readableStreamBody, { promised, memory });
  // These two have no body, whatever length they speak of.
  const bodyless = status === 204 || status === 304;
  if (!bodyless && promised !== undefined && promised !== read.body.length) throw new CutShort();
  return read;
}

/** Every byte of a stream that ended as it should. */
async function readWhole(
  stream: NodeJS.ReadableStream,
  { promised = UNTOLD_BYTES, memory }: { readonly promised: number | undefined; readonly memory: BufferPool },
): Promise<Body> {
  // None of its events would come any more.
  if (stream instanceof Readable && stream.destroyed) throw new CutShort();
  const pieces = new ReplyBytes(promised, memory);
  // By its events: an iterator costs as much as all the rest of a short reply.
  await new Promise<void>((resolve, reject) => {
    stream.on('data', (chunk: Buffer | string) => {
      try {
        pieces.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      } catch (error) {
        // Nobody wants the rest.
        if (stream instanceof Readable) stream.destroy();
        reject(error);
      }
    });
    stream.on('end', resolve);
    stream.on('error', reject);
    stream.on('close', () => reject(new CutShort()));
  });
  return pieces.whole();
}

/** The bytes of one reply as they come. */
class ReplyBytes {
  readonly #promised: number;
  readonly #memory: BufferPool;
  #first: Buffer | undefined;
  #whole: Buffer | undefined;
  #sizeBytes = 0;

  constructor(promisedBytes: number, memory: BufferPool) {
    this.#promised = promisedBytes;
    this.#memory = memory;
  }

  add(bytes: Buffer): void {
    const start = this.#sizeBytes;
    const sizeBytes = start + bytes.length;
    if (sizeBytes > REPLY_BYTES_MAX) throw new CutShort();
    this.#sizeBytes = sizeBytes;
    // Most replies are one piece, and that is their memory.
    if (start === 0) {
      this.#first = bytes;
      return;
    }
    let whole = this.#whole;
    if (whole === undefined || sizeBytes > whole.length) {
      const promised = this.#promised;
      const wider = this.#memory.lend(
        sizeBytes <= promised ? Math.min(promised, REPLY_BYTES_MAX) : 2 * sizeBytes,
      );
      (whole ?? this.#first)?.copy(wider, 0, 0, start);
      if (whole !== undefined) this.#memory.giveBack(whole);
      this.#whole = whole = wider;
    }
    whole.set(bytes, start);
  }

  whole(): Body {
    const lent = this.#whole;
    if (lent === undefined) return asItIs(this.#first ?? Buffer.alloc(0));
    return { body: lent.subarray(0, this.#sizeBytes), free: () => this.#memory.giveBack(lent) };
  }
}

/** Memory that is nobody else's. */
function asItIs(body: Buffer): Body {
  return { body, free: () => {} };
}
