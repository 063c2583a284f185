/** What status knows of a run in another process: while it runs, and after it was killed. */
import { expect, test } from 'vitest';
import { Move } from '../../helpers/migration/move.ts';
import { start, typed } from '../../helpers/migration/typed.ts';
import { until } from '../../helpers/wait.ts';

interface Status {
  readonly running: object | null;
  readonly seen: { readonly at: string; readonly lagSeconds: number | null } | null;
  readonly lastRun: { readonly command: string; readonly ended: string | null };
  readonly next: string;
}

test('status: a tail runs, then is killed -> its lag, then when it was last seen', async () => {
  await using move = await Move.open();
  await move.put({ id: '1', customerId: 'a', tenantId: 'P' });
  await move.run('copy');
  const status = async (...flags: readonly string[]): Promise<string> =>
    (await typed(move, 'status', ...flags)).stdout;
  const read = async (): Promise<Status> => JSON.parse(await status('--json')) as Status;

  await using tail = start(move, 'tail');
  const seen = await until(
    async () => {
      const { running, seen: now } = await read();
      return running !== null && now !== null && now.lagSeconds !== null ? now : null;
    },
    { what: 'a tail that says how far it lags' },
  );
  expect(seen.lagSeconds).toBeLessThan(60);
  expect(await status()).toMatch(/^lag +[\d.]+ s \(\d+ s ago\)$/m);
  tail.kill('SIGKILL');
  expect((await tail.ended).code).toBe(-1);
  const dead = await read();
  expect(dead).toMatchObject({ running: null, lastRun: { command: 'tail', ended: null } });
  expect(dead.seen?.at).toMatch(/^\d{4}-/);
  expect(dead.next).toMatch(/^cosmig tail replicates what has changed since/);
  expect(await status()).toMatch(/^last run +tail, started .*, last seen/m);
});
