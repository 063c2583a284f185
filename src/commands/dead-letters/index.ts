/** What the commands about dead letters share: their group, how a letter is named, and how it reads for scripts. */
import type { Group } from '../../cli/command.ts';
import { NotReadyError, UsageError } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import type { Letter, Reason } from '../../state/dead-letters.ts';

export const DEAD_LETTERS: Group = {
  name: 'dead-letters',
  summary: 'documents that could not be moved: list, show, retry or discard them',
  description:
    'A document that cannot be moved becomes a dead letter, with its reason, and the others go on. Mend what the letter ' +
    'says in the source and the running migration closes it by itself; or try again, or waive it.',
};

/** The number of a letter, as it was typed. */
export function numberOf(operand: string): number {
  if (/^[1-9]\d{0,14}$/.test(operand)) return Number(operand);
  throw new UsageError(`${operand} is no number of a dead letter`, {
    why: 'letters are numbered from 1 on',
    hint: 'see cosmig dead-letters list',
  });
}

export function noSuchLetter(number: number): UsageError {
  return new UsageError(`there is no dead letter ${number}`, {
    why: 'the ledger has none of this number',
    hint: 'see cosmig dead-letters list --all',
  });
}

export function notOpen({ number, state }: Letter): NotReadyError {
  return new NotReadyError(`dead letter ${number} is not open`, {
    why: state === 'closed' ? 'its document was moved or deleted since' : 'it has been discarded already',
    hint: 'see cosmig dead-letters list',
  });
}

/** One of `reasons`, as it was typed. */
export function reasonOf(text: string, reasons: readonly Reason[]): Reason {
  const reason = reasons.find((known) => known === text);
  if (reason !== undefined) return reason;
  const near = nearest(text, reasons);
  throw new UsageError(`--reason ${text} is not possible`, {
    why: `it is one of ${reasons.join(', ')}`,
    hint: near === undefined ? 'see cosmig dead-letters list' : `did you mean ${near}?`,
  });
}

/** A letter for scripts; keys are lists, with {} for a missing level. */
export function jsonOfLetter(letter: Letter): Readonly<Record<string, unknown>> {
  const { number, state, reason, code, why, id, sourceKey, targetKey, attempts, atMs } = letter;
  return {
    number,
    state,
    id: JSON.parse(id) as unknown,
    sourceKey: JSON.parse(sourceKey) as unknown,
    targetKey: targetKey === null ? null : (JSON.parse(targetKey) as unknown),
    reason,
    code,
    why,
    at: new Date(atMs).toISOString(),
    attempts,
  };
}
