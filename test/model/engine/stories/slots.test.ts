/** A slot changes hands: collisions, takeovers, strangers, and documents that leave for another slot. */
import { expect, test } from 'vitest';
import { Story } from './story.ts';
import { tenantOf } from '../wire.ts';

test('engine: a document moves -> a reader of the target sees it at every moment', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  story.do('app A7 move Q');
  while (story.slotsOf('A7').join() !== 'Q7') {
    expect(story.slotsOf('A7')).not.toEqual([]);
    await story.step();
  }
});

test('engine: a stranger that looks like a source document takes a slot after the copy -> stays', async () => {
  using story = new Story();
  await story.rest();
  story.world.intrude('P7', { tenant: tenantOf('B7') });
  await story.rest('app A7 create P');
  expect(story.slotsOf('A7')).toEqual([]);
});

test('engine: a document loses its key -> its copy leaves', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  await story.rest('app A7 break');
});

test('engine: the holder of a slot is read from a replica that lags -> not taken for deleted', async () => {
  using story = new Story({ ranges: 2, lag: true });
  await story.rest();
  await story.rest('app A7 create P');
  story.do('app C7 create P');
  await story.answer(await story.untilWaiting(/^read A7/), 'ok', 2);
  await story.rest();
});

test('engine: the same in the next run -> the tokens of the last one count', async () => {
  using story = new Story({ ranges: 2, lag: true });
  await story.rest();
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  story.do('crash', 'start');
  // The feed of the holder's range has not been read again.
  const poll = await story.untilWaiting(/^AVAD 0@/);
  await story.answer(await story.untilWaiting(/^read A7/, poll), 'ok', 2);
  await story.rest();
});

test('engine: a slot is taken over from a document whose delete no feed reports -> its row says so', async () => {
  using story = new Story({ deletes: 'reconcile' });
  await story.rest('app A7 create P');
  await story.rest('app A7 delete', 'app C7 create P');
  expect(story.slotsOf('C7')).toEqual(['P7']);
});

test('engine: a repair of a deleted document whose slot was taken over meanwhile -> the new copy stays', async () => {
  using story = new Story({ deletes: 'reconcile' });
  await story.rest('app A7 create P');
  story.do('app A7 delete', 'app C7 create P');
  const takeover = await story.untilWaiting(/replace C7>P7/);
  story.do('sweep');
  await story.answer(takeover);
  await story.rest();
  expect(story.slotsOf('C7')).toEqual(['P7']);
});

test('engine: another writer changes a copy between read and replace -> nothing is overwritten unseen', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  story.do('app A7 touch');
  const write = await story.untilWaiting(/replace A7>P7/);
  story.world.overwrite('P7');
  await story.answer(write);
  await story.go();
  expect(story.world.target.model.now.get('P7')?.owner).toBeNull();
});

test('engine: two of a batch are written, and one outcome is missing -> both are looked at again', async () => {
  using story = new Story();
  story.do('app A7 create P', 'app C7 create Q');
  const both = await story.untilWaiting(/create A7>P7 \+ create C7>Q7/);
  await story.answer(both, 'short');
  await story.rest();
});

test('engine: the reply to a create of the copy is lost, and it lands late -> found before it is removed', async () => {
  using story = new Story();
  story.do('app A7 create P');
  await story.answer(await story.untilWaiting(/create A7>P7/), 'timed-out');
  await story.rest('app A7 delete');
});

test('engine: the reply to a takeover is lost, the former holder comes back -> the slot is read after the write', async () => {
  using story = new Story({ deletes: 'reconcile', ranges: 2, lag: true });
  await story.rest('app C7 create Q');
  story.do('app C7 delete', 'app A7 create Q');
  await story.answer(await story.untilWaiting(/replace A7>Q7/), 'timed-out');
  story.do('app C7 create Q');
  // A replica that lags still shows the copy of the former holder, which belongs there again.
  const next = await story.untilWaiting(/^(?:probe|read) Q7/);
  await story.answer(next, 'ok', 2);
  if (next.name.startsWith('probe')) await story.answer(await story.untilWaiting(/^read Q7/), 'ok', 2);
  await story.rest();
  expect(story.slotsOf('A7')).toEqual(['Q7']);
});

test('engine: the reply to a write of the tail is lost, and it lands late -> the slot is read after that', async () => {
  using story = new Story({ lag: true });
  await story.rest('app A7 create P');
  story.do('app A7 move Q');
  await story.answer(await story.untilWaiting(/create A7>Q7/), 'timed-out');
  story.do('app A7 delete');
  // The write takes effect at the end of the wait. A replica that lags would still show an empty slot.
  for (const name of [/^(?:probe|read) Q7/, /^read Q7/])
    await story.answer(await story.untilWaiting(name), 'ok', 2);
  await story.rest();
});

test('engine: the holder of a slot lies in a range that was split -> what was seen of its parent counts', async () => {
  using story = new Story({ lag: true });
  await story.rest();
  await story.rest('app A7 create P');
  story.do('split 0', 'app C7 create P');
  const child = await story.untilWaiting(/^AVAD 1@/);
  await story.answer(await story.untilWaiting(/^read A7/, child), 'ok', 2);
  await story.answer(child);
  await story.rest();
});

test('engine: two versions of one transaction wait for their turn -> neither is dropped for the other', async () => {
  using story = new Story();
  await story.rest();
  story.do('app C7 create P');
  const write = await story.untilWaiting(/create C7>P7/);
  story.do('app C7 batch Q');
  await story.untilWaiting(/^AVAD 0@"2"/, write);
  await story.answer(write);
  await story.rest();
});

test('engine: a change of a document waits for the one before -> one write at a time', async () => {
  using story = new Story();
  await story.rest();
  story.do('app A7 create P');
  const write = await story.untilWaiting(/create A7>P7/);
  story.do('app A7 move Q');
  await story.go(write);
  expect(story.writes).toEqual(['create A7>P7']);
  await story.answer(write);
  await story.rest();
});

test('engine: another writer changes a copy between read and delete -> its document stays', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  story.do('app A7 delete');
  const removal = await story.untilWaiting(/delete P7/);
  story.world.overwrite('P7');
  await story.answer(removal);
  await story.rest();
  expect(story.world.target.model.now.get('P7')?.owner).toBeNull();
});
