/** Replies in whatever pieces they come: whole or an error, never a part, and never bytes of another reply. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CutShort, type RawReply } from '../../../../src/cosmos/transport/raw-reply.ts';
import { MalformedReply } from '../../../../src/cosmos/transport/reply-head.ts';
import { ReplyReader, SHORT_BYTES_MAX } from '../../../../src/cosmos/transport/reply-reader.ts';
import { BufferPool } from '../../../../src/lib/buffers.ts';

const POOL = { stepBytes: SHORT_BYTES_MAX / 4, idleBytesMax: 1024 * 1024 };

function newReader(): ReplyReader {
  const long = new BufferPool({ stepBytes: 256 * 1024, idleBytesMax: 1024 * 1024 });
  const reader = new ReplyReader({ short: new BufferPool(POOL), long });
  reader.begin();
  return reader;
}

/** Gives the reader bytes in pieces that end at `cuts`, each in memory that is overwritten afterwards. */
function takeAll(reader: ReplyReader, bytes: Buffer, cuts: readonly number[]): RawReply | undefined {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].toSorted(
    (a, b) => a - b,
  );
  let from = 0;
  for (const end of ends) {
    const piece = Buffer.from(bytes.subarray(from, end));
    from = end;
    const reply = reader.take(piece);
    piece.fill(0);
    // What comes after a reply comes to a connection that is closed, or that has begun another request.
    if (reply !== undefined) return reply;
  }
  return undefined;
}

const bodies = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
const interim = fc.constantFrom(
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n',
);
const cutLists = fc.array(fc.nat(2000), { maxLength: 12 });

