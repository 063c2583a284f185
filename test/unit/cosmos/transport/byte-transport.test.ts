/** The lane alone: what goes through it, and what the SDK gets to see. */
import {
  createHttpHeaders,
  createPipelineRequest,
  type HttpClient,
  type PipelineRequest,
  type PipelineResponse,
} from '@azure/core-rest-pipeline';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import {
  PASSAGE_HEADER,
  ByteTransport,
  type Passage,
} from '../../../../src/cosmos/transport/byte-transport.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { failure } from '../../../helpers/emulator/failure.ts';

type Answer = (request: PipelineRequest) => Promise<PipelineResponse>;

function answering(status: number, body = '', headers: Record<string, string> = {}): Answer {
  return async (request) => ({
    status,
    request,
    headers: createHttpHeaders(headers),
    readableStreamBody: Readable.from([Buffer.from(body)]),
  });
}

function laneOver(...answers: readonly Answer[]): { transport: ByteTransport; sent: PipelineRequest[] } {
  const sent: PipelineRequest[] = [];
  const inner: HttpClient = {
    sendRequest: async (request) => {
      const answer = answers[sent.length];
      sent.push(request);
      if (answer === undefined) throw new Error('nothing more was expected');
      return answer(request);
    },
  };
  return { transport: new ByteTransport(inner, systemClock), sent };
}

function requestOf(passage?: Passage, url = 'https://acme.documents.azure.com/'): PipelineRequest {
  return createPipelineRequest({ url, headers: createHttpHeaders(passage?.headers ?? {}), body: 'a stub' });
}

test('a passage -> its bytes are sent without the token, the reply is kept, the SDK gets a stub', async () => {
  const { transport, sent } = laneOver(answering(200, '[1]', { etag: '"7"', 'x-ms-session-token': '0:1#2' }));
  using passage = transport.open({ body: Buffer.from('[true]') });
  const stub = await transport.sendRequest(requestOf(passage));
  expect(sent[0]?.headers.has(PASSAGE_HEADER)).toBe(false);
  expect(sent[0]?.body).toEqual(Buffer.from('[true]'));
  expect(passage.reply?.body.toString()).toBe('[1]');
  expect(passage.reply?.header('etag')).toBe('"7"');
  expect(stub.bodyAsText).toBe('{}');
  // The SDK keeps no session of its own next to ours.
  expect(stub.headers.toJSON()).toEqual({});
});

test('a shown passage -> the SDK gets a successful reply itself, and a stub for a refusal', async () => {
  const { transport, sent } = laneOver(
    answering(200, '{"id":"orders"}', { etag: '"7"' }),
    answering(503, '<html>', { 'x-ms-substatus': '5' }),
  );
  using passage = transport.open({ isShown: true });
  const shown = await transport.sendRequest(requestOf(passage));
  expect(shown).toMatchObject({ status: 200, bodyAsText: '{"id":"orders"}' });
  expect(shown.headers.get('etag')).toBe('"7"');
  expect(sent[0]?.body).toBe('a stub');
  const refusal = await transport.sendRequest(requestOf(passage));
  expect(JSON.parse(refusal.bodyAsText ?? '')).toMatchObject({ code: 'refused' });
  expect(refusal.headers.get('x-ms-substatus')).toBe('5');
  expect(passage.reply?.body.toString()).toBe('<html>');
});

test('a request without a token -> passed through', async () => {
  const { transport, sent } = laneOver(answering(200, '{}'));
  const request = requestOf();
  await transport.sendRequest(request);
  expect(sent).toEqual([request]);
  expect(request.body).toBe('a stub');
});

test('a closed passage -> is not sent again', async () => {
  const { transport, sent } = laneOver(answering(200));
  const passage = transport.open();
  passage[Symbol.dispose]();
  expect(transport.size).toBe(0);
  await expect(transport.sendRequest(requestOf(passage))).rejects.toThrow('belongs to an open passage');
  expect(sent).toEqual([]);
});

test.each([
  ['http://127.0.0.1:8081/', true],
  ['http://localhost/', true],
  ['http://10.0.0.7/', false],
  ['https://localhost/', false],
])('plain http: to %s -> allowed: %s', async (url, allowed) => {
  const { transport, sent } = laneOver(answering(200));
  await transport.sendRequest(requestOf(undefined, url));
  expect(sent[0]?.allowInsecureConnection).toBe(allowed);
});

test('a network failure -> kept, and without the code that the SDK would retry', async () => {
  const reset = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  const { transport } = laneOver(() => Promise.reject(reset));
  using passage = transport.open();
  const seen = await failure(transport.sendRequest(requestOf(passage)));
  expect(seen.code).toBeUndefined();
  expect(passage).toMatchObject({ sent: true, reply: undefined, failure: reset });
});

