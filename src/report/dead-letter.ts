/** Shows a dead letter as one screen of text, with what the operator can do about it. */
import type { Letter, Reason } from '../state/dead-letters.ts';
import { formatTime, table } from './format.ts';

/**
 * Returns the text for people. `document` is undefined when the operator did not ask for it, and null when it was
 * deleted.
 */
export function letterText(letter: Letter, document: string | null | undefined): string {
  const { number, state, reason, code, why, id, sourceKey: from, targetKey, waits, attempts, atMs } = letter;
  const facts = table([
    ['dead letter', `${number}, ${state}`],
    ['reason', code === reason ? reason : `${reason} (${code})`],
    ['why', why],
    ['id', id],
    ['source key', from],
    ['target key', targetKey ?? '(no key)'],
    ['waits for', WAITS[waits.for]],
    [
      state === 'open' ? 'last tried' : state,
      `${formatTime(atMs)}, ${attempts === 1 ? 'once' : `${attempts} times`}`,
    ],
    ['next', state === 'open' ? NEXT[reason] : 'nothing'],
  ]);
  if (document === undefined) return facts;
  return `${facts}\n\n${document ?? 'the document was deleted in the source'}`;
}

const WAITS: Readonly<Record<Letter['waits']['for'], string>> = {
  slot: 'the document that has its key and id in the target; it is retried when that one is moved or deleted',
  key: 'a change of another document with the same target key; it is retried then',
  nothing: 'nothing: change the document in the source, or retry it',
};

/** What the operator can do about a dead letter, by its reason. */
export const NEXT: Readonly<Record<Reason, string>> = {
  collision:
    'change the id or the key of one of the two documents in the source, delete one, or discard the letter',
  'missing-key': 'add the value to the document in the source, or discard the letter',
  'invalid-key': 'fix the value in the source that the key is made of, or discard the letter',
  'key-conflict':
    'the document has another value where the key is written: remove it in the source, or discard the letter',
  'too-large': 'make the document smaller in the source, or discard the letter',
  'key-too-long': 'shorten the key value in the source, or discard the letter',
  'partition-full': 'its logical partition in the target is full: choose a finer key, or discard the letter',
  'bad-id':
    'the target refuses this id: write the document under another one in the source, or discard the letter',
  'unique-key':
    'another document of the same target key has the same unique value: change one of them, or discard the letter',
  'foreign-document':
    'another process wrote a document with its key and id to the target: delete that one, then retry',
  'changed-by-others':
    'another process changed or deleted its copy: stop that process, then run verify with --repair, which overwrites what it changed and deletes what it created; copy it first if you need it',
  rejected: 'see why the target refused it, fix that, then retry',
};
