import { expect, test } from 'vitest';
import { SameContainer, type NamedContainer } from '../../../../src/cosmos/transport/same-container.ts';
import type { Trouble } from '../../../../src/cosmos/transport/trouble.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const { signal } = new AbortController();
const [OURS, OTHER] = ['WgAAAYAAAAE=', 'WgAAAYAAAAI='];

const troubleWith = (status: number, substatus: number, kind: Trouble['kind'] = 'transient'): Trouble => ({
  kind,
  status,
  substatus,
  what: `the service answered ${status}`,
  chargeRu: 0,
});
const LAGGING = troubleWith(404, 1002);

function rig(found: NamedContainer): { clock: VirtualClock; same: SameContainer; looks: () => number } {
  const clock = new VirtualClock();
  let looks = 0;
  const look = async (): Promise<NamedContainer> => {
    looks += 1;
    return found;
  };
  const name = { database: 'shop', container: 'orders' };
  const same = new SameContainer({ name, rid: OURS, is: 'source', clock, look });
  return { clock, same, looks: () => looks };
}

test.each([
  ['a replica that lags', LAGGING],
  ['a container that is still being created', troubleWith(404, 1013)],
  ['a missing parent', troubleWith(404, 1003)],
  ['a range that is gone', troubleWith(410, 1002, 'split')],
])('%s, for a second without a success -> the container is looked at', async (_name, trouble) => {
  const { clock, same, looks } = rig({ rid: OTHER });
  clock.advance(999);
  await same.suspect(trouble, signal);
  same.confirm(OURS);
  clock.advance(999);
  await same.suspect(trouble, signal);
  expect(looks()).toBe(0);
  clock.advance(1);
  await expect(same.suspect(trouble, signal)).rejects.toMatchObject({
    message: 'the source container was deleted and created again',
    exitCode: 3,
  });
});

test.each([
  ['400/1024', troubleWith(400, 1024, 'fatal')],
  ['a refused position', troubleWith(400, 0, 'fatal')],
  ['404', troubleWith(404, 0, 'fatal')],
])('%s -> looked at, at once', async (_name, trouble) => {
  const { same } = rig('missing');
  await expect(same.suspect(trouble, signal)).rejects.toThrow('there is no source container shop/orders');
});

test.each([
  ['throttling', troubleWith(429, 3200, 'throttled')],
  ['a refusal', troubleWith(403, 0, 'denied')],
  ['an error of the service', troubleWith(503, 0)],
  ['no reply', troubleWith(0, 0)],
])('%s, for an hour -> the container is not looked at', async (_name, trouble) => {
  const { clock, same, looks } = rig('missing');
  clock.advance(3_600_000);
  await same.suspect(trouble, signal);
  expect(looks()).toBe(0);
});

test.each<[string, NamedContainer]>([
  ['it is the same container', { rid: OURS }],
  ['it cannot be found out', 'unknown'],
])('%s -> looked at every three seconds, and the trouble goes on', async (_name, found) => {
  const { clock, same, looks } = rig(found);
  for (let seconds = 0; seconds < 10; seconds += 1) {
    clock.advance(1000);
    await same.suspect(LAGGING, signal);
  }
  expect(looks()).toBe(4);
});

test('a reply of another container -> refused; of ours, or without a _rid -> taken', () => {
  const { same } = rig('unknown');
  same.confirm(OURS);
  same.confirm(undefined);
  expect(() => same.confirm(OTHER)).toThrow('created again');
});
