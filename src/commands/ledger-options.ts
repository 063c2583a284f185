/** The options of commands that need a ledger and nothing else: where it is, or what its name is made of. */
import { SPEC_OPTIONS } from '../spec/fields.ts';

const { config, source, target, ledger } = SPEC_OPTIONS;

export const LEDGER_OPTIONS = { config, source, target, ledger } as const;
