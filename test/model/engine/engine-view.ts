/** Owns what the oracle sees of a world in which the engine runs: the ledger in the words of the model. */
import { must } from '../../../src/lib/assert.ts';
import type { Ledger } from '../../../src/state/ledger.ts';
import type { Suspect } from '../../../src/engine/letters/repair.ts';
import { isLive } from '../application.ts';
import type { Letter, Reason } from '../mover/ledger.ts';
import type { Judged } from '../oracle.ts';
import type { Identity, Slot } from '../source.ts';
import { identityHash, placeAt, slotHash, tenantOf } from './wire.ts';
import type { World } from './world.ts';

/** The world as it is for the oracle; null before the process has settled. */
export function viewOf(world: World): Judged | null {
  const { scenario, source, target, foreign, process } = world;
  if (process === null) return null;
  const { ledger } = process;
  const slots = slotsOf(scenario.identities);
  // Where AVAD has forgotten deletes, only a comparison finds them, and the ledger says that one is due.
  const leases = ledger.leases.live();
  const isSweepDue = leases.some(({ sweepPending }) => sweepPending);
  return {
    scenario: isSweepDue ? { ...scenario, deletes: 'reconcile' } : scenario,
    source,
    target: target.model,
    foreign,
    ledger: {
      letters: lettersIn(ledger, scenario.identities, slots),
      rowOf: (id) => {
        const row = ledger.lookup.find(identityHash(id), null);
        return row === null ? undefined : { slot: row.slot === null ? null : nameOf(row.slot, slots) };
      },
      leaseAt: (place) => {
        const lease = leases.find(({ min, max }) => placeAt(min) <= place && place < placeAt(max));
        // AVAD that has forgotten something is the other reason for a comparison that is due. A transaction that shows a
        // delete before the replace that preceded it looks like a rename, which costs a comparison and nothing more.
        const renamed = isSweepDue && !scenario.retention && !scenario.batches;
        return lease && { renamed, copied: lease.copiedLsn ?? Infinity };
      },
    },
  };
}

/** Copies whose documents the source no longer has, as a comparison would name them. */
export function suspectsIn({ scenario, source, target }: World): Suspect[] {
  return [...target.model.now].flatMap(([slot, { owner }]) => {
    if (owner === null || isLive(source, scenario, owner)) return [];
    const name = [JSON.stringify(owner.slice(1)), JSON.stringify(tenantOf(owner))];
    return [{ name, seenAt: [[slot.slice(0, 1)]] }];
  });
}

function slotsOf(identities: readonly Identity[]): ReadonlyMap<string, Slot> {
  const names = identities.flatMap((id) => [`P${id.slice(1)}`, `Q${id.slice(1)}`]);
  return new Map(names.map((name) => [slotHash(name).toString('hex'), name]));
}

function nameOf(slot: Buffer, slots: ReadonlyMap<string, Slot>): Slot {
  return slots.get(slot.toString('hex')) ?? 'a slot of no document';
}

function lettersIn(
  ledger: Ledger,
  identities: readonly Identity[],
  slots: ReadonlyMap<string, Slot>,
): ReadonlyMap<Identity, Letter> {
  const names = new Map(identities.map((id) => [identityHash(id).toString('hex'), id]));
  const letters = ledger.letters.list({ state: 'open', after: 0, limit: 100 });
  return new Map(
    letters.map(({ identity, slot, reason, number }) => {
      const id = must(names.get(identity.toString('hex')), 'a letter is about a document of the scenario');
      return [
        id,
        { id, slot: slot === null ? null : nameOf(slot, slots), reason: reasonOf(reason), order: number },
      ];
    }),
  );
}

/** A document without a key has no slot, whatever the reason is called. */
function reasonOf(reason: string): Reason {
  switch (reason) {
    case 'collision':
    case 'unique-key':
    case 'foreign-document':
    case 'too-large':
      return reason;
    default:
      return 'invalid-key';
  }
}