const counted = bodies.map((body) => ({
  body,
  bytes: Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nETag: "é7"\r\n\r\n`, 'latin1'),
    body,
  ]),
}));
const chunked = fc
  .record({ parts: fc.array(bodies, { maxLength: 5 }), trailer: fc.constantFrom('', 'x-trailer: 1\r\n') })
  .map(({ parts, trailer }) => ({
    body: Buffer.concat(parts),
    bytes: Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nETag: "é7"\r\n\r\n', 'latin1'),
      ...parts
        .filter((part) => part.length > 0)
        .flatMap((part, i) => [
          Buffer.from(`${part.length.toString(16)}${i % 2 === 0 ? '' : ' ;name=value'}\r\n`),
          part,
          Buffer.from('\r\n'),
        ]),
      Buffer.from(`0\r\n${trailer}\r\n`),
    ]),
  }));
const replies = fc
  .tuple(interim, fc.oneof(counted, chunked))
  .map(([before, { body, bytes }]) => ({ body, bytes: Buffer.concat([Buffer.from(before), bytes]) }));

describe('a reply in pieces', () => {
  test('any pieces -> the same reply, and the connection stays open', () => {
    fc.assert(
      fc.property(replies, cutLists, ({ body, bytes }, cuts) => {
        const reader = newReader();
        const reply = takeAll(reader, bytes, cuts);
        expect(reply?.status).toBe(200);
        expect(reply?.body.equals(body)).toBe(true);
        expect(reply?.header('etag')).toBe('"é7"');
        expect(reader.keepsOpen).toBe(true);
      }),
    );
  });

  test('any beginning of a reply, and then the end of the connection -> cut short', () => {
    fc.assert(
      fc.property(replies, cutLists, fc.nat(), ({ bytes }, cuts, at) => {
        const reader = newReader();
        const part = bytes.subarray(0, at % bytes.length);
        expect(takeAll(reader, part, cuts)).toBe(undefined);
        expect(() => reader.end()).toThrow(CutShort);
      }),
    );
  });

  test('bytes after a reply -> the reply counts, and the connection is not used again', () => {
    fc.assert(
      fc.property(replies, bodies, ({ body, bytes }, junk) => {
        fc.pre(junk.length > 0);
        const reader = newReader();
        const reply = reader.take(Buffer.concat([bytes, junk]));
        expect(reply?.body.equals(body)).toBe(true);
        expect(reader.keepsOpen).toBe(false);
      }),
    );
  });

  test('no length -> the body ends with the connection, which is not used again', () => {
    fc.assert(
      fc.property(bodies, cutLists, (body, cuts) => {
        const reader = newReader();
        const bytes = Buffer.concat([Buffer.from('HTTP/1.0 200 OK\r\n\r\n'), body]);
        expect(takeAll(reader, bytes, cuts)).toBe(undefined);
        expect(reader.end().body.equals(body)).toBe(true);
        expect(reader.keepsOpen).toBe(false);
      }),
    );
  });

  test('one reply after the other -> memory is used again only after it is free', () => {
    const reader = newReader();
    const bytesOf = (text: string): Buffer =>
      Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
    const first = reader.take(bytesOf('first'));
    reader.begin();
    const second = reader.take(bytesOf('second'));
    expect(first?.body.toString()).toBe('first');
    first?.free();
    reader.begin();
    const third = reader.take(bytesOf('third'));
    expect(third?.body.buffer).toBe(first?.body.buffer);
    expect([second, third].map((reply) => reply?.body.toString())).toEqual(['second', 'third']);
  });
});

const OK = 'HTTP/1.1 200 OK\r\n';

test.each([
  ['a page of a proxy', '<html>\r\n\r\n'],
  ['another protocol', 'HTTP/2 200 OK\r\n\r\n'],
  ['a status with two digits', 'HTTP/1.1 99 X\r\n\r\n'],
  ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a folded line', `${OK}a: 1\r\n b\r\n\r\n`],
  ['a space before the colon', `${OK}content-length : 1\r\n\r\nx`],
  ['a line without a colon', `${OK}content-length\r\n\r\n`],
  ['a zero in a header', `${OK}a: \0\r\n\r\n`],
  ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nx`],
  ['the same length twice', `${OK}content-length: 1\r\ncontent-length: 1\r\n\r\nx`],
  ['a negative length', `${OK}content-length: -1\r\n\r\n`],
  ['a length in hex digits', `${OK}content-length: 0x10\r\n\r\n`],
  ['a length and chunks', `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a coding that is not known', `${OK}transfer-encoding: gzip, chunked\r\n\r\n`],
  ['a chunk without a size', `${OK}transfer-encoding: chunked\r\n\r\n\r\n`],
  ['a chunk with a sign', `${OK}transfer-encoding: chunked\r\n\r\n+1\r\nx\r\n`],
  ['a chunk that is longer than its size', `${OK}transfer-encoding: chunked\r\n\r\n1\r\nxy\r\n`],
  ['a line of a chunk without an end', `${OK}transfer-encoding: chunked\r\n\r\n1;${'x'.repeat(2000)}`],
  [
    'trailers without an end',
    `${OK}transfer-encoding: chunked\r\n\r\n0\r\n${`a: ${'x'.repeat(900)}\r\n`.repeat(40)}`,
  ],
  ['a head without an end', `${OK}a: ${'x'.repeat(20_000)}`],
  ['more and more interim replies', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000)],
])('%s -> refused', (_what, text) => {
  expect(() => newReader().take(Buffer.from(text, 'latin1'))).toThrow(MalformedReply);
});

test.each([
  ['a length beyond the limit', `${OK}content-length: 999999999999\r\n\r\n`],
  ['a chunk beyond the limit', `${OK}transfer-encoding: chunked\r\n\r\nffffffff\r\n`],
])('%s -> refused before its bytes come', (_what, text) => {
  expect(() => newReader().take(Buffer.from(text))).toThrow(CutShort);
});

test.each([204, 304])('status %i -> no body, whatever length is announced', (status) => {
  const reader = newReader();
  const reply = reader.take(Buffer.from(`HTTP/1.1 ${status} X\r\nContent-Length: 7\r\n\r\n`));
  expect(reply?.body.length).toBe(0);
  expect(reader.keepsOpen).toBe(true);
});

test.each([
  ['HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 0\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', false],
  ['HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n', true],
  ['HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', true],
])('%j -> may be used again: %s', (head, isKept) => {
  const reader = newReader();
  expect(reader.take(Buffer.from(head))?.status).toBe(200);
  expect(reader.keepsOpen).toBe(isKept);
});

test('headers -> found in any case, without the spaces around them; repeated ones are joined', () => {
  const head = 'HTTP/1.1 200 OK\r\nX-One:  a b \r\nx-two:\r\nX-ONE: c\r\ncontent-length: 0\r\n\r\n';
  const reply = newReader().take(Buffer.from(head));
  expect(['x-one', 'x-two', 'one', 'http/1.1 200 ok'].map((name) => reply?.header(name))).toEqual([
    'a b, c',
    '',
    undefined,
    undefined,
  ]);
});
