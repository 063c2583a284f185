/**
 * Owns the promises P1 and P2 as something to check at a quiet moment: the application has stopped and
 * the mover has converged. It looks at the source, the target and the ledger, and knows no rule.
 */
import { isLive } from './application.ts';
import type { Letter } from './mover/ledger.ts';
import type { Scenario } from './scenario.ts';
import { placeOf, slotOf, type Identity, type Slot, type Source, type Version } from './source.ts';
import type { Copy } from './target.ts';

/** What the oracle looks at: the world of the model, or one in which the engine runs. */
export interface Judged {
  readonly scenario: Pick<Scenario, 'deletes' | 'identities' | 'renames' | 'ttl' | 'lag'>;
  readonly source: Source;
  readonly target: { readonly now: ReadonlyMap<Slot, Copy> };
  readonly ledger: {
    readonly letters: ReadonlyMap<Identity, Letter>;
    rowOf(id: Identity): { readonly slot: Slot | null } | undefined;
    /** What the ledger says of the range at a place. */
    leaseAt(place: number): { readonly renamed: boolean; readonly copied: number } | undefined;
  };
  readonly foreign: ReadonlySet<Slot>;
  /** A document of the closed side that is a copy of none. */
  isLeftOut?(slot: Slot): boolean;
  /** Those of them that were dead letters when the side was closed: they stay where they are. */
  readonly leftOut?: ReadonlySet<Slot>;
  /** The source may have documents that came from nowhere: the first change of such looks like that of a renamed one. */
  readonly hasUnknown?: boolean;
  /** Identities whose copies may differ. */
  readonly excused?: ReadonlySet<Identity>;
}

/** What is wrong, or nothing. `reconciled`: nothing may remain of deleted documents in any mode. */
export function judgeWorld(world: Judged, { reconciled }: { reconciled: boolean }): string | null {
  const lingers: Lingers = (id) => !reconciled && mayLinger(world, id);
  for (const id of world.scenario.identities) {
    if (world.excused?.has(id) === true) continue;
    const wrong = isLive(world.source, world.scenario, id)
      ? judgeLive(world, id, lingers)
      : judgeGone(world, id, lingers(id));
    if (wrong !== null) return wrong;
  }
  return judgeStrangers(world) ?? judgeLedger(world) ?? judgeSuspicion(world);
}

/**
 * A rename is suspected only where there was one: a suspicion costs a comparison of all documents. A document that
 * expired before the copy saw it, and changed shortly before that, is one that the mover does not know either.
 */
function judgeSuspicion({ scenario, ledger, hasUnknown }: Judged): string | null {
  const suspected = scenario.identities.some((id) => ledger.leaseAt(placeOf(id))?.renamed === true);
  const isPossible = scenario.renames || (scenario.ttl && scenario.lag) || hasUnknown === true;
  return suspected && !isPossible ? 'a rename is suspected, and there was none' : null;
}

/**
 * May a copy of this document remain until both sides are compared? No feed shows that its id was given up. Where the
 * feed of all versions shows an id for the first time, and not as a create, the ledger knows that there was a rename.
 * What happened before the copy of the range was complete is for the comparison that every migration begins with.
 */
function mayLinger({ source, scenario, ledger }: Judged, id: Identity): boolean {
  const rename = source.renameOf(id);
  if (rename === null) return scenario.deletes === 'reconcile';
  const lease = ledger.leaseAt(placeOf(id));
  if (scenario.deletes !== 'avad' || lease === undefined || lease.renamed) return true;
  return rename.at <= lease.copied || !rename.isFirst;
}

function copiesOf(world: Judged, id: Identity): [Slot, Copy][] {
  return [...world.target.now].filter(([at, { owner }]) => owner === id && world.isLeftOut?.(at) !== true);
}

/** Whether a copy of a deleted document may still be there. */
type Lingers = (id: Identity) => boolean;

function judgeLive(world: Judged, id: Identity, lingers: Lingers): string | null {
  const version = world.source.now(id);
  if (version === null) return null;
  const slot = slotOf(id, version);
  const copies = copiesOf(world, id);
  const letter = world.ledger.letters.get(id);
  const astray = copies.find(([at]) => at !== slot);
  if (astray !== undefined) return `${id} belongs to ${slot}, and a copy is at ${astray[0]}`;
  const current = copies.some(([, { content }]) => content === version.body);
  if (letter === undefined) {
    if (current) return null;
    return copies.length === 0 ? `${id} is lost` : `${id} is stale at ${slot}`;
  }
  if (current) return `${id} is at ${slot}, and its letter (${letter.reason}) is open`;
  const true_ = letter.slot === slot && isTrue(world, letter, version, lingers);
  return true_ ? null : `${id} has a letter, and its reason (${letter.reason} at ${letter.slot}) is not true`;
}

function isTrue(world: Judged, { id, slot, reason }: Letter, version: Version, lingers: Lingers): boolean {
  const holder = slot === null ? undefined : world.target.now.get(slot);
  switch (reason) {
    case 'invalid-key':
      return slot === null;
    case 'too-large':
      return version.big;
    case 'foreign-document':
      return holder?.owner === null || (slot !== null && world.leftOut?.has(slot) === true);
    case 'collision':
      return (
        holder !== undefined &&
        holder.owner !== null &&
        holder.owner !== id &&
        holds(world, holder.owner, slot, lingers)
      );
    case 'unique-key':
      return [...world.target.now].some(
        ([at, { owner, unique }]) =>
          owner !== null &&
          owner !== id &&
          at[0] === slot?.[0] &&
          unique === version.unique &&
          holds(world, owner, at, lingers) &&
          (world.source.now(owner)?.unique ?? unique) === unique,
      );
  }
}

/** Does the source put `id` there? A deleted holder that no feed reports counts until it is reconciled. */
function holds(world: Judged, id: Identity, slot: Slot | null, lingers: Lingers): boolean {
  if (!isLive(world.source, world.scenario, id)) return lingers(id);
  const version = world.source.now(id);
  return version !== null && slotOf(id, version) === slot;
}

function judgeGone(world: Judged, id: Identity, lenient: boolean): string | null {
  if (lenient) return null;
  const [copy] = copiesOf(world, id);
  if (copy !== undefined) return `${id} is deleted, and a copy is at ${copy[0]}`;
  return world.ledger.letters.has(id) ? `${id} is deleted, and its letter is open` : null;
}

function judgeStrangers(world: Judged): string | null {
  for (const slot of world.foreign)
    if (world.target.now.get(slot)?.owner !== null) return `the stranger at ${slot} is gone`;
  return null;
}

/** Later deletes, status, counts and the cutover's gate believe the ledger: it has to know each copy. */
function judgeLedger(world: Judged): string | null {
  for (const [slot, { owner }] of world.target.now) {
    if (owner === null || world.isLeftOut?.(slot) === true) continue;
    const row = world.ledger.rowOf(owner);
    if (row?.slot !== slot) return `${owner} is at ${slot}, and the ledger says ${row?.slot ?? 'nowhere'}`;
  }
  for (const id of world.scenario.identities) {
    const slot = world.ledger.rowOf(id)?.slot;
    if (typeof slot === 'string' && world.target.now.get(slot)?.owner !== id)
      return `the ledger says ${id} is at ${slot}, where it is not`;
  }
  return null;
}
