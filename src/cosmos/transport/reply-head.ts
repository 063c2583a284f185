/**
 * The head of a reply: its status line and its headers, as the service sent them. Invariant: a head is either valid as a
 * whole or refused. What RFC 9112 allows and Azure never sends (folded lines, spaces before a colon, two lengths) is
 * refused, because two readers could take it differently. Headers are looked up late, since few of them are used.
 */

/** Two bytes end each line of a head. */
const LINE_BREAK = '\r\n';
const HEAD =
  /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*$/;
/** 15 digits are an exact number, and far more than a reply may have. */
const LENGTH = /^\d{1,15}$/;
/** How the body of a reply ends: after a number of bytes, after its last chunk, or with the connection. */
export type BodyEnd = number | 'last chunk' | 'end of the connection';

/** The reply does not follow the protocol, so nothing in it can be trusted. */
export class MalformedReply extends Error {
  override readonly name = 'MalformedReply';

  constructor(what: string) {
    super(`the reply is not valid HTTP: ${what}`);
  }
}

export class ReplyHead {
  readonly status: number;
  readonly #lines: string;
  #lowered: string | undefined;

  /** `text`: the head without the empty line at its end. Throws a MalformedReply. */
  constructor(text: string) {
    if (!HEAD.test(text)) throw new MalformedReply('its head cannot be read');
    this.status = Number(text.slice(9, 12));
    this.#lines = text + LINE_BREAK;
  }

  /** Returns the value of a header by its lower-case name. Values of repeated headers are joined, as Node does it. */
  header(name: string): string | undefined {
    const lowered = (this.#lowered ??= this.#lines.toLowerCase());
    const start = `${LINE_BREAK}${name}:`;
    let joined: string | undefined;
    for (let at = lowered.indexOf(start); at >= 0; at = lowered.indexOf(start, at + start.length)) {
      const value = this.#lines
        .slice(at + start.length, lowered.indexOf(LINE_BREAK, at + start.length))
        .trim();
      joined = joined === undefined ? value : `${joined}, ${value}`;
    }
    return joined;
  }

  /** Returns how the body ends. Throws a MalformedReply if the head leaves a doubt. */
  bodyEnd(): BodyEnd {
    const { status } = this;
    const length = this.header('content-length');
    const coding = this.header('transfer-encoding');
    if (status === 204 || status === 304) return 0;
    if (coding !== undefined) {
      if (length !== undefined) throw new MalformedReply('it has a length and is coded');
      if (coding.toLowerCase() !== 'chunked') throw new MalformedReply('it is coded in an unknown way');
      return 'last chunk';
    }
    if (length === undefined) return 'end of the connection';
    if (!LENGTH.test(length)) throw new MalformedReply('its length is not a number');
    return Number(length);
  }

  /** Whether the service keeps the connection open for the next request. */
  get keepsOpen(): boolean {
    const connection = this.header('connection')?.toLowerCase();
    return this.#lines.startsWith('HTTP/1.1') ? connection !== 'close' : connection === 'keep-alive';
  }
}
