/** Dead letters while a run lasts: how they are opened and closed, and what they wait for. */
import type { KeyComponent } from '../../epk/effective-key.ts';
import { DeadLetterError } from '../../lib/errors.ts';
import type { Reason, Waits } from '../../state/dead-letters.ts';
import type { OpenLetter } from '../unit/pending-outcomes.ts';
import type { Mover } from '../context.ts';
import type { Held } from '../apply/unique-keys.ts';
import type { Unit } from '../unit/unit-of-work.ts';
import type { Slot, Who } from '../apply/identity.ts';

/** A slot that changed hands: letters may wait for it. */
export interface Freed {
  readonly slot: Slot;
  /** Else it only changed its document, which may have freed a unique value. */
  readonly emptied: boolean;
  /** Unique values that are not held there any more; null when nobody knows. */
  readonly given: Held | null;
}

interface Quarantine {
  readonly who: Who;
  /** Where it would belong. */
  readonly slot: Slot | null;
  readonly refusal: { readonly reason: Reason; readonly code: string; readonly why: string };
}

/** Opens a letter, or keeps one open with another reason. */
export function quarantine(mover: Mover, unit: Unit, { who, slot, refusal }: Quarantine): void {
  const { reason, code, why } = refusal;
  const letter: OpenLetter = {
    identity: who.hash,
    reason,
    code,
    why,
    id: who.name[0] ?? 'null',
    sourceKey: `[${who.name
      .slice(1)
      .map((level) => level ?? '{}')
      .join(',')}]`,
    targetKey: slot === null ? null : printKey(slot.key),
    slot: slot?.hash ?? null,
    waits: waitsOf(reason, slot),
    atMs: mover.serviceMs(),
  };
  unit.letter(who.hash, { change: 'open', letter });
  mover.memory.anyLetters = true;
  if (fails(mover, reason)) mover.stop(new DeadLetterError(...failure(letter)));
}

/** The document is where it belongs, or nowhere. */
export function closeLetter(mover: Mover, unit: Unit, { hash }: Who): void {
  if (!mover.memory.anyLetters || mover.memory.letterOf(hash) === null) return;
  unit.letter(hash, { change: 'close', identity: hash, atMs: mover.serviceMs() });
}

/** A key as JSON; a missing level is {}, as on the wire. */
export function printKey(key: readonly KeyComponent[]): string {
  return JSON.stringify(key.map((value) => (value === undefined ? {} : value)));
}

function waitsOf(reason: Reason, slot: Slot | null): Waits {
  if (slot === null) return { for: 'nothing' };
  if (reason === 'collision' || reason === 'foreign-document') return { for: 'slot', slot: slot.hash };
  return reason === 'unique-key' ? { for: 'key', key: slot.key } : { for: 'nothing' };
}

function fails({ spec }: Mover, reason: Reason): boolean {
  if (reason === 'collision') return spec.onCollision === 'fail';
  return reason === 'missing-key' && spec.missingKey === 'fail';
}

function failure({ reason, id, targetKey, why }: OpenLetter): ConstructorParameters<typeof DeadLetterError> {
  const isCollision = reason === 'collision';
  const at = isCollision ? ` at the key ${targetKey ?? ''}` : '';
  return [
    isCollision ? `two documents claim the id ${id}${at}` : `the document ${id} has no value for the new key`,
    {
      why: `${why}, and ${isCollision ? '--on-collision' : '--missing-key'} says fail`,
      hint: 'see cosmig dead-letters list; mend the document in the source and run the same command again',
    },
  ];
}

/** Whose letter it is. */
export function whoOf({ identity, id, sourceKey }: Pick<OpenLetter, 'identity' | 'id' | 'sourceKey'>): Who {
  const levels: unknown = JSON.parse(sourceKey);
  const texts = (Array.isArray(levels) ? levels : []).map((level: unknown) =>
    typeof level === 'object' && level !== null ? null : JSON.stringify(level),
  );
  return { hash: identity, name: [id, ...texts] };
}
