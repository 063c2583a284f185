/**
 * Repairs documents in which a comparison found a difference. The current version in the source is applied by the apply
 * rule, and copies of the document are removed from all other slots in which the comparison has seen one. Deletes that
 * no feed reports are applied in this way too. Invariant: a repair writes only the current version, under the same
 * locks and intents as any other change.
 */
import { HASH_WORDS, hashToBytes, wordsOf } from '../../documents/hash.ts';
import { IdentityHasher } from '../../documents/identity.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { group } from '../../lib/group.ts';
import type { RunContext } from '../context.ts';
import { removeIfOurs } from '../apply/put-in-slot.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';
import { reapply } from './reapply.ts';
import { keyOf, type Slot, type SourceIdentity } from '../apply/identity.ts';

/** A document in which a comparison found a difference. */
export interface Suspect {
  /** The id, then the levels of the source key, as JSON texts; null for a missing value. */
  readonly name: readonly (string | null)[];
  /** The target keys under which the comparison has seen copies. */
  readonly seenAt: ReadonlyArray<readonly KeyComponent[]>;
}

/** How many documents are repaired at the same time. */
const AT_ONCE = 64;

/** Repairs documents until `reading` is aborted. Returns the names of those of which a copy was deleted. */
export async function repairEach(
  context: RunContext,
  suspects: readonly Suspect[],
  reading: AbortSignal = context.signal,
): Promise<ReadonlyArray<Suspect['name']>> {
  const deleted: Array<Suspect['name']> = [];
  for (let at = 0; at < suspects.length && !reading.aborted; at += AT_ONCE) {
    context.signal.throwIfAborted();
    await group(context.signal, async (members) => {
      for (const suspect of suspects.slice(at, at + AT_ONCE))
        members.start(async () => {
          if ((await repair(context, suspect)) === 'deleted') deleted.push(suspect.name);
        });
    });
  }
  return deleted;
}

/** Repairs one document, and commits the repair. */
async function repair(context: RunContext, { name, seenAt }: Suspect): Promise<'deleted' | 'kept'> {
  const identity = { hash: hashOf(name[0] ?? null, keyOf({ name })), name };
  if (await isStranger(context, identity)) return 'kept';
  const unit = await reapply(context, identity);
  // In a turn after the first one, what the ledger does not know there was written by another process.
  for (const key of context.checksCopies ? [] : seenAt) {
    const slot = { hash: hashOf(name[0] ?? null, key), key };
    await removeStray(context, unit, { identity, slot });
  }
  const end = unit.counted('documentsDeleted') > 0 ? 'deleted' : 'kept';
  unit.commit(null);
  return end;
}

/**
 * Whether a document of an adopted target is not a copy, as far as can be shown. The map has every document that may be
 * one. What neither the map nor the source knows was left out of the map, or was written by another process since.
 */
async function isStranger(context: RunContext, identity: SourceIdentity): Promise<boolean> {
  const { ledger, pending, source } = context;
  if (ledger.journal.adoption() === null || pending.rowOf(identity.hash, null) !== null) return false;
  return (await source.read(identity)) === 'gone';
}

/**
 * Removes the document's copy from a slot, unless it is the slot in the ledger or the slot where the document belongs.
 */
async function removeStray(
  context: RunContext,
  unit: UnitOfWork,
  { identity, slot }: { readonly identity: SourceIdentity; readonly slot: Slot },
): Promise<void> {
  const { sequencer, signal, source, pending } = context;
  while (!sequencer.mayEnter) await sequencer.untilMayEnter(signal);
  const turn = sequencer.enter(wordsOf(identity.hash, slot.hash), 2);
  try {
    await sequencer.ready(turn, signal);
    // According to the ledger this is the document's own slot: its copy was just written, or stays there with a letter.
    if (pending.rowOf(identity.hash, null)?.slot?.equals(slot.hash) === true) return;
    const version = await source.read(identity);
    if (version !== 'gone' && version.slot?.hash.equals(slot.hash) === true) return;
    const end = await removeIfOurs({ context, unit, identity, slot });
    if (end === 'removed') unit.count('documentsDeleted');
  } finally {
    sequencer.release(turn);
  }
}

/** Returns the hash of an identity or a slot, from the id (JSON text) and the key. */
function hashOf(id: string | null, key: readonly KeyComponent[]): Buffer {
  const hasher = new IdentityHasher();
  // The text starts with a space, so that the id is at offset 1: offset 0 would mean that there is no id.
  const text = Buffer.from(` ${id ?? ''}`);
  hasher.clear();
  hasher.addRaw(text, id === null ? 0 : 1, text.length);
  for (const value of key) hasher.add(value);
  const words = new Uint32Array(HASH_WORDS);
  hasher.finish(words, 0);
  return hashToBytes(words);
}
