/**
 * Documents that a comparison has found to differ, brought right by the apply rule: the source is asked what each is
 * now, and our copies of it leave every slot but the one it belongs to. This is also how deletes are found that no
 * feed has told of. What always holds: nothing is written but what the source says at that moment, under the same
 * locks and intents as everything else.
 */
import { HASH_WORDS, IdentityHasher } from '../../documents/identity.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { group } from '../../lib/group.ts';
import { hashToBytes } from '../../state/segments/segment.ts';
import { apply } from '../apply/apply.ts';
import type { RunContext } from '../context.ts';
import { removeIfOurs } from '../apply/put-in-slot.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';
import { keyOf, wordsOf, type Slot, type SourceIdentity } from '../apply/identity.ts';

/** A document, and where copies of it were seen in the target. */
export interface Suspect {
  /** Its id, then the levels of its source key, as JSON texts; null where there is none. */
  readonly name: readonly (string | null)[];
  /** Keys of the target. */
  readonly seenAt: ReadonlyArray<readonly KeyComponent[]>;
}

/** Documents that are brought right at a time. */
const TOGETHER = 64;

/** Brings documents right, a few at a time, until told to stop. */
export async function repairEach(
  context: RunContext,
  suspects: readonly Suspect[],
  reading: AbortSignal = context.signal,
): Promise<void> {
  for (let at = 0; at < suspects.length && !reading.aborted; at += TOGETHER) {
    context.signal.throwIfAborted();
    await group(context.signal, async (members) => {
      for (const suspect of suspects.slice(at, at + TOGETHER))
        members.start(async () => repair(context, suspect));
    });
  }
}

/** Brings one document right; it is committed when this resolves. */
async function repair(context: RunContext, { name, seenAt }: Suspect): Promise<void> {
  const identity = { hash: hashOf(name[0] ?? null, keyOf({ name })), name };
  const unit = new UnitOfWork(context, { lease: null, feed: 'LV' });
  const change = { identity, kind: 'read', version: null, feed: 'LV', lsn: null, indexId: null } as const;
  await apply({ context, unit, change });
  for (const key of seenAt) {
    const slot = { hash: hashOf(name[0] ?? null, key), key };
    await leave(context, unit, { identity, slot });
  }
  unit.commit();
}

/** A copy that the ledger does not know of, or knows elsewhere. */
async function leave(
  context: RunContext,
  unit: UnitOfWork,
  { identity, slot }: { readonly identity: SourceIdentity; readonly slot: Slot },
): Promise<void> {
  const { sequencer, signal, source, pending } = context;
  while (!sequencer.hasRoom) await sequencer.whenRoom(signal);
  const turn = sequencer.enter(wordsOf(identity.hash, slot.hash), 2);
  try {
    await sequencer.ready(turn, signal);
    // Our copy by the ledger: it was just put there, or stays there with a letter.
    if (pending.rowOf(identity.hash, null)?.slot?.equals(slot.hash) === true) return;
    const version = await source.read(identity);
    if (version !== 'gone' && version.slot?.hash.equals(slot.hash) === true) return;
    if (await removeIfOurs({ context, unit, identity, slot })) unit.count('documentsDeleted');
  } finally {
    sequencer.release(turn);
  }
}

/** An identity or a slot, by the id as JSON text and the key. */
function hashOf(id: string | null, key: readonly KeyComponent[]): Buffer {
  const hasher = new IdentityHasher();
  // Where nothing stands at 0 nothing is missing.
  const text = Buffer.from(` ${id ?? ''}`);
  hasher.clear();
  hasher.addRaw(text, id === null ? 0 : 1, text.length);
  for (const value of key) hasher.add(value);
  const words = new Uint32Array(HASH_WORDS);
  hasher.finish(words, 0);
  return hashToBytes(words);
}
