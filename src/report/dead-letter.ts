/** Shows dead letters: one as a screen of text with what the operator can do about it, or each on a few lines. */
import { formatCount } from '../lib/counting.ts';
import type { Letter, LetterState, LetterStore, Reason } from '../state/dead-letters.ts';
import { table, wrapRow, wrapText, type TextRow } from './format.ts';
import { formatTime } from '../lib/clock.ts';

/**
 * Returns the text for people. `document`: the document in the source; undefined: the operator did not ask for it; null: it
 * was deleted.
 */
export function letterText(letter: Letter, document: string | null | undefined): string {
  const { number, state, reason, code, why, id, sourceKey: from, targetKey, waits, attempts, atMs } = letter;
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  const rows: TextRow[] = [
    ['dead letter', `${number}, ${state}`],
    ['reason', code === reason ? reason : `${reason} (${code})`],
    ...wrapRow(['why', why]),
    ['id', id],
    ['source key', from],
    ['target key', targetKey ?? '(no key)'],
    ...(state === 'open' ? wrapRow(['waits for', WAITS[waits.for]]) : []),
    ...(state === 'open'
      ? ([['last tried', `${formatTime(atMs)}, ${times}`]] as const)
      : ([
          ['tried', times],
          [state, formatTime(atMs)],
        ] as const)),
    ...wrapRow(['next', nextOf(letter, document)]),
  ];
  const facts = table(rows);
  if (document === undefined) return facts;
  return `${facts}\n\n${document ?? 'the document was deleted in the source'}`;
}

/** Returns what to do about a letter; `document` as in `letterText`. */
export function nextOf({ reason, state }: Letter, document: string | null | undefined): string {
  if (state === 'closed') return 'nothing';
  if (document !== null) return state === 'open' ? NEXT[reason] : DISCARDED;
  return state === 'open'
    ? 'nothing: its document was deleted in the source, and cosmig tail closes the letter while it runs'
    : 'nothing: its document was deleted in the source, and the cutover closes the letter';
}

/** Where the reason begins in a list of letters. */
const INDENT = ' '.repeat(8);
/** The reason in a list of letters fits a screen of 80 columns. */
const WHY_COLUMNS = 72;

/** Returns the lines of a letter in a list. `shown`: the states that are listed. */
export function listedText(letter: Letter, shown: LetterState | 'any'): string {
  const { number, state, reason, id, sourceKey, targetKey, why } = letter;
  const shownState = shown === 'any' ? state.padEnd(11) : '';
  const head = `${String(number).padStart(6)}  ${shownState}${reason.padEnd(17)}`;
  const lines = wrapText(why, WHY_COLUMNS).map((line) => `${INDENT}${line}`);
  return [`${head}${id}  ${sourceKey} -> ${targetKey ?? '(no key)'}`, ...lines].join('\n');
}

/** Returns how many letters there are, by their states, after the words that none is in the one that was asked for. */
export function othersText(counts: ReturnType<LetterStore['counts']>): string {
  const byState = new Map<LetterState, number>();
  for (const { state, letters } of counts) byState.set(state, (byState.get(state) ?? 0) + letters);
  const found = [...byState].map(([state, letters]) => `${formatCount(letters)} ${state}`);
  return found.length === 0 ? '' : `; ${found.join(', ')}: --all lists them`;
}

const WAITS: Readonly<Record<Letter['waits']['for'], string>> = {
  slot: 'the document that has its key and id in the target; it is retried when that one is moved or deleted',
  key: 'a change of another document with the same target key; it is retried then',
  nothing: 'nothing: change the document in the source, or retry it',
};

const DISCARDED =
  'nothing, unless you want a way back: a cutover with --keep-source-for refuses while this document is in the source and not in the target';

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
    'another process wrote a document with its key and id to the target: delete that one there, and cosmig tail moves this one',
  'changed-by-others':
    'another process changed or deleted its copy: stop that process, then run verify with --repair, which overwrites what it changed and deletes what it created; copy it first if you need it',
  rejected: 'see why the target refused it, fix that, then retry',
};
