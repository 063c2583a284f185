/** The service lists ranges that leave a gap: no such list is used, and the way back is not safe until it is whole. */
import { expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { clockAt } from '../../helpers/clock.ts';
import { Tapped } from '../../helpers/migration/tapped.ts';
import { Turns } from '../../helpers/migration/turns.ts';
import { typed } from '../../helpers/migration/typed.ts';

const GAP = [{ match: { op: 'pkranges', coll: 'by-tenant' }, effect: { pkranges: 'incomplete' } }] as const;

test('way back: ranges leave a gap -> no cutover, then no reverse stream, both named, and safe again later', async () => {
  await using tapped = await Tapped.open({ settings: { avad: true } });
  const { move, tap } = tapped;
  const turns = new Turns(move);
  await move.put({ id: 'o', customerId: 'c', tenantId: 't' });
  await turns.run(0, 'copy');
  await move.admin.split('shop/by-tenant');
  // The anchors of the way back are taken while the writers are stopped.
  const broken = turns.cutOver(0, { deadlineMs: 7000, stopWriters: async () => move.admin.faults(GAP) });
  await expect(broken).rejects.toThrow(
    expect.objectContaining({
      why: expect.stringMatching(/the target: there is a gap in the list of ranges/),
    }),
  );
  await move.admin.faults([]);
  await turns.cutOver(0);
  await turns.run(1, 'catch-up');

  await move.admin.faults(GAP);
  let asked = 0;
  tap.meddle = async ({ what }, forward) => {
    if (what === 'pkranges') asked += 1;
    return forward();
  };
  // A run waits for minutes; so many have passed at each request.
  const clock = clockAt(() => Date.now() + 60_000 * asked);
  await expect(turns.run(1, 'catch-up', { clock })).rejects.toThrow('there is a gap in the list of ranges');
  const unsafe = await typed(move, 'status');
  expect(unsafe.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /NOT SAFE the last run could not use the ranges of the target: there is a gap in the list of ranges at '[0-9A-F]*', for \d+ s now; /,
  );
  expect(unsafe.stdout).toMatch(/^return now +would be refused: NOT SAFE, see above/m);

  await move.admin.faults([]);
  await turns.run(1, 'catch-up');
  expect((await typed(move, 'status')).stdout).not.toContain('NOT SAFE');
  using ledger = Ledger.openReadonly(turns.parts(1).spec.ledger);
  const events = ledger.journal
    .newest(10)
    .flatMap(({ event }) => (event.startsWith('ranges') ? [event] : []));
  expect(events).toEqual(['ranges unusable', 'ranges usable']);
});
