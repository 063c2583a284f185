/**
 * Reads replies from the bytes of a connection, in whatever pieces they come.
 *
 *   head -> (100 to 199: head again) -> body of known length -> complete
 *                                    -> chunk size -> chunk -> ... -> trailers -> complete
 *                                    -> body up to the end of the connection -> complete
 *
 * Invariant: a reply is whole or an error is thrown; a body takes at most REPLY_BYTES_MAX of memory; bytes after the
 * reply are never taken for another one.
 */
import { must } from '../../lib/assert.ts';
import type { BufferPool } from '../../lib/buffers.ts';
import { CutShort, REPLY_BYTES_MAX, type RawReply } from './raw-reply.ts';
import { MalformedReply, ReplyHead } from './reply-head.ts';

/** The longest head, with all heads of 100 to 199 before it. Node has the same limit for itself. */
const HEAD_BYTES_MAX = 16 * 1024;
/** The longest line with the size of a chunk, with its extensions. */
const CHUNK_LINE_BYTES_MAX = 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const CHUNK_SIZE = /^([\dA-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
/** The first memory for a body without a known length. */
const UNKNOWN_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

type State =
  | 'head'
  | 'counted'
  | 'chunk size'
  | 'chunk'
  | 'after chunk'
  | 'trailers'
  | 'until end'
  | 'complete';

/** Pools of memory: one for pages, and one for the short replies to batches, which would waste the memory of a page. */
export interface ReplyMemory {
  readonly short: BufferPool;
  readonly long: BufferPool;
}

/** Bodies up to this length are short. */
export const SHORT_BYTES_MAX = 64 * 1024;

export class ReplyReader {
  readonly #memory: ReplyMemory;
  #state: State = 'complete';
  /** The beginning of a head or of a line whose end has not arrived yet. */
  #pending: Buffer = NOTHING;
  #head: ReplyHead | undefined;
  #headBytes = 0;
  #body: Buffer = NOTHING;
  #sizeBytes = 0;
  /** How many bytes of the body or of the chunk are missing. */
  #missing = 0;
  #keepsOpen = false;

  constructor(memory: ReplyMemory) {
    this.#memory = memory;
  }

  /** Whether another request may be sent after the reply that was returned last. */
  get keepsOpen(): boolean {
    return this.#keepsOpen;
  }

  /** Prepares for the reply to the next request. */
  begin(): void {
    this.#state = 'head';
    this.#pending = NOTHING;
    this.#head = undefined;
    this.#headBytes = 0;
    this.#body = NOTHING;
    this.#sizeBytes = 0;
  }

  /**
   * Takes bytes of the connection; returns the reply as soon as it is complete. The bytes are copied, so the caller may
   * reuse their memory. After bytes that belong to no reply, no other request may be sent.
   */
  take(bytes: Buffer): RawReply | undefined {
    let rest = bytes;
    while (rest.length > 0 && this.#state !== 'complete') rest = this.#step(rest);
    if (this.#state !== 'complete') return undefined;
    return this.#reply(rest.length === 0);
  }

  /** Takes the end of the connection; returns the reply if it ends with it, and otherwise throws a CutShort. */
  end(): RawReply {
    if (this.#state !== 'until end') throw new CutShort();
    return this.#reply(false);
  }

  /**
   * Returns a refusal of which only a part arrived, without a body: its status is enough to recognize it, and a proxy may
   * have replaced its body by anything. Undefined if no such reply is being read.
   */
  refusal(): RawReply | undefined {
    const head = this.#head;
    if (this.#state === 'complete' || head === undefined || head.status < 400) return undefined;
    return { status: head.status, header: (name) => head.header(name), body: NOTHING, free: () => {} };
  }

  /** Drops what has arrived of a reply that is not wanted any longer. */
  drop(): void {
    this.#free(this.#body);
    this.#body = NOTHING;
    this.#state = 'complete';
  }

  /** Takes the next part; returns the bytes after it. */
  #step(bytes: Buffer): Buffer {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes);
      case 'counted':
      case 'chunk':
        return this.#takeBody(bytes);
      case 'until end':
        this.#append(bytes);
        return NOTHING;
      default:
        return this.#takeLine(bytes);
    }
  }

  #takeHead(bytes: Buffer): Buffer {
    const whole = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    const end = whole.indexOf(HEAD_END);
    const sizeBytes = this.#headBytes + (end < 0 ? whole.length : end + HEAD_END.length);
    if (sizeBytes > HEAD_BYTES_MAX) throw new MalformedReply('its head is too long');
    if (end < 0) {
      this.#pending = whole === bytes ? Buffer.from(bytes) : whole;
      return NOTHING;
    }
    this.#pending = NOTHING;
    const head = new ReplyHead(whole.toString('latin1', 0, end));
    const rest = whole.subarray(end + HEAD_END.length);
    if (head.status === 101) throw new MalformedReply('it changes the protocol');
    if (head.status < 200) {
      // Another head follows. Its bytes count for the same limit, so that the service cannot send them for ever.
      this.#headBytes = sizeBytes;
      return rest;
    }
    this.#head = head;
    const bodyEnd = head.bodyEnd();
    if (typeof bodyEnd === 'number') {
      if (bodyEnd > REPLY_BYTES_MAX) throw new CutShort();
      this.#missing = bodyEnd;
      if (bodyEnd > 0) this.#body = this.#lend(bodyEnd);
      this.#state = bodyEnd === 0 ? 'complete' : 'counted';
    } else this.#state = bodyEnd === 'last chunk' ? 'chunk size' : 'until end';
    return rest;
  }

  #takeBody(bytes: Buffer): Buffer {
    const taken = Math.min(bytes.length, this.#missing);
    this.#append(taken === bytes.length ? bytes : bytes.subarray(0, taken));
    this.#missing -= taken;
    if (this.#missing === 0) this.#state = this.#state === 'chunk' ? 'after chunk' : 'complete';
    return taken === bytes.length ? NOTHING : bytes.subarray(taken);
  }

  /** Takes a line of a body in chunks: the size of a chunk, the empty line after a chunk, or a trailer. */
  #takeLine(bytes: Buffer): Buffer {
    const whole = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    const end = whole.indexOf(LINE_END);
    if ((end < 0 ? whole.length : end) > CHUNK_LINE_BYTES_MAX) throw new MalformedReply('a line is too long');
    if (end < 0) {
      this.#pending = whole === bytes ? Buffer.from(bytes) : whole;
      return NOTHING;
    }
    this.#pending = NOTHING;
    this.#takeText(whole.toString('latin1', 0, end));
    return whole.subarray(end + LINE_END.length);
  }

  #takeText(line: string): void {
    if (this.#state === 'chunk size') {
      const size = CHUNK_SIZE.exec(line)?.[1];
      if (size === undefined) throw new MalformedReply('the size of a chunk cannot be read');
      this.#missing = Number.parseInt(size, 16);
      if (this.#sizeBytes + this.#missing > REPLY_BYTES_MAX) throw new CutShort();
      this.#state = this.#missing === 0 ? 'trailers' : 'chunk';
    } else if (this.#state === 'after chunk') {
      if (line !== '') throw new MalformedReply('a chunk is longer than its size');
      this.#state = 'chunk size';
    } else if (line === '') this.#state = 'complete';
    else {
      // Trailers say nothing that is used. They count for the limit of a head.
      this.#headBytes += line.length;
      if (this.#headBytes > HEAD_BYTES_MAX) throw new MalformedReply('its trailers are too long');
    }
  }

  #append(bytes: Buffer): void {
    const start = this.#sizeBytes;
    const sizeBytes = start + bytes.length;
    if (sizeBytes > REPLY_BYTES_MAX) throw new CutShort();
    if (sizeBytes > this.#body.length) {
      const wider = this.#lend(Math.max(UNKNOWN_BYTES, 2 * sizeBytes));
      this.#body.copy(wider, 0, 0, start);
      this.#free(this.#body);
      this.#body = wider;
    }
    this.#body.set(bytes, start);
    this.#sizeBytes = sizeBytes;
  }

  #reply(keepsOpen: boolean): RawReply {
    const head = must(this.#head, 'a complete reply has a head');
    const lent = this.#body;
    this.#body = NOTHING;
    this.#state = 'complete';
    this.#keepsOpen = keepsOpen && head.keepsOpen;
    return {
      status: head.status,
      header: (name) => head.header(name),
      body: lent.subarray(0, this.#sizeBytes),
      free: () => this.#free(lent),
    };
  }

  #lend(sizeBytes: number): Buffer {
    return (sizeBytes <= SHORT_BYTES_MAX ? this.#memory.short : this.#memory.long).lend(sizeBytes);
  }

  #free(lent: Buffer): void {
    if (lent.length > 0)
      (lent.length <= SHORT_BYTES_MAX ? this.#memory.short : this.#memory.long).giveBack(lent);
  }
}
