/** A network that swallows requests: what a command reads before it begins is asked for again soon, not after 45 s. */
import { expect, test } from 'vitest';
import { readAccount } from '../../../src/cosmos/container/inspect.ts';
import { LiveRanges } from '../../../src/cosmos/feed/live-ranges.ts';
import { FIRST_CONTACT, Patience } from '../../../src/cosmos/load/retry.ts';
import { metadataTimeoutMs } from '../../../src/cosmos/transport/container-requests.ts';
import { stopwatch, systemClock as clock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { ContainerLab } from '../../helpers/emulator/container-requests.ts';

test('the account and the ranges are read, and the first request for each is swallowed -> ten seconds', async () => {
  await using lab = await ContainerLab.open();
  const { signal } = new AbortController();
  const patience = new Patience({ clock, random: seededRandom(3), limits: FIRST_CONTACT });
  await lab.admin.faults(
    (['account', 'pkranges'] as const).map((op) => ({
      match: { op },
      times: 1,
      effect: { hang: 'before' as const },
    })),
  );
  const passedMs = stopwatch();
  const [account, ranges] = await Promise.all([
    readAccount(lab.account, { signal, patience }),
    LiveRanges.read({ requests: lab.requests, patience }, signal),
  ]);
  expect([account.id === null, ranges.list.length]).toEqual([false, 1]);
  expect(passedMs()).toBeGreaterThan(9000);
  // A second request waits for 45 s.
  expect(passedMs()).toBeLessThan(40_000);
});

test.each([
  [0, 10_000],
  [1, 20_000],
  [2, 45_000],
  [20, 45_000],
])('attempt %i to read metadata -> waits %i ms', (attempt, expected) => {
  expect(metadataTimeoutMs(attempt)).toBe(expected);
});
