/**
 * Advice names commands as they are typed beside a config file. Whoever has said by flags which migration it is would get
 * another answer from them, or none: this puts the flags in.
 */
import { flagOfField } from './fields.ts';
import { shellWord } from './input.ts';

/** Commands that need the ledger and nothing else. */
const OF_THE_LEDGER = /\bcosmig (?:status|dead-letters (?:list|show|discard))\b(?! --help)/g;
/** Commands that need all of the spec. */
const OF_THE_SPEC = /\bcosmig (?:copy|tail|verify|cutover|dead-letters retry)\b(?! --help)/;

/** The texts of options as they were given; other commands have others by these names. */
type Options = Readonly<Record<string, unknown>>;

/** The advice as it works for who has typed these options. */
export function withSameFlags(advice: string, options: Options): string {
  const flags = placeFlags(options);
  if (flags === '') return advice;
  const placed = advice.replaceAll(OF_THE_LEDGER, (command) => `${command} ${flags}`);
  return OF_THE_SPEC.test(placed) ? `${placed} (with the same flags)` : placed;
}

/** Where the ledger is, as it was said. */
function placeFlags(options: Options): string {
  const flags = (names: readonly ('source' | 'target' | 'ledger')[]): string[] =>
    names.flatMap((name) => textsOf(options[name]).map((text) => `${flagOfField(name)} ${shellWord(text)}`));
  const ledger = flags(['ledger']);
  if (ledger.length > 0) return ledger.join(' ');
  const config = textsOf(options['config']).map((text) => `--config ${shellWord(text)}`);
  return [...config, ...flags(['source', 'target'])].join(' ');
}

/** A command with other options by these names has no list of texts there. */
function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
