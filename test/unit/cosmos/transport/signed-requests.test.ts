import * as https from 'node:https';
import { createHttpHeaders, createPipelineRequest } from '@azure/core-rest-pipeline';
import { expect, test } from 'vitest';
import { SignedRequests } from '../../../../src/cosmos/transport/signed-requests.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

test('a signature that is 5 s old -> one request renews it while the others use it; 10 s old -> no request uses it', () => {
  const clock = new VirtualClock();
  const signed = new SignedRequests(clock);
  const request = createPipelineRequest({
    url: 'https://acme.documents.azure.com/dbs/shop/colls/orders/docs',
    method: 'POST',
    headers: createHttpHeaders({ authorization: 'signed' }),
  });
  request.agent = new https.Agent();
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
