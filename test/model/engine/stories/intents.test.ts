/** What an intent covers, and what settling makes of it: a crash between a write and its COMMIT. */
import { expect, test } from 'vitest';
import { UnitOfWork } from '../../../../src/engine/unit/unit-of-work.ts';
import { must } from '../../../../src/lib/assert.ts';
import { identityHash, slotHash } from '../wire.ts';
import { Story } from './story.ts';

test('engine: crash, a write lands late, its document was deleted meanwhile -> the copy is removed', async () => {
  using story = new Story({ deletes: 'marker', lag: true });
  await story.rest();
  story.do('app A7 create P');
  await story.untilWaiting(/create A7>P7/);
  story.do('crash', 'app A7 delete', 'start');
  // Until the wait is over no slot is read; and then not from a replica that lacks the write.
  const read = await story.untilWaiting(/^(?:probe|read) P7/);
  story.endAll('lands');
  await story.answer(read, 'ok', 2);
  const again = await story.untilWaiting(/^read P7/);
  await story.answer(again, 'ok', 2);
  await story.rest();
});

test('engine: crash, a write lands while the next run waits -> settled afterwards', async () => {
  using story = new Story({ deletes: 'marker' });
  await story.rest();
  story.do('app A7 create P');
  await story.untilWaiting(/create A7>P7/);
  story.do('crash', 'app A7 delete');
  // The write takes effect as late as it can: when the request timeout has passed.
  await story.rest();
});

test('engine: power cut after a write was sent -> its intent is there', async () => {
  using story = new Story({ deletes: 'marker', powerLoss: true });
  await story.rest();
  story.do('app A7 create P');
  await story.untilWaiting(/create A7>P7/);
  expect(story.world.files.syncs).toBeGreaterThan(0);
  story.do('crash', 'app A7 delete');
  story.endAll('lands');
  await story.rest();
});

test('engine: a copy was settled where it belongs, its document is deleted -> the ledger knew the copy', async () => {
  using story = new Story({ deletes: 'marker' });
  await story.rest();
  story.do('app A7 create Q');
  await story.untilWaiting(/create A7>Q7/);
  story.do('crash');
  story.endAll('lands');
  story.do('start');
  await story.untilWaiting(/^LV/);
  await story.rest('app A7 delete');
});

test('engine: crash after a removal -> the ledger no longer names the slot', async () => {
  using story = new Story({ deletes: 'reconcile', identities: ['A7', 'D8'] });
  await story.rest('app A7 create P');
  story.do('app D8 create P');
  const first = await story.untilWaiting(/create D8>P8/);
  story.do('app A7 break');
  await story.answer(await story.untilWaiting(/delete P7/, first));
  await story.rest('crash', 'app A7 delete');
});

test('engine: crash after a takeover -> the ledger no longer names the slot of the former holder', async () => {
  using story = new Story({ deletes: 'reconcile', identities: ['A7', 'C7', 'D8'] });
  await story.rest('app A7 create Q');
  story.do('app D8 create P');
  const first = await story.untilWaiting(/create D8>P8/);
  story.do('app A7 delete', 'app C7 create Q');
  await story.answer(await story.untilWaiting(/replace C7>Q7/, first));
  await story.rest('crash');
});

test('engine: crash after a letter was written to the slot that a point read showed -> settled', async () => {
  using story = new Story({ deletes: 'marker' });
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  story.do('app A7 delete');
  const read = await story.untilWaiting(/^read C7/);
  story.do('app C7 move Q');
  await story.answer(read);
  await story.untilWaiting(/create C7>Q7/);
  story.do('crash', 'app C7 move P');
  story.endAll('lands');
  await story.rest();
});

test('engine: a slot is taken over while its page waits -> its row is not written back by the commit', async () => {
  using story = new Story({ deletes: 'reconcile', ranges: 2, identities: ['A7', 'C7', 'D8'] });
  await story.rest();
  story.do('app D8 create P');
  const first = await story.untilWaiting(/create D8>P8/);
  story.do('app C7 create P');
  await story.answer(await story.untilWaiting(/create C7>P7/, first));
  story.do('app C7 delete', 'app A7 create P');
  await story.answer(await story.untilWaiting(/replace A7>P7/, first));
  await story.answer(first);
  await story.rest();
});

