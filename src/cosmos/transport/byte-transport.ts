/**
 * The byte transport: the HTTP client that the SDK is given, through which documents travel as bytes.
 *
 * A passage is one request of ours, with its bytes and its reply. The SDK's request for it carries the passage's token
 * in a header. The transport sends the passage's bytes instead of the SDK's stub body, keeps the bytes of the reply in
 * the passage, and gives the SDK a stub to parse. The SDK still signs and routes the request and finds its endpoint.
 *
 * Invariant: the token never leaves this process; bytes in are bytes out; a reply is whole or a failure; the SDK sees
 * no network failure that it would retry by itself, so only our own code retries.
 */
import { Readable } from 'node:stream';
import {
  createHttpHeaders,
  type HttpClient,
  type PipelineRequest,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import type { Deadline } from '../../lib/abort.ts';
import { assert, must } from '../../lib/assert.ts';
import { BufferPool } from '../../lib/buffers.ts';
import type { Clock } from '../../lib/clock.ts';
import { isLoopback } from '../../spec/connection.ts';
import { HttpSockets } from './http-sockets.ts';
import { CutShort, REPLY_BYTES_MAX, type RawReply } from './raw-reply.ts';
import { DATE, type Differing, type SignedRequest } from './signed-requests.ts';

/** The header with the token of the passage. The transport removes it before it sends anything. */
export const PASSAGE_HEADER = 'x-cosmig-passage';

/** Memory to reserve after the first piece of a reply that has no content-length. */
const UNKNOWN_BYTES = 1024 * 1024;
/** Pooled memory for the pages of all ranges that are read at once. The garbage collector frees what exceeds it. */
const MEMORY = { stepBytes: 256 * 1024, idleBytesMax: 8 * 1024 * 1024 };
const EVERY_STATUS = new Set([Number.POSITIVE_INFINITY]);
/** Reply headers that the SDK acts on: they show whether to sign in again or to ask another region. */
const HEADERS_FOR_SDK = [
  'x-ms-substatus',
  'x-ms-activity-id',
  'x-ms-retry-after-ms',
  'www-authenticate',
] as const;

/** What to send in a passage, and whether the SDK sees the reply. */
export interface Parcel {
  readonly body?: Uint8Array | undefined;
  readonly isShown?: boolean;
}

/** One request through the transport. Disposing of the passage makes the transport forget its bytes. */
export class Passage implements Disposable {
  readonly token: string;
  /** The body to send instead of the SDK's; undefined for a read. */
  readonly body: Uint8Array | undefined;
  /** Whether the SDK gets a successful reply itself, to parse it, instead of a stub. */
  readonly isShown: boolean;
  /** Whether a byte of the request may have left this process. */
  sent = false;
  /** The SDK's request without the passage token; undefined until the SDK has made it. */
  request: PipelineRequest | undefined;
  reply: RawReply | undefined;
  /** The date of the request's signature. */
  signedAt: string | undefined;
  failure: unknown;
  readonly #close: () => void;

  constructor(token: string, { body, isShown = false }: Parcel, close: () => void) {
    this.token = token;
    this.body = body;
    this.isShown = isShown;
    this.#close = close;
  }

  /** The headers that the SDK has to send with the request. */
  get headers(): Readonly<Record<string, string>> {
    return { [PASSAGE_HEADER]: this.token };
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}

/** The parts of a request that differ when it is sent again. */
interface Resend extends Differing {
  readonly deadline: Deadline;
}

export class ByteTransport implements HttpClient {
  readonly #inner: HttpClient;
  readonly #memory = new BufferPool(MEMORY);
  readonly #sockets: HttpSockets;
  readonly #open = new Map<string, Passage>();
  #opened = 0;

  constructor(inner: HttpClient, clock: Clock) {
    this.#inner = inner;
    this.#sockets = new HttpSockets(clock);
  }

  /** Number of open passages. Tests use it to find a passage that was not closed. */
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
    // The SDK may have waited for a token, and the caller may have aborted the request meanwhile.
    if (request.abortSignal?.aborted === true) throw aborted(undefined);
    // The SDK allows plain http only with its own sockets. We allow it for loopback addresses only.
    const url = new URL(request.url);
    if (url.protocol === 'http:' && isLoopback(url.hostname)) request.allowInsecureConnection = true;
    const token = request.headers.get(PASSAGE_HEADER);
    if (token === undefined) return this.#inner.sendRequest(request);
    return this.#carry(request, must(this.#open.get(token), 'a passage token belongs to an open passage'));
  }

  /** Sends the bytes of a passage with a request that the SDK signed earlier; throws network errors unchanged. */
  async resend(signed: SignedRequest, passage: Passage, { deadline, ...differing }: Resend): Promise<void> {
    const { body } = passage;
    assert(!passage.sent, 'a passage is sent once without the SDK');
    passage.signedAt = signed.date;
    try {
      passage.reply = await this.#sockets.send({
        ...signed.requestFor(body === undefined ? undefined : asBuffer(body), differing),
        onSend: () => (passage.sent = true),
        deadline,
      });
    } catch (error) {
      passage.failure = error;
      throw error;
    }
  }

  /** Closes the connections that are not the SDK's. */
  close(): void {
    this.#sockets.close();
  }

  async #carry(request: PipelineRequest, passage: Passage): Promise<PipelineResponse> {
    // A failover in the SDK may try to repeat a write that was carried out. The first reply counts.
    if (passage.sent && passage.body !== undefined && !wasRefused(passage))
      throw new Error('a write is sent once');
    // After a new sign-in, or in another region, the SDK sends a passage again. The last reply counts.
    passage.reply = undefined;
    passage.failure = undefined;
    request.headers.delete(PASSAGE_HEADER);
    request.streamResponseStatusCodes = EVERY_STATUS;
    const { body } = passage;
    if (body !== undefined) request.body = asBuffer(body);
    passage.request = request;
    passage.signedAt = request.headers.get(DATE);
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
      // The error has no code: if the SDK knew its code, the SDK would retry the request without our code noticing.
      throw new Error('the request failed in the network', { cause: error });
    }
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Whether the last reply proves that the request was not tried: not signed in, or not the write region. */
function wasRefused({ reply }: Passage): boolean {
  return reply?.status === 401 || reply?.status === 403;
}

