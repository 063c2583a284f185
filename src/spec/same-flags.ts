/**
 * Adds flags to advice. Advice names commands without flags, which is enough if a config file has the settings. An
 * operator who identified the migration by flags needs the same flags in the advised command.
 */
import { flagOfField } from './fields.ts';
import { shellWord } from './input/given.ts';

/** Commands that need only the ledger: the flags that identify the ledger are added to them. */
const OF_THE_LEDGER = /\bcosmig (?:status|dead-letters (?:list|show|discard))\b(?! --help)/g;
/** Commands that need the whole spec: the advice says that they need the same flags. */
const OF_THE_SPEC =
  /\bcosmig (?:copy|tail|verify|cutover|reverse|rollback|finish|dead-letters retry)\b(?! --help)/;

const ANY = /\bcosmig [a-z]/;

/** The options of any command. An option that has the name of a migration setting may have another type. */
type Options = Readonly<Record<string, unknown>>;

/** Returns the advice with the flags from the options of the current command line. */
export function withSameFlags(advice: string, options: Options): string {
  const flags = ledgerFlags(options);
  if (flags === '') return advice;
  const placed = advice.replaceAll(OF_THE_LEDGER, (command) => `${command} ${flags}`);
  return OF_THE_SPEC.test(placed) ? `${placed} (with the same flags)` : placed;
}

/**
 * Returns the advice with the note that its commands need the same flags. For a text in which the words source and target
 * are swapped later, so that no flag may be in it.
 */
export function notingSameFlags(advice: string, options: Options): string {
  return ledgerFlags(options) !== '' && ANY.test(advice) ? `${advice} (with the same flags)` : advice;
}

/** Returns the flags that identify the ledger. */
function ledgerFlags(options: Options): string {
  const flags = (names: readonly ('source' | 'target' | 'ledger')[]): string[] =>
    names.flatMap((name) => textsOf(options[name]).map((text) => `${flagOfField(name)} ${shellWord(text)}`));
  const ledger = flags(['ledger']);
  if (ledger.length > 0) return ledger.join(' ');
  const config = textsOf(options['config']).map((text) => `--config ${shellWord(text)}`);
  return [...config, ...flags(['source', 'target'])].join(' ');
}

/** Returns the texts of an option; none if the option is of another type. */
function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
