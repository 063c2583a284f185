import { HTTPMethod, ResourceType, setAuthorizationTokenHeaderUsingMasterKey } from '@azure/cosmos';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Signer } from '../../../../src/cosmos/account/signer.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const KEY = Buffer.from('a key of the account').toString('base64');
const HOUR_MS = 3_600_000;

/** Signs a request; returns its headers. */
async function signed(signer: Signer, resourceType = ResourceType.item): Promise<Record<string, unknown>> {
  const headers: Record<string, string> = {};
  const [path, resourceId] = ['/dbs/d/colls/C/docs', 'dbs/d/colls/C'];
  const token = await signer.sign({ verb: HTTPMethod.post, path, resourceId, resourceType, headers });
  return { ...headers, authorization: encodeURIComponent(token) };
}

const textOf = (ms: number): string => new Date(ms).toUTCString();

describe("the SDK's own signature", () => {
  const clock = new VirtualClock();
  beforeEach(() => void vi.useFakeTimers({ now: clock.now(), toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  test.each([ResourceType.item, ResourceType.container, ResourceType.offer, ResourceType.none])(
    'type "%s" -> the same headers',
    async (type) => {
      const theirs: Record<string, unknown> = {};
      await setAuthorizationTokenHeaderUsingMasterKey(HTTPMethod.post, 'dbs/d/colls/C', type, theirs, KEY);
      expect(await signed(new Signer(KEY, clock), type)).toEqual(theirs);
    },
  );
});

describe('a refused signature', () => {
  test('the clock is right -> nothing to correct: the key is wrong', async () => {
    const clock = new VirtualClock();
    const signer = new Signer(KEY, clock);
    expect(signer.correct(textOf(clock.now()), textOf(clock.now() + 13 * 60_000))).toBe(false);
    expect(await signed(signer)).toMatchObject({ 'x-ms-date': textOf(clock.now()) });
  });

  test.each([61 * 60_000, -24 * HOUR_MS])(
    'the clock is %d ms ahead -> dated by the service from now on',
    async (aheadMs) => {
      const clock = new VirtualClock();
      const signer = new Signer(KEY, clock);
      const before = textOf(clock.now());
      const theirsMs = clock.now() - aheadMs;
      expect(signer.correct(before, textOf(theirsMs))).toBe(true);
      clock.advance(5000);
      clock.step(HOUR_MS);
      expect(await signed(signer)).toMatchObject({ 'x-ms-date': textOf(theirsMs + 5000) });
      // Others were on their way with the old date.
      expect(signer.correct(before, textOf(theirsMs + 5000))).toBe(true);
      expect(await signed(signer)).toMatchObject({ 'x-ms-date': textOf(theirsMs + 5000) });
    },
  );

  test('refused by the date of the refusal as well -> the clock of this machine again', async () => {
    const clock = new VirtualClock();
    const signer = new Signer(KEY, clock);
    const theirs = textOf(clock.now() + 24 * HOUR_MS);
    expect(signer.correct(textOf(clock.now()), theirs)).toBe(true);
    expect(signer.correct(theirs, theirs)).toBe(false);
    expect(await signed(signer)).toMatchObject({ 'x-ms-date': textOf(clock.now()) });
  });

  test('a refusal without a date that can be read -> nothing to correct', () => {
    const clock = new VirtualClock();
    expect(new Signer(KEY, clock).correct(textOf(clock.now()), 'yesterday')).toBe(false);
  });
});
