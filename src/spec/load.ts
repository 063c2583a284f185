/**
 * Gathers what the operator wants: a flag wins over a variable, a variable over the config file, the file over the
 * default. What always holds: every value remembers where it came from, and no complaint repeats a secret.
 */
import { resolve } from 'node:path';
import type { Values } from '../cli/command.ts';
import { must } from '../lib/assert.ts';
import { UsageError, type Problem } from '../lib/errors.ts';
import { listOf } from '../lib/flags.ts';
import { nearest } from '../lib/nearest.ts';
import { connectionsFrom, secretsOf } from './accounts.ts';
import { check, checkLedger, type Checked, type Surroundings } from './check.ts';
import type { Connections } from './connection.ts';
import { readConfigFile, type ConfigFile } from './config-file.ts';
import {
  CONFIG_VARIABLE,
  FIELD_NAMES,
  FIELDS,
  fieldOf,
  type FieldName,
  type SecretName,
  type SPEC_OPTIONS,
} from './fields.ts';
import { asUsageError, Findings } from './problems.ts';
import { drop, sourceOf, type Given, type Givens } from './input.ts';
import { holdsAny, redactSecrets } from './secrets.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What a command knows: its context has all of it. */
export interface SpecInput {
  /** What the command line said, as read by SPEC_OPTIONS; a command that takes only some of them gives those. */
  readonly options: Partial<Values<typeof SPEC_OPTIONS>>;
  readonly env: Env;
  readonly clock: { now(): number };
  /** Where relative paths start and cosmig.config.yaml is looked for; by default the working directory. */
  readonly folder?: string;
}

const CONFIG_NAME = 'cosmig.config.yaml';

/** The spec and its connections; throws a UsageError with everything that is wrong. */
export function loadSpec(input: SpecInput): Checked {
  return judged(input, check);
}

/** The options that lead to a ledger. */
export type LedgerOptions = Pick<Values<typeof SPEC_OPTIONS>, 'config' | 'source' | 'target' | 'ledger'>;

/** Where the ledger is, by the same sources of values: for commands that need no account and nothing else of the spec. */
export function loadLedgerPath(
  input: Omit<SpecInput, 'options'> & { readonly options: LedgerOptions },
): string {
  // Other options of such a command may have names of the spec and mean something else.
  const { config, source, target, ledger } = input.options;
  return judged({ ...input, options: { config, source, target, ledger } }, checkLedger);
}

/** How to reach the accounts, for commands that know the rest from a ledger. */
export function loadConnections(input: SpecInput): Connections {
  return judged(input, (findings) => {
    const connections = connectionsFrom(findings);
    findings.throwIfAny();
    return must(connections, 'what is missing was complained about');
  });
}

/** What `judge` makes of everything that was given. */
function judged<T>(input: SpecInput, judge: (findings: Findings, surroundings: Surroundings) => T): T {
  const folder = input.folder ?? process.cwd();
  const secrets = secretsIn(input.env);
  try {
    const file = readFile(input, folder);
    const givens = gather(input, file);
    const astray = [...givens.values()].filter((given) => isAstray(given, secrets));
    const problems = [...misspelt(input.env), ...file.problems, ...astray.map(problemOfAstray)];
    if (astray.length > 0) throw asUsageError(problems);
    return judge(new Findings(givens, problems), { folder, nowMs: input.clock.now() });
  } catch (error) {
    if (!(error instanceof UsageError) || error.problems.length === 0) throw error;
    throw asUsageError(error.problems.map((problem) => redactSecrets(problem, secrets)));
  }
}

function readFile({ options, env }: SpecInput, folder: string): ConfigFile {
  const [flag, ...more] = options.config ?? [];
  const variable = env[CONFIG_VARIABLE] ?? '';
  const from = flag === undefined ? CONFIG_VARIABLE : '--config';
  const asked = flag ?? (variable === '' ? undefined : variable);
  if (asked === undefined) {
    return readConfigFile(resolve(folder, CONFIG_NAME), CONFIG_NAME) ?? { givens: [], problems: [] };
  }
  const refused = (message: string, why: string): UsageError =>
    asUsageError([{ from, message, why, hint: `write for instance --config ${CONFIG_NAME}` }]);
  if (more.length > 0) throw refused(`${from} was given more than once`, 'there is one config file');
  if (asked === '') throw refused(`${from} has no value`, 'it needs one');
  const file = readConfigFile(resolve(folder, asked), asked);
  if (file === undefined) throw refused(`${from} ${asked} is not there`, 'no file has this name');
  return file;
}

/** One value for each field that anybody has given. */
function gather({ options, env }: SpecInput, file: ConfigFile): Givens {
  const ofFile = new Map(file.givens.map((given) => [given.field, given]));
  const found = FIELD_NAMES.flatMap((field): Given[] => {
    const texts = options[field] ?? [];
    if (texts.length > 0) return [{ field, texts, origin: { kind: 'flag' } }];
    const given = fromVariable(field, env) ?? ofFile.get(field);
    return given === undefined ? [] : [given];
  });
  return new Map(found.map((given) => [given.field, given]));
}

/** An empty variable is one that was taken away. */
function fromVariable(field: FieldName, env: Env): Given | undefined {
  const { env: name, type } = fieldOf(field);
  // Files and secret stores end what they hold with a line.
  const text = (name === undefined ? undefined : env[name])?.trim() ?? '';
  if (name === undefined || text === '') return undefined;
  return { field, texts: type === 'list' ? listOf(text) : [text], origin: { kind: 'variable', name } };
}

const VARIABLES = [CONFIG_VARIABLE, ...FIELD_NAMES.flatMap((field) => fieldOf(field).env ?? [])];
const PREFIX = 'COSMIG_';
/** Other programs have variables that begin like ours. */
const SLIPS_MAX = 2;

/** A variable that is one slip away from ours would be passed over in silence, and Entra ID sign in instead of a key. */
function misspelt(env: Env): readonly Problem[] {
  const ends = VARIABLES.map((name) => name.slice(PREFIX.length));
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith(PREFIX) || VARIABLES.includes(name) || (env[name] ?? '') === '') return [];
    const near = nearest(name.slice(PREFIX.length), ends, SLIPS_MAX);
    if (near === undefined) return [];
    const why = 'cosmig has no such variable and would pass it over';
    return [{ from: name, message: `${name} is not known`, why, hint: `did you mean ${PREFIX}${near}?` }];
  });
}

/** A secret that was pasted into another place as well would be pinned, stored and shown from there. */
function isAstray({ field, texts }: Given, secrets: readonly string[]): boolean {
  return fieldOf(field).type !== 'secret' && texts.some((text) => holdsAny(text, secrets));
}

function problemOfAstray(given: Given): Problem {
  const from = sourceOf(given);
  const why = 'it has the text of a secret that a variable holds, and would be stored and shown';
  return { from, message: `${from} holds a secret`, why, hint: drop(given) };
}

/** Every secret text that the variables hold. */
function secretsIn(env: Env): readonly string[] {
  return (Object.keys(FIELDS) as FieldName[])
    .filter((field): field is SecretName => fieldOf(field).type === 'secret')
    .flatMap((field) => {
      const text = env[FIELDS[field].env]?.trim() ?? '';
      return text === '' ? [] : secretsOf(field, text);
    });
}
