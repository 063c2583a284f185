/**
 * `cosmig dead-letters show`: shows everything about one letter, and what the operator can do about it. Invariant:
 * this command is the only place where cosmig prints the content of a document. It reads the document from the
 * source, and only with --document.
 */
import type { Command, Context } from '../../cli/command.ts';
import { NotReadyError, UsageError } from '../../lib/errors.ts';
import { systemRandom } from '../../lib/random.ts';
import { LEDGER_OPTIONS, SOURCE_OPTIONS } from '../../spec/fields.ts';
import { parseContainerName, type ContainerName } from '../../spec/input/values.ts';
import type { Pinned } from '../../spec/fingerprint.ts';
import type { Letter } from '../../state/dead-letters.ts';
import { DEAD_LETTERS, letterJson, numberFrom } from './index.ts';
import type { LETTER_SHOWN } from '../../report/json/ledger-results.ts';
import type { TypeOf } from '../../report/json/schema.ts';

const OPTIONS = {
  document: { type: 'boolean', help: 'read the document from the source and print it as it is now' },
  ...LEDGER_OPTIONS,
  ...SOURCE_OPTIONS,
} as const;

export const deadLettersShow: Command<typeof OPTIONS> = {
  name: 'dead-letters show',
  group: DEAD_LETTERS,
  summary: 'show one dead letter, what to do about it, and its document on request',
  description:
    'Shows everything the ledger records about one dead letter. With --document its document is read from the source and ' +
    'printed as it is: the only place where cosmig shows the content of a document.',
  examples: [
    { line: 'cosmig dead-letters show 12', purpose: 'why the document could not be moved, and what to do' },
    { line: 'cosmig dead-letters show 12 --document', purpose: 'the same, with its document' },
  ],
  options: OPTIONS,
  endsWith: { service: true, ledger: true },
  operand: 'NUMBER',
  async run(context) {
    const { options, operand } = context;
    if (operand === undefined) {
      throw new UsageError('no dead letter was named', {
        why: 'the number of a dead letter is missing',
        hint: 'see cosmig dead-letters list',
      });
    }
    const number = numberFrom(operand);
    const { loadLedgerPath } = await import('../../spec/load.ts');
    const { inTurn } = await import('../../report/turns/in-turn.ts');
    const { migrationName } = await import('../../spec/migration-name.ts');
    const { letterText, nextOf } = await import('../../report/dead-letter.ts');
    const { Ledger } = await import('../../state/ledger.ts');
    const { requireLetter } = await import('../../workflows/dead-letters.ts');
    return inTurn(context, 'newest', async (turned) => {
      using ledger = Ledger.openReadonly(loadLedgerPath(turned));
      const letter = requireLetter(ledger, number);
      const { pinned } = ledger.migration.read();
      const document = options.document ? await readFromSource(turned, pinned, letter) : undefined;
      const json: TypeOf<typeof LETTER_SHOWN> = {
        command: 'dead-letters show',
        migration: migrationName(pinned),
        ...letterJson(letter),
        waitsFor: letter.waits.for,
        next: nextOf(letter, document),
        ...(document === undefined ? {} : { document }),
      };
      return { json, text: letterText(letter, document) };
    });
  },
};

/**
 * Reads the JSON text of the document; null when the document was deleted. The text is not parsed, since JSON.parse
 * would round large numbers.
 */
async function readFromSource(
  { options, env, clock, signal, log }: Context<typeof OPTIONS>,
  pinned: Pinned,
  { id, sourceKey: key }: Letter,
): Promise<string | null> {
  const { loadConnections } = await import('../../spec/load.ts');
  const { source } = loadConnections({ options, env, clock });
  if (source.endpoint !== pinned.sourceEndpoint) {
    throw new NotReadyError(`this migration reads from ${pinned.sourceEndpoint}`, {
      why: `another account was given: ${source.endpoint}`,
      hint: `pass --source-endpoint ${pinned.sourceEndpoint}, and set its key`,
    });
  }
  const { connect } = await import('../../cosmos/account/client.ts');
  const { keyLevels } = await import('../../state/dead-letters.ts');
  const { readDocument } = await import('../../cosmos/container/read-document.ts');
  using account = await connect(source, { signal, clock });
  const wanted = { name: containerFrom(pinned.source), key: keyLevels(key), id: Buffer.from(id) };
  const document = await readDocument(account, wanted, {
    clock,
    random: systemRandom,
    onWait: ({ reason, delayMs }) => log.warn('waiting for the source', { reason, delayMs }),
    signal,
  });
  return document?.toString('utf8') ?? null;
}

function containerFrom(pinned: string): ContainerName {
  const name = parseContainerName(pinned);
  if ('database' in name) return name;
  throw new NotReadyError('the ledger does not name the source container', {
    why: name.why,
    hint: 'restore the ledger from a backup, or look for the document in the source yourself',
  });
}
