/**
 * Owns the promises P1 and P2 as something to check at a quiet moment: the application has stopped and
 * the mover has converged. It looks at the source, the target and the ledger, and knows no rule.
 */
import { isLive } from './application.ts';
import type { Letter } from './mover/ledger.ts';
import type { Scenario } from './scenario.ts';
import { slotOf, type Identity, type Slot, type Source, type Version } from './source.ts';
import type { Copy } from './target.ts';

/** What the oracle looks at: the world of the model, or one in which the engine runs. */
export interface Judged {
  readonly scenario: Pick<Scenario, 'deletes' | 'identities'>;
  readonly source: Source;
  readonly target: { readonly now: ReadonlyMap<Slot, Copy> };
  readonly ledger: {
    readonly letters: ReadonlyMap<Identity, Letter>;
    rowOf(id: Identity): { readonly slot: Slot | null } | undefined;
  };
  readonly foreign: ReadonlySet<Slot>;
}

/** What is wrong, or nothing. `reconciled`: nothing may remain of deleted documents in any mode. */
export function judgeWorld(world: Judged, { reconciled }: { reconciled: boolean }): string | null {
  const lenient = world.scenario.deletes === 'reconcile' && !reconciled;
  for (const id of world.scenario.identities) {
    const wrong = isLive(world.source, world.scenario, id)
      ? judgeLive(world, id, lenient)
      : judgeGone(world, id, lenient);
    if (wrong !== null) return wrong;
  }
  return judgeStrangers(world) ?? judgeLedger(world);
}

function copiesOf(world: Judged, id: Identity): [Slot, Copy][] {
  return [...world.target.now].filter(([, { owner }]) => owner === id);
}

function judgeLive(world: Judged, id: Identity, lenient: boolean): string | null {
  const version = world.source.now(id);
  if (version === null) return null;
  const slot = slotOf(id, version);
  const copies = copiesOf(world, id);
  const letter = world.ledger.letters.get(id);
  const astray = copies.find(([at]) => at !== slot);
  if (astray !== undefined) return `${id} belongs to ${slot}, and a copy is at ${astray[0]}`;
  const current = copies.some(([, { content }]) => content === version.etag);
  if (letter === undefined) {
    if (current) return null;
    return copies.length === 0 ? `${id} is lost` : `${id} is stale at ${slot}`;
  }
  if (current) return `${id} is at ${slot}, and its letter (${letter.reason}) is open`;
  const true_ = letter.slot === slot && isTrue(world, letter, version, lenient);
  return true_ ? null : `${id} has a letter, and its reason (${letter.reason} at ${letter.slot}) is not true`;
}

function isTrue(world: Judged, { id, slot, reason }: Letter, version: Version, lenient: boolean): boolean {
  const holder = slot === null ? undefined : world.target.now.get(slot);
  switch (reason) {
    case 'invalid-key':
      return slot === null;
    case 'too-large':
      return version.big;
    case 'foreign-document':
      return holder?.owner === null;
    case 'collision':
      return (
        holder !== undefined &&
        holder.owner !== null &&
        holder.owner !== id &&
        holds(world, holder.owner, slot, lenient)
      );
    case 'unique-key':
      return [...world.target.now].some(
        ([at, { owner, unique }]) =>
          owner !== null &&
          owner !== id &&
          at[0] === slot?.[0] &&
          unique === version.unique &&
          holds(world, owner, at, lenient) &&
          (world.source.now(owner)?.unique ?? unique) === unique,
      );
  }
}

/** Does the source put `id` there? A deleted holder that no feed reports counts until it is reconciled. */
function holds(world: Judged, id: Identity, slot: Slot | null, lenient: boolean): boolean {
  if (!isLive(world.source, world.scenario, id)) return lenient;
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
    if (owner === null) continue;
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
