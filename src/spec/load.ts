/**
 * Gathers the settings of a migration: a flag wins over a variable, a variable over the config file, the file over
 * the default. Invariants: every value keeps its origin, and no problem repeats a secret.
 */
import { resolve } from 'node:path';
import type { Values } from '../cli/command.ts';
import { must } from '../lib/assert.ts';
import { UsageError, type Problem } from '../lib/errors.ts';
import { listOf } from '../lib/flags.ts';
import { nearest } from '../lib/nearest.ts';
import { connectionsFrom, secretsOf } from './accounts.ts';
import { check, checkLedger, checkPlan, readMissingKey, type Checked, type Surroundings } from './check.ts';
import type { Connections } from './connection.ts';
import { readKeyTexts, type KeyTexts } from './key-rules.ts';
import type { MigrationSpec, PlanSpec } from './migration-spec.ts';
import { readConfigFile, type ConfigFile } from './input/config-file.ts';
import {
  CONFIG_VARIABLE,
  FIELD_NAMES,
  FIELDS,
  fieldOf,
  type FieldName,
  type SecretName,
  type SPEC_OPTIONS,
} from './fields.ts';
import { settingsOfTurn, turnPath } from './turns/settings-of-turn.ts';
import { asUsageError, ProblemList } from './input/problems.ts';
import { howToRemove, sourceOf, type Given, type Givens } from './input/given.ts';
import { holdsAny, redactSecrets } from './input/secrets.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The part of a command's context from which settings are read. */
export interface SpecInput {
  /** The settings from the command line, for the flags that the command takes. */
  readonly options: Partial<Values<typeof SPEC_OPTIONS>>;
  readonly env: Env;
  readonly clock: { now(): number };
  /**
   * The folder from which relative paths start, and where cosmig.config.yaml is looked up; by default the working
   * directory.
   */
  readonly folder?: string;
  /** The turn of the migration in which the command works; absent: the first one. */
  readonly turn?: number | undefined;
}

/** With 0 in this variable Node does not check the certificates of servers. */
const TLS_VARIABLE = 'NODE_TLS_REJECT_UNAUTHORIZED';
/** The config file that is read without being named. */
export const CONFIG_NAME = 'cosmig.config.yaml';

/** Returns the spec and its connections. Throws one UsageError with every problem. */
export function loadSpec(input: SpecInput): Checked {
  return settingsOfTurn(withSettings(input, check), input.turn);
}

export type LedgerOptions = Pick<Values<typeof SPEC_OPTIONS>, 'config' | 'source' | 'target' | 'ledger'>;

/** Returns the path of the ledger, for commands that need neither an account nor other settings. */
export function loadLedgerPath(
  input: Omit<SpecInput, 'options'> & { readonly options: LedgerOptions },
): string {
  // Only these four options are passed on. The command may use the name of another setting with a different meaning
  // (`--yes`).
  const { config, source, target, ledger } = input.options;
  const path = withSettings({ ...input, options: { config, source, target, ledger } }, checkLedger);
  return turnPath(path, input.turn);
}

/** Returns what `cosmig plan` needs of the settings: only the source. */
export function loadPlan(input: SpecInput): PlanSpec {
  return withSettings(input, checkPlan);
}

/** Returns the connections alone, for commands that read the other settings from a ledger or need none. */
export function loadConnections(input: SpecInput): Connections {
  return withSettings(input, (problems, surroundings) => {
    const connections = connectionsFrom(problems, surroundings);
    problems.throwIfAny();
    return must(connections, 'a missing account is a problem, and problems were thrown');
  });
}

/**
 * Returns how keys are computed, from flags and variables. For `cosmig key`, which belongs to no migration and reads
 * no config file.
 */
export function loadKey({ options, env }: Pick<SpecInput, 'options' | 'env'>): KeyTexts & {
  readonly missingKey: MigrationSpec['missingKey'];
} {
  const problems = new ProblemList(gather({ options, env }, []));
  const texts = readKeyTexts(problems);
  const missingKey = readMissingKey(problems);
  problems.throwIfAny();
  return {
    ...texts,
    missingKey: must(missingKey, 'an invalid choice is a problem, and problems were thrown'),
  };
}

