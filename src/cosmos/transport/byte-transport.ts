/**
 * The byte transport: the HTTP client that the SDK is given, through which documents travel as bytes.
 *
 * A request that carries a passage token belongs to a passage. Its ready-made bytes are sent instead of the SDK's stub
 * body, the bytes of its reply are kept aside, and the SDK gets a stub to parse. Signing, endpoints and routing stay
 * with the SDK.
 *
 * Invariant: the token never leaves this process, bytes in are bytes out, a reply is whole or a failure, and the SDK
 * sees no network failure that it would retry by itself: only our own code retries.
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

/** Names the passage. It is removed before anything is sent. */
export const PASSAGE_HEADER = 'x-cosmig-passage';

/** A page is 4 MB, and more when a transaction does not fit (fact SVC-8). A longer reply is a mistake. */
const REPLY_BYTES_MAX = 256 * 1024 * 1024;
/** Without a content-length, this much memory is reserved for what follows the first piece. */
const UNKNOWN_BYTES = 1024 * 1024;
/** Memory for the pages of all ranges that are read at once; beyond it, memory is left to the garbage collector. */
const MEMORY = { stepBytes: 256 * 1024, idleBytesMax: 8 * 1024 * 1024 };
const EVERY_STATUS = new Set([Number.POSITIVE_INFINITY]);
/** What the SDK may act on: whether to sign in again, and whether to ask another region. */
const HEADERS_FOR_SDK = [
  'x-ms-substatus',
  'x-ms-activity-id',
  'x-ms-retry-after-ms',
  'www-authenticate',
] as const;

/** The reply ended before its announced length, or exceeded REPLY_BYTES_MAX. */
export class CutShort extends Error {
  override readonly name = 'CutShort';

  constructor() {
    super('the reply is not as long as it should be');
  }
}

/** A reply as it came. */
export interface RawReply {
  readonly status: number;
  /** By lower-case name. */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** Call it at most once, when the body is no longer needed: its memory is used again. */
  readonly free: () => void;
}

/** What a passage carries. */
export interface Parcel {
  readonly body?: Uint8Array | undefined;
  readonly isShown?: boolean;
}

/** One request through the transport. Disposing of it forgets its bytes. */
export class Passage implements Disposable {
  readonly token: string;
  /** Sent instead of the SDK's body; undefined for a read. */
  readonly body: Uint8Array | undefined;
  /** Whether the SDK gets to see a successful reply, to parse it. */
  readonly isShown: boolean;
  /** Whether a byte may have left this process. */
  sent = false;
  /** The SDK's request, once it made one, without the passage token. */
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

  /** Headers that the SDK has to send along. */
  get headers(): Readonly<Record<string, string>> {
    return { [PASSAGE_HEADER]: this.token };
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}

/** What differs in a request that is sent again. */
interface Resend extends Differing {
  readonly signal: AbortSignal;
}

export class ByteTransport implements HttpClient {
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
    // The SDK allows plain http with its own sockets only. We allow it for loopback addresses only.
    const url = new URL(request.url);
    if (url.protocol === 'http:' && isLoopback(url.hostname)) request.allowInsecureConnection = true;
    const token = request.headers.get(PASSAGE_HEADER);
    if (token === undefined) return this.#inner.sendRequest(request);
    return this.#carry(request, must(this.#open.get(token), 'a passage token belongs to an open passage'));
  }

  /** Sends the bytes of a passage with a request that the SDK signed before; throws network errors as they are. */
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
    // A failover in the SDK may try to send a write again that was carried out; the first reply counts.
    if (passage.sent && passage.body !== undefined && !wasRefused(passage))
      throw new Error('a write is sent once');
    // The SDK sends a passage again after signing in again or to another region; the last reply counts.
    passage.reply = undefined;
    passage.failure = undefined;
    request.headers.delete(PASSAGE_HEADER);
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
      // Without its code: the SDK retries errors whose code it knows, and we could not see that.
      throw new Error('the request failed in the network', { cause: error });
    }
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Whether the last reply proves that nothing was tried: not signed in, or not the write region. */
function wasRefused({ reply }: Passage): boolean {
  return reply?.status === 401 || reply?.status === 403;
}

/** The SDK recognizes an aborted request by this name. */
function aborted(cause: unknown): Error {
  const error = new Error('the request was aborted', { cause });
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

/** The part of a reply that is read here. */
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
    // A refusal is recognized by its status; its body may be anything that a proxy made of it.
    if (status >= 400) return { status, header, ...unpooled(Buffer.alloc(0)) };
    throw error;
  }
}

type Body = Pick<RawReply, 'body' | 'free'>;

async function readBody(
  { status, header, readableStreamBody, bodyAsText }: Incoming,
  memory: BufferPool,
): Promise<Body> {
  const length = header('content-length');
  const announced = length === undefined ? undefined : Number(length);
  const read =
    readableStreamBody === undefined
      ? unpooled(Buffer.from(bodyAsText ?? ''))
      : await readWhole(readableStreamBody, { announced, memory });
  // These two have no body, whatever length they announce.
  const bodyless = status === 204 || status === 304;
  if (!bodyless && announced !== undefined && announced !== read.body.length) throw new CutShort();
  return read;
}

/** Every byte of a stream that ended cleanly. */
async function readWhole(
  stream: NodeJS.ReadableStream,
  {
    announced = UNKNOWN_BYTES,
    memory,
  }: { readonly announced: number | undefined; readonly memory: BufferPool },
): Promise<Body> {
  // It would emit no more events.
  if (stream instanceof Readable && stream.destroyed) throw new CutShort();
  const pieces = new ReplyBytes(announced, memory);
  // By events: an async iterator costs as much as everything else about a short reply.
  await new Promise<void>((resolve, reject) => {
    stream.on('data', (chunk: Buffer | string) => {
      try {
        pieces.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      } catch (error) {
        // The rest is not needed.
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
  readonly #announced: number;
  readonly #memory: BufferPool;
  #first: Buffer | undefined;
  #whole: Buffer | undefined;
  #sizeBytes = 0;

  constructor(announcedBytes: number, memory: BufferPool) {
    this.#announced = announcedBytes;
    this.#memory = memory;
  }

  add(bytes: Buffer): void {
    const start = this.#sizeBytes;
    const sizeBytes = start + bytes.length;
    if (sizeBytes > REPLY_BYTES_MAX) throw new CutShort();
    this.#sizeBytes = sizeBytes;
    // Most replies come in one piece, which serves as their memory.
    if (start === 0) {
      this.#first = bytes;
      return;
    }
    let whole = this.#whole;
    if (whole === undefined || sizeBytes > whole.length) {
      const announced = this.#announced;
      const wider = this.#memory.lend(
        sizeBytes <= announced ? Math.min(announced, REPLY_BYTES_MAX) : 2 * sizeBytes,
      );
      (whole ?? this.#first)?.copy(wider, 0, 0, start);
      if (whole !== undefined) this.#memory.giveBack(whole);
      this.#whole = whole = wider;
    }
    whole.set(bytes, start);
  }

  whole(): Body {
    const lent = this.#whole;
    if (lent === undefined) return unpooled(this.#first ?? Buffer.alloc(0));
    return { body: lent.subarray(0, this.#sizeBytes), free: () => this.#memory.giveBack(lent) };
  }
}

/** Memory that is not pooled, so freeing it does nothing. */
function unpooled(body: Buffer): Body {
  return { body, free: () => {} };
}
