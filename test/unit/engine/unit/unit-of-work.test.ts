/** A unit of work between INTENT and COMMIT: what it may write, and when it may commit. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Governor } from '../../../../src/cosmos/load/governor.ts';
import { SessionTokens } from '../../../../src/cosmos/feed/session-tokens.ts';
import { Backlog } from '../../../../src/engine/progress/backlog.ts';
import { RunCounters } from '../../../../src/engine/progress/counters.ts';
import { RunStop, Tasks } from '../../../../src/engine/progress/stopping.ts';
import { CrashPoints, type CrashPoint } from '../../../../src/engine/unit/crash-points.ts';
import { PendingOutcomes } from '../../../../src/engine/unit/pending-outcomes.ts';
import { RunTotals } from '../../../../src/engine/unit/run-totals.ts';
import { UnitOfWork } from '../../../../src/engine/unit/unit-of-work.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { group, type Group } from '../../../../src/lib/group.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { IntentGroup } from '../../../../src/state/intent-group.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import { beginLease, hashOf, openLedger, rowOf, SPEC, temporaryFolder } from '../../state/making.ts';

const { signal } = new AbortController();

interface Begun {
  readonly unit: UnitOfWork;
  readonly tally: RunCounters;
  readonly backlog: Backlog;
  readonly points: CrashPoint[];
}

function newUnit(ledger: Ledger, members: Group, lease: number | null = null): Begun {
  const random = seededRandom(1);
  const side = {
    sessions: new SessionTokens(),
    governor: new Governor({ clock: systemClock, random, ruPerSecond: undefined }),
  };
  const totals = new RunTotals(side, side);
  const points: CrashPoint[] = [];
  const parts = { tally: new RunCounters(), backlog: new Backlog(systemClock) };
  const unit = new UnitOfWork(
    {
      ...parts,
      spec: SPEC,
      ledger,
      totals,
      signal,
      intents: new IntentGroup(ledger.units, totals),
      pending: new PendingOutcomes(ledger),
      points: new CrashPoints((point) => points.push(point)),
      tasks: new Tasks(members),
      stopping: new RunStop(signal),
    },
    { lease, feed: 'LV' },
  );
  return { unit, points, ...parts };
}

test.each([
  { kind: 'write', may: true },
  { kind: 'remove', may: true },
  { kind: 'takeover', may: false },
] as const)(
  'unit of work: a claim to $kind -> its document may write to the slot: $may',
  async ({ kind, may }) => {
    using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
    await group(signal, async (members) => {
      const { unit, points } = newUnit(ledger, members);
      const identity = { hash: hashOf('d'), name: ['"d"', '"a"'] };
      const slot = { hash: hashOf('P'), key: ['P'] };
      await unit.begin([{ kind, identity, slot }]);
      expect(unit.claims(identity, slot)).toBe(may);
      expect(ledger.units.readIntent(unit.number, 1).claims).toMatchObject([
        { kind, identity: identity.hash },
      ]);
      unit.commit(null);
      expect(ledger.units.unsettled()).toEqual([]);
      expect(points).toEqual(['intended', 'committed']);
    });
  },
);

test('unit of work: an outcome is missing -> the commit waits, then moves the position and the counters', async () => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  const lease = beginLease(ledger);
  await group(signal, async (members) => {
    const { unit, tally, backlog } = newUnit(ledger, members, lease.number);
    const move = { lease: lease.number, feed: 'LV', position: '"1"', documents: 2 } as const;
    unit.expect(2);
    unit.start(async () => {
      unit.row(rowOf('d', 'P'));
      unit.count('documentsWritten');
    });
    expect(() => unit.commit(move)).toThrow(/every document has its outcome/);
    expect(ledger.leases.get(lease.number).lvPosition).toBeNull();
    unit.complete();
    await unit.whenDone();
    expect(backlog.uncommitted).toBe(2);
    unit.commit(move);
    expect(ledger.leases.get(lease.number)).toMatchObject({ lvPosition: '"1"', documents: 2 });
    expect(ledger.rows.find(hashOf('d'))).toMatchObject({ state: 'live', slot: hashOf('P') });
    expect([backlog.uncommitted, tally.get('documentsWritten')]).toEqual([0, 1]);
    expect(() => unit.commit(move)).toThrow(/committed once/);
  });
});
