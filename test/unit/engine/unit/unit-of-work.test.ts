import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PendingOutcomes } from '../../../../src/engine/unit/pending-outcomes.ts';
import { RunCounters } from '../../../../src/engine/progress/counters.ts';
import { UnitOfWork } from '../../../../src/engine/unit/unit-of-work.ts';
import { IntentGroup } from '../../../../src/state/intent-group.ts';
import { hashOf, openLedger, temporaryFolder } from '../../state/making.ts';

test.each([
  { kind: 'write', may: true },
  { kind: 'remove', may: true },
  { kind: 'takeover', may: false },
] as const)('a claim to $kind lets its document write to the slot: $may', async ({ kind, may }) => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  const unit = new UnitOfWork(
    {
      ledger,
      intents: new IntentGroup(ledger.pages, () => []),
      pending: new PendingOutcomes(ledger),
      tally: new RunCounters(),
      point: () => {},
      alongside: () => ({}),
      committed: () => {},
    },
    { lease: null, feed: 'LV' },
  );
  const identity = { hash: hashOf('d'), name: ['"d"', '"a"'] };
  const slot = { hash: hashOf('P'), key: ['P'] };
  await unit.begin([{ kind, identity, slot }]);
  expect(unit.claims(identity, slot)).toBe(may);
  expect(ledger.pages.readIntent(unit.page, 1).claims).toMatchObject([{ kind, identity: identity.hash }]);
  unit.commit();
  expect(ledger.pages.unsettled()).toEqual([]);
});
