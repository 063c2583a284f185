/** The last moments before a commit: either the target is in use, or the writers resume on the source; never both. */
import { expect, test } from 'vitest';
import { CUTOVER } from '../../../helpers/migration/cutover-parts.ts';
import { Story } from './story.ts';

const REPLIES_MAX = 500;

/**
 * A cutover that is stopped at its nth reply, or so many microtasks later, while the disk of its ledger is full; without n
 * it is not stopped.
 */
async function cutOver(
  stopAt = Infinity,
  ticks = 0,
): Promise<{ phase: string; hasResumed: boolean; replies: number }> {
  using story = new Story();
  await story.rest('app A7 create P');
  const { world } = story;
  let hasResumed = false;
  world.cutOver({
    ...CUTOVER,
    onAbort: async () => {
      hasResumed = true;
      world.files.isFull = false;
    },
  });
  const phase = (): string => world.process?.ledger.migration.read().phase ?? '';
  let replies = 0;
  for (
    ;
    replies < REPLIES_MAX &&
    phase() !== 'committed' &&
    world.failure === null &&
    world.process?.hasEnded !== true;
  ) {
    await world.timers.whenIdle();
    const [request] = world.service.waiting;
    if (request === undefined) {
      await story.step();
      continue;
    }
    replies += 1;
    const answered = story.answer(request);
    if (replies === stopAt) {
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      world.files.isFull = true;
      world.process?.stop();
    }
    await answered;
  }
  for (let n = 0; n < 20; n += 1) await story.step().catch(() => {});
  return { phase: phase(), hasResumed, replies };
}

test('engine: a cutover is stopped in the moment of any of its last replies -> no commit once writers resume', async () => {
  const whole = await cutOver();
  expect(whole).toMatchObject({ phase: 'committed', hasResumed: false });
  for (const before of [0, 1, 2, 3])
    for (const ticks of [0, 1, 20, 40]) {
      const { phase, hasResumed } = await cutOver(whole.replies - before, ticks);
      expect([before, ticks, phase === 'committed', hasResumed]).toEqual([
        before,
        ticks,
        !hasResumed,
        hasResumed,
      ]);
    }
});
