/** Opens and closes the dead letters of a run, and decides for which event each letter waits. */
import type { KeyComponent } from '../../epk/effective-key.ts';
import { formatCount } from '../../lib/counting.ts';
import { DeadLetterError } from '../../lib/errors.ts';
import type { Reason, Waits } from '../../state/dead-letters.ts';
import type { OpenLetter } from '../unit/pending-outcomes.ts';
import type { RunContext } from '../context.ts';
import type { UniqueValues } from '../apply/unique-keys.ts';
import type { UnitOfWork } from '../unit/unit-of-work.ts';
import type { Slot, SourceIdentity } from '../apply/identity.ts';

/** A slot that was emptied or got another version or document. Dead letters may wait for this. */
export interface Freed {
  readonly slot: Slot;
  /** Whether the slot is empty now. If not, its content has changed, which may have freed a unique value. */
  readonly emptied: boolean;
  /** Unique values that the slot no longer holds; null if this is not known. */
  readonly given: UniqueValues | null;
}

interface Quarantine {
  readonly identity: SourceIdentity;
  /** The slot where the document belongs; null if it has no valid key. */
  readonly slot: Slot | null;
  readonly refusal: { readonly reason: Reason; readonly code: string; readonly why: string };
}

/** Opens a dead letter, or changes the reason of an open one. */
export function quarantine(
  context: RunContext,
  unit: UnitOfWork,
  { identity, slot, refusal }: Quarantine,
): void {
  const { reason, code, why } = refusal;
  const letter: OpenLetter = {
    identity: identity.hash,
    reason,
    code,
    why,
    id: identity.name[0] ?? 'null',
    sourceKey: printLevels(identity.name.slice(1)),
    targetKey: slot === null ? null : printKey(slot.key),
    slot: slot?.hash ?? null,
    waits: waitsOf(reason, slot),
    atMs: context.serviceTime.nowMs(),
  };
  unit.letter(identity.hash, { change: 'open', letter });
  context.pending.anyLetters = true;
  if (fails(context, reason)) context.stopping.stop(new DeadLetterError(...failure(letter)));
}

/**
 * Closes a document's letters, if one is open or was discarded. Called when the document is in its slot or was deleted.
 */
export function closeLetter(context: RunContext, unit: UnitOfWork, { hash }: SourceIdentity): void {
  const { pending, ledger } = context;
  const isOpen = pending.anyLetters && pending.letterOf(hash) !== null;
  if (!isOpen && !(pending.anyDiscarded && ledger.letters.isDiscarded(hash))) return;
  unit.letter(hash, { change: 'close', identity: hash, atMs: context.serviceTime.nowMs() });
}

/** Stops the run if too many letters are open: the mistake is then probably in the key, not in the documents. */
export function stopBeyondLimit({
  spec: { deadLettersMax },
  ledger,
  stopping,
}: Pick<RunContext, 'spec' | 'ledger' | 'stopping'>): void {
  const open = ledger.letters.openCount();
  if (open <= deadLettersMax) return;
  stopping.stop(
    new DeadLetterError(`${formatCount(open)} documents cannot be moved`, {
      why: `more than --max-dead-letters ${deadLettersMax} allows`,
      hint: 'see cosmig dead-letters list for the reasons; fix the documents or raise the limit, and run the same command again',
    }),
  );
}

/** Returns the key in a name as JSON text. A missing level is {}, as in requests. */
export function printLevels(levels: SourceIdentity['name']): string {
  return `[${levels.map((level) => level ?? '{}').join(',')}]`;
}

/** Returns a key as JSON text. A missing level is {}, as in requests. */
export function printKey(key: readonly KeyComponent[]): string {
  return JSON.stringify(key.map((value) => (value === undefined ? {} : value)));
}

function waitsOf(reason: Reason, slot: Slot | null): Waits {
  if (slot === null) return { for: 'nothing' };
  if (reason === 'collision' || reason === 'foreign-document') return { for: 'slot', slot: slot.hash };
  return reason === 'unique-key' ? { for: 'key', key: slot.key } : { for: 'nothing' };
}

function fails({ spec }: RunContext, reason: Reason): boolean {
  if (reason === 'collision') return spec.onCollision === 'fail';
  return reason === 'missing-key' && spec.missingKey === 'fail';
}

function failure({ reason, id, targetKey, why }: OpenLetter): ConstructorParameters<typeof DeadLetterError> {
  const isCollision = reason === 'collision';
  const at = isCollision ? ` at the key ${targetKey ?? ''}` : '';
  return [
    isCollision
      ? `two documents claim the id ${id}${at}`
      : `the document ${id} has no value for the target key`,
    {
      why: `${why}, and ${isCollision ? '--on-collision' : '--missing-key'} says fail`,
      hint: 'see cosmig dead-letters list; fix the document in the source and run the same command again',
    },
  ];
}

/** Returns the identity of a letter's document. */
export function identityOf({
  identity,
  id,
  sourceKey,
}: Pick<OpenLetter, 'identity' | 'id' | 'sourceKey'>): SourceIdentity {
  const levels: unknown = JSON.parse(sourceKey);
  const texts = (Array.isArray(levels) ? levels : []).map((level: unknown) =>
    typeof level === 'object' && level !== null ? null : JSON.stringify(level),
  );
  return { hash: identity, name: [id, ...texts] };
}
