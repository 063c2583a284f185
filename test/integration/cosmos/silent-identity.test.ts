/** An identity that does not answer: a request keeps its time limit, and nothing is sent after it. */
import { createHttpHeaders, type HttpClient } from '@azure/core-rest-pipeline';
import { expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import type { Identity } from '../../../src/cosmos/account/sign-in.ts';
import { ContainerRequests } from '../../../src/cosmos/transport/container-requests.ts';
import { HANGS_MS, within } from '../../helpers/wait.ts';

type Token = Awaited<ReturnType<Identity['getToken']>>;

const NAME = { database: 'shop', container: 'orders' };
const BATCH = { rangeId: '0', body: Buffer.from('[]'), signal: new AbortController().signal };

test('an identity that never answers -> the request ends by its time limit, and a late token sends nothing', async () => {
  let answer: (token: Token) => void = () => {};
  const token = new Promise<Token>((resolve) => {
    answer = resolve;
  });
  const sent: string[] = [];
  const httpClient: HttpClient = {
    async sendRequest(request) {
      sent.push(request.method);
      return { request, status: 200, headers: createHttpHeaders(), bodyAsText: '[]' };
    },
  };
  const credential: Identity = { getToken: async () => token };
  using account = new Account({ endpoint: 'https://account.invalid/', credential }, { httpClient });
  const requests = new ContainerRequests(account, NAME);
  const exchange = await within(requests.batch({ ...BATCH, timeoutMs: 100 }), HANGS_MS, 'a batch');
  // Nothing left this process, so the write certainly did not happen.
  expect(exchange).toMatchObject({ ok: false, trouble: { kind: 'transient', status: 0 } });
  answer({ token: 'late', expiresOnTimestamp: Date.now() + 3_600_000 });
  expect(await requests.batch(BATCH)).toMatchObject({ ok: true });
  expect(sent).toEqual(['POST']);
});