describe('a reply that is cut short', () => {
  const cut = { 'content-length': '100' };
  test('a success -> a failure', async () => {
    const { transport } = laneOver(answering(200, '{"Documents":[', cut));
    using passage = transport.open();
    await failure(transport.sendRequest(requestOf(passage)));
    expect(passage).toMatchObject({ reply: undefined, failure: { name: 'CutShort' } });
  });

  test.each([new Error('socket hang up'), undefined])(
    'gone before it was read: %s -> a failure',
    async (why) => {
      const body = new Readable({ read: () => undefined });
      // The sender has handled the error, and the last event of the body was emitted.
      body.on('error', () => undefined);
      const closed = new Promise<void>((resolve) => body.once('close', resolve));
      body.destroy(why);
      await closed;
      const { transport } = laneOver(async (request) => ({
        ...(await answering(200)(request)),
        readableStreamBody: body,
      }));
      using passage = transport.open();
      await failure(transport.sendRequest(requestOf(passage)));
      expect(passage).toMatchObject({ reply: undefined, failure: { name: 'CutShort' } });
    },
  );

  test('a refusal -> still a refusal', async () => {
    const { transport } = laneOver(answering(429, '{"code"', { ...cut, 'x-ms-retry-after-ms': '9' }));
    using passage = transport.open();
    await transport.sendRequest(requestOf(passage));
    expect(passage.reply?.status).toBe(429);
    expect(passage.reply?.header('x-ms-retry-after-ms')).toBe('9');
  });

  test('a reply without a body -> complete', async () => {
    const { transport } = laneOver(answering(304, '', cut));
    using passage = transport.open();
    await transport.sendRequest(requestOf(passage));
    expect(passage.reply?.status).toBe(304);
  });
});

describe('the SDK sends a passage again', () => {
  const twice = async (transport: ByteTransport, passage: Passage): Promise<void> => {
    await transport.sendRequest(requestOf(passage)).catch(() => undefined);
    await transport.sendRequest(requestOf(passage)).catch(() => undefined);
  };

  test.each([401, 403])('a write after %i -> sent', async (status) => {
    const { transport, sent } = laneOver(answering(status), answering(200, '[]'));
    using passage = transport.open({ body: Buffer.from('[]') });
    await twice(transport, passage);
    expect(sent).toHaveLength(2);
    expect(passage.reply?.status).toBe(200);
  });

  test.each([408, 500, 503])('a write after %i, which may have been done -> not sent', async (status) => {
    const { transport, sent } = laneOver(answering(status), answering(409));
    using passage = transport.open({ body: Buffer.from('[]') });
    await twice(transport, passage);
    expect(sent).toHaveLength(1);
    expect(passage.reply?.status).toBe(status);
  });

  test('a write without a reply -> not sent', async () => {
    const { transport, sent } = laneOver(() => Promise.reject(new Error('lost')), answering(409));
    using passage = transport.open({ body: Buffer.from('[]') });
    await twice(transport, passage);
    expect(sent).toHaveLength(1);
    expect(passage).toMatchObject({ reply: undefined, failure: { message: 'lost' } });
  });

  test('a read -> sent, and its last reply counts', async () => {
    const { transport } = laneOver(answering(503), answering(200, '{}'));
    using passage = transport.open();
    await twice(transport, passage);
    expect(passage.reply?.status).toBe(200);
  });
});

describe('a reply in pieces', () => {
  const pieces = [70_000, 1, 300_000, 900_000].map((size, i) => Buffer.alloc(size, String(i)));
  const whole = Buffer.concat(pieces);
  const inPieces =
    (headers: Record<string, string>): Answer =>
    async (request) => ({
      status: 200,
      request,
      headers: createHttpHeaders(headers),
      readableStreamBody: Readable.from(pieces),
    });

  test.each([{}, { 'content-length': String(whole.length) }])(
    'headers %j -> joined to the whole body',
    async (headers) => {
      const { transport } = laneOver(inPieces(headers), inPieces(headers), inPieces(headers));
      const read = async (): Promise<Passage> => {
        const passage = transport.open();
        await transport.sendRequest(requestOf(passage));
        expect(passage.reply?.body.equals(whole)).toBe(true);
        return passage;
      };
      const [one, two] = [await read(), await read()];
      // Both are whole still; the third may use the memory of one, and does.
      expect(one.reply?.body.equals(whole)).toBe(true);
      two.reply?.free();
      const three = await read();
      expect(three.reply?.body.buffer).toBe(two.reply?.body.buffer);
      expect(one.reply?.body.buffer).not.toBe(three.reply?.body.buffer);
    },
  );
});