test('engine: the copy takes a slot over from a document that was copied -> the index forgets its copy', async () => {
  using story = new Story({ deletes: 'reconcile', ranges: 2 });
  story.do('app C7 create P', 'app A7 create P');
  const page = await story.untilWaiting(/^LV 0@beginning/);
  await story.answer(await story.untilWaiting(/create C7>P7/, page));
  story.do('app C7 delete');
  await story.answer(page);
  await story.rest();
});

test('engine: a split while a page is in flight -> its children start behind the page', async () => {
  using story = new Story();
  await story.rest();
  story.do('app A7 create P');
  const write = await story.untilWaiting(/create A7>P7/);
  story.do('split 0');
  await story.untilWaiting(/^ranges of the source/, write);
  await story.go(write);
  expect(story.world.process?.ledger.leases.live()).toHaveLength(1);
  await story.answer(write);
  await story.rest();
  expect(story.world.process?.ledger.leases.live()).toHaveLength(2);
});

test('engine: a newer page is done before an older one -> the position waits for the older one', async () => {
  using story = new Story({ identities: ['A7', 'D8'] });
  await story.rest();
  story.do('app D8 create P');
  const first = await story.untilWaiting(/create D8>P8/);
  story.do('app A7 create P');
  await story.answer(await story.untilWaiting(/create A7>P7/, first));
  await story.go(first);
  story.do('crash');
  story.endAll('never');
  await story.rest();
});

test('engine: crash between the new slot and the old one, the document moves back -> one copy is left', async () => {
  using story = new Story({ deletes: 'marker' });
  await story.rest('app A7 create P');
  story.do('app A7 move Q');
  await story.untilWaiting(/create A7>Q7/);
  story.do('crash', 'app A7 move P');
  story.endAll('lands');
  await story.rest();
});

test('engine: crash while a repair moves a document, before the removal is intended -> its old copy is removed', async () => {
  using story = new Story({ deletes: 'marker' });
  await story.rest('app A7 create P');
  const page = await story.untilWaiting(/^LV/);
  // The repair looks at a document that was deleted, and finds it under another key. The feed has shown neither.
  story.do('app A7 delete', 'sweep');
  const read = await story.untilWaiting(/^read A7/, page);
  story.do('app A7 create Q');
  await story.answer(read);
  await story.untilWaiting(/create A7>Q7/, page);
  story.do('crash');
  story.endAll('lands');
  await story.rest();
});

test('engine: crash while an older version is written over a newer one -> the newer one is not a replay', async () => {
  using story = new Story({ deletes: 'marker', ranges: 2 });
  await story.rest('app A7 create P');
  await story.rest('app C7 create P');
  story.do('app A7 delete');
  // The letter of C7 is promoted: it reads the newest version, twice, while the feed still shows the one before.
  await story.answer(await story.untilWaiting(/^read C7/));
  const read = await story.untilWaiting(/^read C7/);
  story.do('app C7 touch');
  await story.answer(await story.untilWaiting(/^LV 1@/, read));
  story.do('app C7 touch');
  await story.answer(read);
  await story.answer(await story.untilWaiting(/create C7>P7/));
  await story.untilWaiting(/replace C7>P7/);
  story.do('crash');
  story.endAll('lands');
  await story.rest();
});

test('engine: a copied document lands after an override of its slot -> the index has it', async () => {
  using story = new Story();
  story.do('app C7 create P');
  const write = await story.untilWaiting(/create C7>P7/);
  const { context } = must(story.world.process?.copy, 'the copy has begun');
  // As a takeover would have it that found an older copy there.
  const unit = new UnitOfWork(context, { lease: null, feed: 'LV' });
  unit.override(identityHash('C7'), slotHash('P7'));
  unit.commit(null);
  await story.answer(write);
  await story.rest();
});

test('engine: crash, a takeover never took place -> the slot still belongs to its holder', async () => {
  using story = new Story({ deletes: 'reconcile' });
  await story.rest('app A7 create Q');
  story.do('app A7 delete', 'app C7 create Q');
  await story.untilWaiting(/replace C7>Q7/);
  story.do('crash', 'app C7 delete');
  story.endAll('never');
  await story.rest();
  expect(story.slotsOf('A7')).toEqual(['Q7']);
});