/** Returns an error with the name by which the SDK recognizes an aborted request. */
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

/** The part of a reply that this module reads. */
type Incoming = Pick<PipelineResponse, 'status' | 'readableStreamBody' | 'bodyAsText'> & {
  readonly header: (name: string) => string | undefined;
};

async function readReply(response: Incoming, memory: BufferPool): Promise<RawReply> {
  const { status, header } = response;
  try {
    return { status, header, ...(await readBody(response, memory)) };
  } catch (error) {
    // The status is enough to recognize a refusal. A proxy may have replaced the body by anything.
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
  // Replies with status 204 or 304 have no body, whatever length they announce.
  const bodyless = status === 204 || status === 304;
  if (!bodyless && announced !== undefined && announced !== read.body.length) throw new CutShort();
  return read;
}

/** Returns all bytes of a stream; throws if the stream does not end cleanly. */
async function readWhole(
  stream: NodeJS.ReadableStream,
  {
    announced = UNKNOWN_BYTES,
    memory,
  }: { readonly announced: number | undefined; readonly memory: BufferPool },
): Promise<Body> {
  // A destroyed stream emits no more events.
  if (stream instanceof Readable && stream.destroyed) throw new CutShort();
  const pieces = new ReplyBytes(announced, memory);
  // Uses events, because an async iterator costs as much as everything else for a short reply.
  await new Promise<void>((resolve, reject) => {
    stream.on('data', (chunk: Buffer | string) => {
      try {
        pieces.add(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      } catch (error) {
        // The rest of the reply is not needed.
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

/** Collects the bytes of one reply as they come. */
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
    // Most replies come in one piece, which needs no other memory.
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

/** Returns a body whose memory is not pooled, so freeing it does nothing. */
function unpooled(body: Buffer): Body {
  return { body, free: () => {} };
}
