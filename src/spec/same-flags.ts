/**
 * Advice names commands as they are typed next to a config file. An operator who identified the migration by flags needs
 * the same flags in the advised command: this adds them.
 */
import { flagOfField } from './fields.ts';
import { shellWord } from './input/given.ts';

/** Commands that need the ledger and nothing else. */
const OF_THE_LEDGER = /\bcosmig (?:status|dead-letters (?:list|show|discard))\b(?! --help)/g;
/** Commands that need all of the spec. */
const OF_THE_SPEC = /\bcosmig (?:copy|tail|verify|cutover|dead-letters retry)\b(?! --help)/;

/** The options of a command; other commands may have options of these names with other types. */
type Options = Readonly<Record<string, unknown>>;

/** The advice for a command line with these options. */
export function withSameFlags(advice: string, options: Options): string {
  const flags = placeFlags(options);
  if (flags === '') return advice;
  const placed = advice.replaceAll(OF_THE_LEDGER, (command) => `${command} ${flags}`);
  return OF_THE_SPEC.test(placed) ? `${placed} (with the same flags)` : placed;
}

/** The flags that lead to the ledger. */
function placeFlags(options: Options): string {
  const flags = (names: readonly ('source' | 'target' | 'ledger')[]): string[] =>
    names.flatMap((name) => textsOf(options[name]).map((text) => `${flagOfField(name)} ${shellWord(text)}`));
  const ledger = flags(['ledger']);
  if (ledger.length > 0) return ledger.join(' ');
  const config = textsOf(options['config']).map((text) => `--config ${shellWord(text)}`);
  return [...config, ...flags(['source', 'target'])].join(' ');
}

/** Empty for an option of another type. */
function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