function withSettings<T>(
  input: SpecInput,
  read: (problems: ProblemList, surroundings: Surroundings) => T,
): T {
  const folder = input.folder ?? process.cwd();
  const secrets = secretsIn(input.env);
  try {
    const file = readFile(input, folder);
    const givens = gather(input, file.givens);
    const astray = [...givens.values()].filter((given) => isAstray(given, secrets));
    const canCreate = 'createTarget' in input.options;
    const problems = [...misspelt(input.env), ...file.problems, ...astray.map(problemOfAstray)];
    if (astray.length > 0) throw asUsageError(problems);
    const checksCertificate = input.env[TLS_VARIABLE] !== '0';
    const surroundings = { folder, nowMs: input.clock.now(), canCreate, checksCertificate };
    return read(new ProblemList(givens, problems), surroundings);
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
    asUsageError([{ from, message, why, hint: `for example --config ${CONFIG_NAME}` }]);
  if (more.length > 0) throw refused(`${from} was given more than once`, 'there is one config file');
  if (asked === '') throw refused(`${from} has no value`, 'it needs one');
  const file = readConfigFile(resolve(folder, asked), asked);
  if (file === undefined) throw refused(`${from} ${asked} does not exist`, 'there is no file of this name');
  return file;
}

/** Returns the value of each field that was given, from the origin with the highest priority. */
function gather({ options, env }: Pick<SpecInput, 'options' | 'env'>, inFile: readonly Given[]): Givens {
  const ofFile = new Map(inFile.map((given) => [given.field, given]));
  const found = FIELD_NAMES.flatMap((field): Given[] => {
    const texts = options[field] ?? [];
    if (texts.length > 0) return [{ field, texts, origin: { kind: 'flag' } }];
    const given = fromVariable(field, env) ?? ofFile.get(field);
    return given === undefined ? [] : [given];
  });
  return new Map(found.map((given) => [given.field, given]));
}

/** Reads a field from its environment variable. An empty variable counts as unset. */
function fromVariable(field: FieldName, env: Env): Given | undefined {
  const { env: name, type } = fieldOf(field);
  // Trimmed, since files and secret stores often end a value with a line end.
  const text = (name === undefined ? undefined : env[name])?.trim() ?? '';
  if (name === undefined || text === '') return undefined;
  return { field, texts: type === 'list' ? listOf(text) : [text], origin: { kind: 'variable', name } };
}

const VARIABLES = [CONFIG_VARIABLE, ...FIELD_NAMES.flatMap((field) => fieldOf(field).env ?? [])];
const PREFIX = 'COSMIG_';
/**
 * The maximum number of wrong letters in a misspelt name. A higher limit would also match variables of other programs
 * that begin with COSMIG_.
 */
const SLIPS_MAX = 2;

/**
 * Returns a problem for each variable whose name is probably misspelt. cosmig would ignore it, and sign in with Entra
 * ID if the variable was meant to hold the key.
 */
function misspelt(env: Env): readonly Problem[] {
  const ends = VARIABLES.map((name) => name.slice(PREFIX.length));
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith(PREFIX) || VARIABLES.includes(name) || (env[name] ?? '') === '') return [];
    const near = nearest(name.slice(PREFIX.length), ends, SLIPS_MAX);
    if (near === undefined) return [];
    const why = 'cosmig has no such variable and would ignore it';
    return [
      { from: name, message: `unknown variable: ${name}`, why, hint: `did you mean ${PREFIX}${near}?` },
    ];
  });
}

/**
 * Returns whether a setting contains the text of a secret although it is not a secret itself. cosmig would store such a
 * value in the ledger and show it.
 */
function isAstray({ field, texts }: Given, secrets: readonly string[]): boolean {
  return fieldOf(field).type !== 'secret' && texts.some((text) => holdsAny(text, secrets));
}

function problemOfAstray(given: Given): Problem {
  const from = sourceOf(given);
  const why = 'it contains the text of a secret that a variable holds, and would be stored and shown';
  return { from, message: `${from} contains a secret`, why, hint: howToRemove(given) };
}

/** Returns every secret in the environment variables. */
function secretsIn(env: Env): readonly string[] {
  return (Object.keys(FIELDS) as FieldName[])
    .filter((field): field is SecretName => fieldOf(field).type === 'secret')
    .flatMap((field) => {
      const text = env[FIELDS[field].env]?.trim() ?? '';
      return text === '' ? [] : secretsOf(field, text);
    });
}
