/** What the oracle looks at: every document of a container as text, and the open letters of a ledger. */
import { setTimeout as delay } from 'node:timers/promises';
import { documentTexts } from '../emulator/texts.ts';
import { rowsIn } from '../../../helpers/database-file.ts';
import { identityText } from './keys.ts';
import type { OpenLetter } from './oracle.ts';
import type { WireContainer } from '../../../helpers/emulator/wire-container.ts';

/** Ranges come and go; a reading that one of them cut short begins again. */
const READINGS_MAX = 50;

/** Every document that is there, as text. */
export async function readAll(wire: WireContainer): Promise<string[]> {
  for (let reading = 1; ; reading += 1) {
    try {
      return await readOnce(wire);
    } catch (error) {
      if (reading === READINGS_MAX) throw error;
      await delay(100);
    }
  }
}

async function readOnce(wire: WireContainer): Promise<string[]> {
  const texts: string[] = [];
  let continuation: string | undefined;
  do {
    const reply = await wire.account.send('GET', `${wire.path}/docs`, {
      headers: { 'x-ms-max-item-count': '500', 'x-ms-continuation': continuation },
    });
    if (reply.status !== 200) throw new Error(`a page of all documents: ${reply.status} ${reply.text}`);
    texts.push(...documentTexts(reply.text));
    continuation = reply.headers['x-ms-continuation']?.toString();
  } while (continuation !== undefined);
  return texts;
}

interface LetterRow {
  readonly state: string;
  readonly reason: string;
  readonly id: string;
  readonly source_key: string;
  readonly target_key: string | null;
}

/** The open letters, asked for in our own words; others by their states. */
export function readLetters(ledger: string, states: readonly string[] = ['open']): OpenLetter[] {
  const rows = rowsIn(
    ledger,
    'SELECT state, reason, id, source_key, target_key FROM dead_letters',
  ) as LetterRow[];
  return rows
    .filter(({ state }) => states.includes(state))
    .map(({ reason, id, source_key: sourceKey, target_key: targetKey }) => ({
      identity: identityText(JSON.parse(id), JSON.parse(sourceKey) as unknown[]),
      reason,
      targetKey: targetKey === null ? null : (JSON.parse(targetKey) as unknown[]),
    }));
}
