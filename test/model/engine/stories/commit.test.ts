/** What is still on its way to the target when a cutover has proven both sides equal. */
import { expect, test } from 'vitest';
import { CUTOVER } from '../../../helpers/migration/cutover-parts.ts';
import { Story } from './story.ts';

const STEPS_MAX = 300;

test('engine: a retry of a closed letter is still in flight -> no commit before it has ended', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  // The run retries the letter of C7. Meanwhile the tail applies the move of C7, and closes the letter.
  story.do('crash', 'app C7 move Q');
  const { world } = story;
  world.cutOver({ ...CUTOVER, deadlineMs: 60_000 });
  const begun = await story.untilWaiting(/^read C7/);
  await story.answer(await story.untilWaiting(/^AVAD 0@"/, begun));
  await story.answer(begun);
  const retry = await story.untilWaiting(/replace C7>Q7/);
  expect(world.process?.ledger.letters.openCount()).toBe(0);
  const phase = (): string => world.process?.ledger.migration.read().phase ?? '';
  for (let n = 0; n < STEPS_MAX && phase() !== 'committed'; n += 1) await story.step(retry);
  expect(phase()).not.toBe('committed');
  await story.answer(retry);
  for (let n = 0; n < STEPS_MAX && phase() !== 'committed'; n += 1) await story.step();
  expect(phase()).toBe('committed');
});
