/** The flags that every command has. */
import type { OptionTable } from '../cli/command.ts';

/** The flags that say how a command prints. */
export const COMMON_OPTIONS = {
  json: { type: 'boolean', env: 'COSMIG_JSON', help: 'print one JSON object on stdout, also on failure' },
  quiet: { type: 'boolean', env: 'COSMIG_QUIET', help: 'print only the result and errors' },
  verbose: { type: 'boolean', env: 'COSMIG_VERBOSE', help: 'log details, and show where errors arose' },
  noColor: { type: 'boolean', env: 'COSMIG_NO_COLOR', help: 'plain text; NO_COLOR does the same' },
} as const satisfies OptionTable;

/** The flags that print a text instead of running the command. */
export const META_FLAGS = [
  { name: 'help', alias: 'h', help: 'show help' },
  { name: 'version', help: 'show the version' },
] as const;
