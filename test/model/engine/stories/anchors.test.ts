/** Where the copy ends and the tail begins: replicas that lag, changes between the steps of an anchor, a feed that forgets. */
import { expect, test } from 'vitest';
import { Story } from './story.ts';

test('engine: a change after the anchor was looked for, before AVAD is primed -> copied', async () => {
  using story = new Story();
  const primed = await story.untilWaiting(/^AVAD 0@\*/);
  story.do('app A7 create P');
  await story.answer(primed);
  await story.rest();
});

test('engine: the end of the feed comes from a replica behind AVAD -> the copy goes on until then', async () => {
  using story = new Story({ lag: true, feedKeepsToken: false });
  story.do('app A7 create P');
  await story.answer(await story.untilWaiting(/^AVAD 0@\*/));
  const reached = await story.untilWaiting(/^LV 0@\*/);
  await story.answer(reached, 'ok', 2);
  await story.rest();
});

test('engine: a page of the copy from a replica behind the anchor -> read again', async () => {
  using story = new Story({ lag: true, feedKeepsToken: false });
  story.do('app A7 create P', 'app A7 delete');
  const page = await story.untilWaiting(/^LV 0@beginning/);
  await story.answer(page, 'ok', 1);
  await story.rest();
});

test('engine: a 304 from a replica behind the anchor -> not the end of the copy', async () => {
  using story = new Story({ lag: true, feedKeepsToken: false });
  story.do('app A7 create P');
  const page = await story.untilWaiting(/^LV 0@beginning/);
  await story.answer(page, 'ok', 2);
  await story.rest();
});

test('engine: a document is deleted while it is copied -> AVAD reports it', async () => {
  using story = new Story();
  story.do('app A7 create P');
  const write = await story.untilWaiting(/create A7>P7/);
  story.do('app A7 delete');
  await story.answer(write);
  await story.rest();
});

test('engine: a copied document is deleted -> the tail finds its slot in the index', async () => {
  using story = new Story();
  await story.rest('app A7 create P');
  await story.rest('app A7 delete');
  expect(story.slotsOf('A7')).toEqual([]);
});

test('engine: a change beyond the anchor shares a page with the copy -> left to the tail, and not passed', async () => {
  using story = new Story({ deletes: 'reconcile' });
  story.do('app A7 create P');
  const page = await story.untilWaiting(/^LV 0@beginning/);
  story.do('app C7 create Q');
  await story.answer(page);
  await story.rest();
});

test('engine: AVAD forgets a create -> the latest-version feed is read again', async () => {
  using story = new Story({ retention: true });
  await story.rest();
  await story.rest('app A7 create P', 'forget 0');
});

test('engine: AVAD forgets a delete -> the ledger says that a comparison is due, also after a crash', async () => {
  using story = new Story({ retention: true });
  await story.rest('app A7 create P');
  await story.rest('app A7 delete', 'forget 0');
  await story.rest('crash');
  expect(story.world.process?.ledger.leases.live().map(({ sweepPending }) => sweepPending)).toEqual([true]);
});

test('engine: AVAD forgets a delete, and the range splits -> a comparison is due for both children', async () => {
  using story = new Story({ retention: true });
  await story.rest('app A7 create P');
  await story.rest('app A7 delete', 'forget 0');
  await story.rest('split 0');
  expect(story.world.process?.ledger.leases.live().map(({ sweepPending }) => sweepPending)).toEqual([
    true,
    true,
  ]);
});

test('engine: AVAD took a document back and forgets the rest -> the feed is read from before AVAD was primed', async () => {
  using story = new Story({ retention: true });
  story.do('app C7 create P');
  await story.answer(await story.untilWaiting(/^AVAD 0@\*/));
  const reached = await story.untilWaiting(/^LV 0@\*/);
  story.do('app C7 touch', 'app A7 create Q', 'app C7 touch');
  await story.answer(reached);
  await story.answer(await story.untilWaiting(/^AVAD 0@"1"/));
  const rest = await story.untilWaiting(/^AVAD 0@"3"/);
  await story.go(rest);
  await story.rest('forget 0');
});

test('engine: a split refuses a page -> its children begin at the position before it', async () => {
  using story = new Story();
  await story.rest();
  await story.rest('app A7 create P', 'split 0');
});

test('engine: a delete does not name its document -> the ledger says that a comparison is due', async () => {
  using story = new Story({ retention: true });
  await story.rest('app A7 create P');
  story.world.namesDeletes = false;
  await story.rest('app A7 delete');
  expect(story.world.process?.ledger.leases.live().map(({ sweepPending }) => sweepPending)).toEqual([true]);
});
