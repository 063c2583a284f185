/** The crash rule where an INTENT fails: what it claims is never sent. */
import { describe, expect, test } from 'vitest';
import { Story } from './story.ts';

const NOT_SENT = { failure: expect.stringContaining('disk') as unknown, sent: [] };

describe('engine: the disk is full when an intent is written -> what it claims is not sent', () => {
  test('a page of the copy', async () => {
    using story = new Story();
    story.do('app A7 create P');
    const page = await story.untilWaiting(/^LV 0@beginning$/);
    story.world.files.isFull = true;
    await story.answer(page);
    expect(await story.untilFailure()).toEqual(NOT_SENT);
  });

  test('a page of the tail', async () => {
    using story = new Story();
    await story.rest();
    story.do('app A7 create P');
    const page = await story.untilWaiting(/^AVAD/);
    story.world.files.isFull = true;
    await story.answer(page);
    expect(await story.untilFailure()).toEqual(NOT_SENT);
  });

  test('a slot that only a point read has shown', async () => {
    using story = new Story();
    await story.rest('app A7 create P');
    await story.rest('app C7 create P');
    story.do('app A7 delete');
    const read = await story.untilWaiting(/^read C7$/);
    story.world.files.isFull = true;
    await story.answer(read);
    expect(await story.untilFailure()).toEqual(NOT_SENT);
  });

  test('a removal that only a point read has shown', async () => {
    using story = new Story({ deletes: 'reconcile' });
    await story.rest('app A7 create P');
    story.do('app A7 delete', 'sweep');
    const read = await story.untilWaiting(/^read A7$/);
    story.world.files.isFull = true;
    await story.answer(read);
    expect(await story.untilFailure()).toEqual(NOT_SENT);
  });

  test('a takeover', async () => {
    using story = new Story({ deletes: 'reconcile' });
    await story.rest('app A7 create P');
    story.do('app A7 delete', 'app C7 create P');
    const read = await story.untilWaiting(/^read A7$/);
    story.world.files.isFull = true;
    await story.answer(read);
    expect(await story.untilFailure()).toEqual(NOT_SENT);
  });
});
