import * as https from 'node:https';
import { createHttpHeaders, createPipelineRequest, type PipelineRequest } from '@azure/core-rest-pipeline';
import { describe, expect, test, vi } from 'vitest';
import { SignedRequests } from '../../../../src/cosmos/transport/signed-requests.ts';
import { deferred } from '../../../../src/lib/deferred.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

function anyRequest(): PipelineRequest {
  const request = createPipelineRequest({
    url: 'https://acme.documents.azure.com/dbs/shop/colls/orders/docs',
    method: 'POST',
    headers: createHttpHeaders({ authorization: 'signed' }),
  });
  request.agent = new https.Agent();
  return request;
}

test('a signature that is 5 s old -> one request renews it while the others use it; 10 s old -> no request uses it', () => {
  const clock = new VirtualClock();
  const signed = new SignedRequests(clock);
  const request = anyRequest();
  const use = (times: number): boolean[] =>
    Array.from({ length: times }, () => signed.find('batch') !== undefined);
  expect(use(1)).toEqual([false]);
  signed.keep('batch', request);
  clock.advance(4999);
  expect(use(2)).toEqual([true, true]);
  clock.advance(1);
  expect(use(3)).toEqual([false, true, true]);
  clock.advance(4999);
  expect(use(1)).toEqual([true]);
  clock.advance(1);
  expect(use(2)).toEqual([false, false]);
  signed.keep('batch', request);
  expect(use(1)).toEqual([true]);
  signed.forget();
  expect(use(1)).toEqual([false]);
});

describe('the first request of a kind is with the SDK', () => {
  /** Begins the first request, and another one that waits for it. */
  const begin = (signal = new AbortController().signal) => {
    const signed = new SignedRequests(new VirtualClock());
    const reply = deferred();
    expect(signed.awaitsFirst('batch')).toBe(false);
    const passage = { request: anyRequest(), reply: { status: 200 } };
    const first = signed.sendBySdk('batch', passage, async () => reply.promise);
    expect(signed.awaitsFirst('batch')).toBe(true);
    return { signed, reply, first, other: signed.findAfterFirst('batch', signal) };
  };

  test('it has its reply -> another one uses its signature', async () => {
    const { signed, reply, first, other } = begin();
    reply.resolve();
    expect(await other).toBeDefined();
    expect(await other).toBe(signed.find('batch'));
    await first;
    expect(signed.awaitsFirst('batch')).toBe(false);
  });

  test('it fails -> another one goes through the SDK', async () => {
    const { reply, first, other } = begin();
    reply.reject(new Error('refused'));
    expect(await other).toBeUndefined();
    await expect(first).rejects.toThrow('refused');
  });

  test('the other one is aborted -> it ends at once', async () => {
    const calling = new AbortController();
    const { other } = begin(calling.signal);
    calling.abort(new Error('canceled'));
    await expect(other).rejects.toThrow('canceled');
  });

  test('it gets no reply for a second -> no request waits for it any longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { signed, other } = begin();
      vi.advanceTimersByTime(1000);
      expect(await other).toBeUndefined();
      expect(signed.awaitsFirst('batch')).toBe(false);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
