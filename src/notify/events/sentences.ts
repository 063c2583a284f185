/** What the run and `cosmig watch` say in the same words. */
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import { swapWords } from '../../spec/turns/swapped-sides.ts';
import type { JournalEntry } from '../../state/journal.ts';
import type { Phase } from '../../state/migration.ts';
import { entryKey, type Happening } from './happening.ts';

const PHASE_TEXTS: Readonly<Record<Phase, string>> = {
  new: 'the migration has begun',
  copying: 'the copy has begun',
  tailing: 'the copy is complete; changes are replicated from now on',
  ready: 'the gate of the cutover is passed',
  fencing: 'the writers are being stopped',
  drained: 'every write is replicated',
  proven: 'source and target are equal',
  committed: 'the target is in use',
};

export function phaseHappening(entry: JournalEntry & { readonly event: 'phase' }): Happening {
  const { phase, atMs } = entry;
  return { event: 'phase', text: PHASE_TEXTS[phase], key: entryKey(entry, phase), atMs, phase };
}

export const PROOF_TEXTS = {
  equal: 'source and target are equal',
  differs: 'source and target differ',
  'not proven': 'source and target may still be equal: nothing is proven',
} as const;

/**
 * Returns a command for a text: `cosmig tail`. In a turn that leads back, texts are swapped on their way out, with the
 * commands in them; the command that ran is swapped here, so that it stays as it is.
 */
export function commandText(command: string, turn: number): string {
  const text = `cosmig ${command}`;
  return leadsBack(turn) ? swapWords(text) : text;
}
