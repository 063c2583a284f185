/** Dead letters: when they are tried again, and when they close. */
import { expect, test } from 'vitest';
import { Story } from './story.ts';

/** A unique value is given up after A7 was refused for it, and before A7's letter knows who has it. */
async function giveUp(story: Story, action: string, write: RegExp): Promise<void> {
  await story.answer(await story.untilWaiting(/create A7>P7/));
  const read = await story.untilWaiting(/^read P7/);
  story.do(action);
  await story.answer(await story.untilWaiting(write, read));
  await story.go(read);
  await story.answer(read);
  await story.rest();
}

test('engine: the holder of a slot leaves -> the letter that waits for it is promoted, and closes', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  await story.rest('app A7 delete');
  expect(story.slotsOf('C7')).toEqual(['P7']);
});

test('engine: the document of a letter is deleted -> the letter closes', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  await story.rest('app C7 delete');
});

test('engine: a slot is left before the letter that waits for it is committed -> promoted', async () => {
  using story = new Story({ ranges: 2, identities: ['A7', 'B8', 'C7'] });
  await story.rest('app C7 create P');
  story.do('app B8 create P');
  const other = await story.untilWaiting(/create B8>P8/);
  story.do('app A7 create P');
  await story.answer(await story.untilWaiting(/^read C7/, other));
  await story.go(other);
  story.do('app C7 delete');
  await story.untilWaiting(/delete P7/, other);
  await story.go(other);
  await story.answer(other);
  await story.rest();
});

test('engine: the promoted document has moved meanwhile -> the next letter is promoted', async () => {
  using story = new Story({ identities: ['B7', 'C7', 'D7'], ranges: 2 });
  await story.rest('app B7 create P');
  await story.rest('app C7 create P');
  await story.rest('app D7 create P');
  const other = await story.untilWaiting(/^AVAD 1@/);
  story.do('app B7 delete', 'app C7 move Q');
  await story.untilWaiting(/create C7>Q7/, other);
  await story.go(other);
  expect(story.slotsOf('D7')).toEqual(['P7']);
  await story.answer(other);
  await story.rest();
});

test('engine: the holder of a unique value leaves another slot -> the letter is tried again', async () => {
  using story = new Story({ identities: ['A7', 'A8'], uniqueKeys: true });
  await story.rest('app A8 create P');
  await story.rest('app A7 create P');
  await story.rest('app A8 delete');
  expect(story.slotsOf('A7')).toEqual(['P7']);
});

test('engine: a unique value is given up between the refusal and the letter -> tried a second time', async () => {
  using story = new Story({ identities: ['A7', 'A8'], uniqueKeys: true });
  await story.rest('app A8 create P');
  story.do('app A7 create P');
  await giveUp(story, 'app A8 plain', /replace A8>P8/);
  expect(story.slotsOf('A7')).toEqual(['P7']);
});

test('engine: two documents swap a unique value -> neither stale copy stays in the way', async () => {
  using story = new Story({ identities: ['A7', 'A8'], uniqueKeys: true });
  await story.rest('app A7 create P', 'app A7 plain');
  await story.rest('app A8 create P');
  await story.rest('app A7 unique', 'app A8 plain');
  expect(story.slotsOf('A7')).toEqual(['P7']);
});

test('engine: a letter waits for one unique value, and its document wants another that is given up -> tried twice', async () => {
  using story = new Story({ identities: ['A7', 'A8', 'C9'], uniqueKeys: true });
  await story.rest('app A8 create P', 'app C9 create P', 'app C9 plain');
  await story.rest('app A7 create P');
  story.do('app A7 plain');
  await giveUp(story, 'app C9 delete', /delete P9/);
  expect(story.slotsOf('A7')).toEqual(['P7']);
});

test('engine: a value becomes free while a retry is being refused -> another retry follows', async () => {
  using story = new Story({ identities: ['A7', 'A8'], uniqueKeys: true });
  await story.rest('app A8 create P');
  await story.rest('app A7 create P');
  story.do('sweep');
  await giveUp(story, 'app A8 plain', /replace A8>P8/);
  expect(story.slotsOf('A7')).toEqual(['P7']);
});

test('engine: what a letter waits for has changed unreported -> the next run tries it again', async () => {
  using story = new Story({ deletes: 'reconcile' });
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  await story.rest('app A7 delete', 'crash');
  expect(story.slotsOf('C7')).toEqual(['P7']);
});
