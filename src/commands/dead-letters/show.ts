/**
 * `cosmig dead-letters show`: everything about one letter, and what to do about it. What always holds: the document's
 * body is asked of the source, shown here and nowhere else, and only when it was asked for.
 */
import type { Command, Context } from '../../cli/command.ts';
import { printable } from '../../keys/show.ts';
import { NotReadyError, UsageError } from '../../lib/errors.ts';
import { systemRandom } from '../../lib/random.ts';
import { SPEC_OPTIONS } from '../../spec/fields.ts';
import { loadLedgerPath, loadConnections } from '../../spec/load.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { readContainer as readContainerName, type ContainerName } from '../../spec/values.ts';
import type { Pinned } from '../../spec/fingerprint.ts';
import type { Letter, Reason } from '../../state/dead-letters.ts';
import { DEAD_LETTERS, jsonOfLetter, noSuchLetter, numberOf } from './index.ts';
import { LEDGER_OPTIONS } from '../ledger-options.ts';
import { instant, table } from '../../report/format.ts';

const { sourceEndpoint, sourceKey, sourceConnectionString } = SPEC_OPTIONS;

const OPTIONS = {
  ...LEDGER_OPTIONS,
  document: {
    type: 'boolean',
    default: false,
    help: 'ask the source for the document and show it as it is now',
  },
  sourceEndpoint,
  sourceKey,
  sourceConnectionString,
} as const;

export const deadLettersShow: Command<typeof OPTIONS> = {
  name: 'dead-letters show',
  group: DEAD_LETTERS,
  summary: 'show one with what to do about it, and its document on request',
  description:
    'Shows everything the ledger knows about one dead letter. With --document the source is asked for the document, ' +
    'and its text is printed as it is: the only place where cosmig shows the content of a document.',
  examples: [
    { line: 'cosmig dead-letters show 12', purpose: 'why it is one, and what to do' },
    { line: 'cosmig dead-letters show 12 --document', purpose: 'the same with its document' },
  ],
  options: OPTIONS,
  operand: 'NUMBER',
  async run(context) {
    const { options, operand, env, clock } = context;
    if (operand === undefined) {
      throw new UsageError('no dead letter was named', {
        why: 'one is shown, by its number',
        hint: 'see cosmig dead-letters list',
      });
    }
    const number = numberOf(operand);
    const path = loadLedgerPath({ options, env, clock });
    const { Ledger } = await import('../../state/ledger.ts');
    using ledger = Ledger.openReadonly(path);
    const letter = ledger.letters.get(number);
    if (letter === null) throw noSuchLetter(number);
    const { pinned } = ledger.migration.read();
    const document = options.document ? await ask(context, pinned, letter) : undefined;
    const json = {
      command: 'dead-letters show',
      migration: migrationName(pinned),
      ...jsonOfLetter(letter),
      waitsFor: letter.waits.for,
      next: NEXT[letter.reason],
      ...(document === undefined ? {} : { document }),
    };
    return { json, text: tell(letter, document) };
  },
};

/** The document's own JSON text: read as JSON, its numbers would be rounded. Null when it is not there any more. */
async function ask(
  { options, env, clock, signal, log }: Context<typeof OPTIONS>,
  pinned: Pinned,
  { id, sourceKey: key }: Letter,
): Promise<string | null> {
  const { source } = loadConnections({ options, env, clock });
  if (source.endpoint !== pinned.sourceEndpoint) {
    throw new NotReadyError(`this migration reads from ${pinned.sourceEndpoint}`, {
      why: `the account given is ${source.endpoint}`,
      hint: `give --source-endpoint ${pinned.sourceEndpoint} and its key`,
    });
  }
  const { connect } = await import('../../cosmos/account/client.ts');
  const { readDocument } = await import('../../cosmos/container/read-document.ts');
  const { Patience } = await import('../../cosmos/load/retry.ts');
  const patience = new Patience({
    clock,
    random: systemRandom,
    onWait: ({ reason, delayMs }) => log.warn('waiting for the source', { reason, delayMs }),
  });
  using account = await connect(source, { signal });
  const wanted = { container: nameIn(pinned.source), key: keyIn(key), id };
  const document = await readDocument(account, wanted, { signal, patience });
  return document?.toString('utf8') ?? null;
}

function nameIn(pinned: string): ContainerName {
  const name = readContainerName(pinned);
  if ('database' in name) return name;
  throw new NotReadyError('the ledger names no source container', {
    why: name.why,
    hint: 'restore the ledger from a backup, or look for the document in the source yourself',
  });
}

/** The levels of a key, as the letter has them. */
function keyIn(json: string): Array<string | number | boolean | null | undefined> {
  const levels: unknown = JSON.parse(json);
  return (Array.isArray(levels) ? levels : []).map((level: unknown) => {
    if (typeof level === 'string' || typeof level === 'number' || typeof level === 'boolean') return level;
    return level === null ? null : undefined;
  });
}

function tell(letter: Letter, document: string | null | undefined): string {
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
      `${instant(atMs)}, ${attempts === 1 ? 'once' : `${attempts} times`}`,
    ],
    ['next', state === 'open' ? NEXT[reason] : 'nothing'],
  ]);
  if (document === undefined) return printable(facts);
  return `${printable(facts)}\n\n${printable(document ?? 'the source has no such document any more')}`;
}

const WAITS: Readonly<Record<Letter['waits']['for'], string>> = {
  slot: 'whoever holds its place in the target; it is tried again when that one leaves',
  key: 'a document of the same target key to change; it is tried again then',
  nothing: 'nothing: it has to be changed in the source, or tried again',
};

/** What an operator can do about each reason. */
const NEXT: Readonly<Record<Reason, string>> = {
  collision: 'give one of the two another id or another key in the source, delete one, or discard the letter',
  'missing-key': 'give the document the value in the source, or discard the letter',
  'invalid-key': 'mend the value in the source that the key is made of, or discard the letter',
  'key-conflict':
    'the document has another value where the key is to be written: take it out in the source, or discard the letter',
  'too-large': 'make the document smaller in the source, or discard the letter',
  'key-too-long': 'shorten the key value in the source, or discard the letter',
  'partition-full': 'its logical partition in the target is full: choose a finer key, or discard the letter',
  'bad-id':
    'the target refuses this id: write the document under another one in the source, or discard the letter',
  'unique-key':
    'another document of the same target key has the same unique value: change one of them, or discard the letter',
  'foreign-document':
    'somebody else wrote a document to its place in the target: remove that one, then retry',
  rejected: 'see why the target refused it, mend that, then retry',
};
