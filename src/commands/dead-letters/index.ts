/** The parts that the commands about dead letters share: their group, their operand, and a letter as JSON. */
import type { CommandGroup } from '../../cli/command.ts';
import { NotReadyError, UsageError } from '../../lib/errors.ts';
import type { LETTER } from '../../report/json/ledger-results.ts';
import type { TypeOf } from '../../report/json/schema.ts';
import { isoTime } from '../../report/format.ts';
import type { Letter } from '../../state/dead-letters.ts';

export const DEAD_LETTERS: CommandGroup = {
  name: 'dead-letters',
  summary: 'documents that could not be moved: list, show, retry or discard them',
  description:
    'A document that cannot be moved becomes a dead letter, with its reason; all others are moved. Fix the document in the ' +
    'source, and the running migration closes the letter by itself; or retry it, or discard it.',
};

/** Runs `work`, which needs the ledger for itself. If another run holds it, the error says how to get it. */
export async function withLedger<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { MoverLock } = await import('../../state/lock.ts');
    if (!MoverLock.isRefusal(error)) throw error;
    throw new NotReadyError(error.message, {
      why: error.why,
      hint: 'stop cosmig tail with Ctrl-C in its terminal, and start it again afterwards; while it runs, it moves each document that you fix in the source',
      cause: error,
    });
  }
}

/** Returns the number of a letter or `all`. Throws unless exactly one of the operand and --all is given. */
export function numberOrAll(operand: string | undefined, all: boolean, usage: string): number | 'all' {
  if (operand !== undefined && !all) return numberFrom(operand);
  if (operand === undefined && all) return 'all';
  throw new UsageError(all ? `both ${operand} and --all were given` : 'no dead letter was named', {
    why: 'name one by its number, or all of them',
    hint: `write cosmig ${usage}`,
  });
}

/** Returns the number of a dead letter, from the text that the operator typed. */
export function numberFrom(operand: string): number {
  if (/^[1-9]\d{0,14}$/.test(operand)) return Number(operand);
  throw new UsageError(`${operand} is not a dead-letter number`, {
    why: 'dead letters are numbered from 1',
    hint: 'see cosmig dead-letters list',
  });
}

/** Returns a letter as JSON. A key is a list of its levels, with {} for a missing level. */
export function letterJson(letter: Letter): TypeOf<typeof LETTER> {
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
    at: isoTime(atMs),
    attempts,
  };
}
