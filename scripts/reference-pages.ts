/**
 * Makes the pages of docs/reference from the tables of the program: options, settings, exit codes, the schemas of
 * `--json`, and the comments of the public library. Invariant: this module repeats nothing that a table contains, so
 * that the pages and the program cannot differ.
 */
import type { Command, Option, Section } from '../src/cli/command.ts';
import { EXIT_CODES, exitCodesOf } from '../src/cli/exit-codes.ts';
import { defaultOf, flagText } from '../src/cli/help.ts';
import { commands } from '../src/commands/all.ts';
import { COMMON_OPTIONS } from '../src/commands/common-options.ts';
import { NOTIFICATION } from '../src/report/json/notification.ts';
import { MESSAGE, PROGRESS, RESULTS } from '../src/report/json/results.ts';
import { anyOf, type JsonSchema } from '../src/report/json/schema.ts';
import { CONFIG_VARIABLE, FIELD_NAMES, fieldOf, type Field, type FieldName } from '../src/spec/fields.ts';
import { libraryPage } from './reference-library.ts';

/** Returns the content of every file of docs/reference, by its path below that folder. */
export function referenceFiles(): ReadonlyMap<string, string> {
  const schemas = schemasByName().map(
    ([name, schema]) => [`schemas/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`] as const,
  );
  return new Map([
    ['cli.md', cliPage()],
    ...[...commandsByPage()].map(
      ([first, members]) => [`commands/${first}.md`, commandPage(first, members)] as const,
    ),
    ['config.md', configPage()],
    ['exit-codes.md', exitCodesPage()],
    ['json.md', jsonPage()],
    ['library.md', libraryPage()],
    ...schemas,
  ]);
}

const GENERATED = 'This page is made by `npm run docs` from the tables of the program.';

function page(title: string, ...parts: readonly string[]): string {
  return `${[`# ${title}`, ...parts, GENERATED].join('\n\n')}\n`;
}

/** Returns a Markdown table. oxfmt aligns its columns later. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const code = (text: string): string => `\`${text}\``;

const SECTIONS: readonly Section[] = ['Run', 'Load', 'Migration'];

/** Where the guides describe a command, by the first word of its name: the text and the address of each link. */
const GUIDES: Readonly<Record<string, ReadonlyArray<readonly [text: string, to: string]>>> = {
  plan: [['Choosing a key', 'choosing-a-key.md']],
  key: [
    ['Keys', 'keys.md'],
    ['Choosing a key', 'choosing-a-key.md'],
  ],
  doctor: [
    ['Check', 'migration.md#2-check'],
    ['Permissions', 'migration.md#permissions'],
  ],
  copy: [
    ['Copy', 'migration.md#4-copy'],
    ['Sizing and costs', 'operations/sizing.md'],
    ['When the ledger is lost', 'operations/runbook.md#when-the-ledger-is-lost'],
  ],
  tail: [
    ['Replicate changes', 'migration.md#5-replicate-changes'],
    ['Schedules', 'operations/schedules.md'],
    ['Deletes and time to live', 'migration.md#deletes-and-time-to-live'],
  ],
  verify: [
    ['Prove', 'migration.md#6-prove'],
    ['Verify does not say "equal"', 'troubleshooting.md#verify-does-not-say-equal'],
  ],
  cutover: [
    ['The cutover', 'migration.md#the-cutover'],
    ['The night of the cutover', 'operations/runbook.md#the-night-of-the-cutover'],
    ['The cutover does not commit', 'troubleshooting.md#the-cutover-does-not-commit'],
  ],
  reverse: [['Keep the source up to date', 'going-back.md#keep-the-source-up-to-date']],
  rollback: [
    ['Return', 'going-back.md#return'],
    ['Going back, in the runbook', 'operations/runbook.md#going-back'],
  ],
  finish: [['Give the way back up', 'going-back.md#give-the-way-back-up']],
  status: [
    ['Runbook', 'operations/runbook.md'],
    ['Back up the ledger', 'operations/runbook.md#back-up-the-ledger'],
  ],
  watch: [
    ['The live page', 'operations/monitoring.md#the-live-page'],
    ['Metrics', 'operations/monitoring.md#metrics'],
    ['What a run cannot notify', 'operations/monitoring.md#what-a-run-cannot-notify'],
  ],
  'dead-letters': [
    ['Resolve dead letters', 'migration.md#7-resolve-dead-letters'],
    ['Dead letters by reason', 'troubleshooting.md#dead-letters-by-reason'],
  ],
  emulator: [['Emulator', 'emulator.md']],
  demo: [['Getting started', 'getting-started.md']],
  completion: [['Tab completion', 'getting-started.md#tab-completion']],
};

/** The commands by the first word of their names, which has a page, in the order of the help. */
function commandsByPage(): ReadonlyMap<string, readonly Command[]> {
  const pages = new Map<string, Command[]>();
  for (const command of commands) {
    const [first = ''] = command.name.split(' ');
    pages.set(first, [...(pages.get(first) ?? []), command]);
  }
  return pages;
}

/** The page of a command, or of the commands of a group. */
function commandPage(first: string, members: readonly Command[]): string {
  const guides = (GUIDES[first] ?? []).map(([text, to]) => `[${text}](../../${to})`);
  const group = members[0]?.group;
  const shared = group === undefined ? [] : [group.description];
  return page(
    `cosmig ${first}`,
    ...shared,
    `In the guides: ${guides.join(', ')}.`,
    ...members.flatMap((command) => commandParts(command, group === undefined ? '##' : '###')),
    '## See also',
    `[Options of every command, and where settings come from](../cli.md), [config file](../config.md), ` +
      `[what exit codes mean](../exit-codes.md), ${members.map(jsonLink).join(', ')}.`,
  );
}

/** Returns a link to the object that a command prints with `--json`. */
function jsonLink({ name }: Command): string {
  return `[JSON of cosmig ${name}](../json.md#${anchorOf(`cosmig ${name}`)})`;
}

/** The parts of a command. `heading`: the marks of the headings below the name of the command. */
function commandParts(command: Command, heading: string): readonly string[] {
  const { name, group, description, operand, options, examples } = command;
  const entries = Object.entries<Option>(options).filter(([, { type }]) => type !== 'secret');
  const tables = [undefined, ...SECTIONS].flatMap((section) => {
    const mine = entries.filter(([, option]) => option.section === section);
    if (mine.length === 0) return [];
    const [title, ...text] = section === undefined ? ['Options'] : [section, INTRODUCTIONS[section]];
    return [`${heading} ${title}`, ...text, optionTable(mine)];
  });
  const usage = `cosmig ${name}${operand === undefined ? '' : ` ${operand}`} [options]`;
  return [
    ...(group === undefined ? [] : [`## cosmig ${name}`]),
    description,
    `\`\`\`text\n${usage}\n\`\`\``,
    `For example:\n\n${examples.map(({ line, purpose }) => `- ${code(line)}: ${purpose}`).join('\n')}`,
    ...tables,
    `Exit codes: ${exitCodesOf(command)
      .map(({ exitCode, summary }) => `${code(String(exitCode))} ${summary}`)
      .join(', ')}.`,
  ];
}

function cliPage(): string {
  const rows = [...commandsByPage()].map(([first, [command]]) => [
    `[cosmig ${first}](commands/${first}.md)`,
    command?.group?.summary ?? command?.summary ?? '',
  ]);
  return page(
    'Command line',
    'A flag wins over its environment variable, which wins over the [config file](config.md), which wins over the default. ' +
      'Each command takes only the options that it uses; a misplaced one is refused with the command that takes it. ' +
      'Environment variables and the config file may hold settings of every command. ' +
      'Exit codes are in [exit-codes.md](exit-codes.md), the objects of `--json` in [json.md](json.md).',
    '## Commands',
    table(['Command', 'What it does'], rows),
    '## Options of every command',
    optionTable(Object.entries(COMMON_OPTIONS)),
    '## Environment only',
    'Secrets are read from variables only, since every user of a machine can read its command lines.',
    table(
      ['Variable', 'Meaning'],
      [...secrets()].map(([env, help]) => [code(env), help]),
    ),
  );
}

/** Returns what each variable with a secret means: those of settings, then those of single commands. */
function secrets(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const add = ({ type, env = '', help }: Pick<Field | Option, 'type' | 'env' | 'help'>): void => {
    if (type === 'secret') found.set(env, help);
  };
  for (const name of FIELD_NAMES) add(fieldOf(name));
  for (const { options } of commands) for (const option of Object.values<Option>(options)) add(option);
  return found;
}

const INTRODUCTIONS: Readonly<Record<Section, string>> = {
  Run: 'When a run ends, and when it does not begin.',
  Load: 'How much of each account a run may use. A running command slows down by itself when an account throttles it.',
  Migration:
    'What identifies a migration. A command that opens one needs all of these settings, which is what the config file is for.',
};

function optionTable(options: readonly (readonly [string, Option])[]): string {
  const rows = options.map(([name, option]) => {
    const standard = defaultOf(option);
    return [
      code(flagText(name, option)),
      option.help,
      standard === undefined ? '' : code(standard),
      option.env === undefined ? '' : code(option.env),
    ];
  });
  return table(['Option', 'Meaning', 'Default', 'Variable'], rows);
}

const TYPES: Readonly<Record<string, string>> = {
  text: 'text',
  list: 'text, or a list of texts',
  number: 'whole number',
  switch: '`true` or `false`',
};

function configPage(): string {
  const names = FIELD_NAMES.filter((name) => fieldOf(name).type !== 'secret');
  const rows = names.map((name) => {
    const { type, choices, help, default: standard, pinned } = fieldOf(name);
    return [
      code(name),
      choices === undefined ? (TYPES[type] ?? type) : choices.map(code).join(', '),
      help,
      standard === undefined ? '' : code(standard),
      pinned === true ? 'yes' : '',
      ownersOf(name),
    ];
  });
  return page(
    'Config file',
    `A command reads \`cosmig.config.yaml\` in its working directory, or the file that \`--config\` or \`${CONFIG_VARIABLE}\` names: YAML, ` +
      'or JSON. It has the settings of a migration by their camelCase names, and serves all commands: each uses the settings that it ' +
      'needs. Unknown names are refused, with their line. Account keys and connection strings are not accepted in a file; they have ' +
      '[variables](cli.md#environment-only).',
    '```yaml cosmig.config.yaml\n' +
      'source: shop/orders\ntarget: shop/orders-by-tenant\nsourceEndpoint: https://myaccount.documents.azure.com\n' +
      'partitionKey: /tenantId\ntargetRu: 80%\nmaxDeadLetters: 100\n```',
    '"Fixed" settings must be the same in every run of a migration: the ledger refuses a changed one.',
    table(['Name', 'Value', 'Meaning', 'Default', 'Fixed', 'Flag of'], rows),
  );
}

/** Returns the commands that take the flag of a setting. */
function ownersOf(field: FieldName): string {
  return commands
    .filter(({ options }) => Object.hasOwn(options, field) && options[field]?.type === 'raw')
    .map(({ name }) => name)
    .join(', ');
}

/** Returns the commands that can end with an exit code; `all` for the codes of every command. */
function endersOf(exitCode: number): string {
  const enders = commands.filter((command) => exitCodesOf(command).some((one) => one.exitCode === exitCode));
  return enders.length === commands.length ? 'all' : enders.map(({ name }) => code(name)).join(', ');
}

function exitCodesPage(): string {
  const rows = EXIT_CODES.map(({ exitCode, code: name, meaning }) => [
    String(exitCode),
    name === null ? '' : code(name),
    meaning,
    endersOf(exitCode),
  ]);
  return page(
    'Exit codes',
    '`error.code` is the name of the kind in the JSON of a failed command. `--help` of a command lists those with which it ' +
      'can end.',
    table(['Code', '`error.code`', 'Meaning', 'Commands'], rows),
  );
}

function schemasByName(): readonly (readonly [name: string, schema: JsonSchema])[] {
  const base = { $schema: 'https://json-schema.org/draft/2020-12/schema' };
  const results = Object.entries(RESULTS).map(([name, schemas]) => {
    const title = `what cosmig ${name} --json prints on stdout`;
    return [name.replaceAll(' ', '-'), { ...base, title, ...anyOf(schemas).json }] as const;
  });
  const progress = { ...base, title: 'a line of progress on stderr', ...PROGRESS.json };
  const message = { ...base, title: 'any other line on stderr', ...MESSAGE.json };
  const notification = { ...base, title: 'what --notify and --notify-command send', ...NOTIFICATION.json };
  return [...results, ['progress', progress], ['message', message], ['notification', notification]];
}

function jsonPage(): string {
  const shown = new Map<JsonSchema, string>();
  const parts = Object.entries(RESULTS).flatMap(([name, schemas]) => {
    const shapes = schemas.map(({ json }) => {
      const title = titleOf(json);
      const known = shown.get(json);
      if (known !== undefined) return `${title}: see [${known}](#${anchorOf(known)}).`;
      shown.set(json, `cosmig ${name}`);
      return `${title}:\n\n${table(['Member', 'Type', 'Meaning'], membersOf(json))}`;
    });
    return [
      `## cosmig ${name}`,
      `Schema: [${name.replaceAll(' ', '-')}](schemas/${name.replaceAll(' ', '-')}.schema.json).`,
      ...shapes,
    ];
  });
  return page(
    'JSON output',
    'With `--json` a command prints exactly one JSON object on stdout at its end, also when it fails; `cosmig dead-letters list` ' +
      'prints one object per line, and `cosmig emulator` prints its object when it is ready. On stderr every line is a JSON ' +
      'object: progress, or a message. Later versions may add members; those listed here stay. The schema files below ' +
      '`schemas/` are JSON Schema 2020-12.',
    ...parts,
    '## Lines on stderr',
    'Schemas: [progress](schemas/progress.schema.json), [message](schemas/message.schema.json).',
    `A message:\n\n${table(['Member', 'Type', 'Meaning'], membersOf(MESSAGE.json))}`,
    `Progress of a run, of a cutover or of a comparison, under \`progress\`:\n\n${table(['Member', 'Type', 'Meaning'], membersOf(PROGRESS.json))}`,
    '## Notifications',
    'Schema: [notification](schemas/notification.schema.json).',
    `What \`--notify\` posts and \`--notify-command\` gets on stdin ([notifications](../operations/monitoring.md#notifications)):\n\n${table(['Member', 'Type', 'Meaning'], membersOf(NOTIFICATION.json))}`,
  );
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

function titleOf(json: JsonSchema): string {
  const properties = propertiesOf(json);
  const fixed = (name: string): unknown => properties[name]?.['const'];
  if (fixed('skipped') === true) return 'When `--skip-if-running` skipped it';
  if (fixed('dryRun') === true) return 'With `--dry-run`';
  if (fixed('complete') === false)
    return fixed('equal') === null ? 'When it failed without a verdict' : 'When it failed without a result';
  return 'The result';
}

function propertiesOf(json: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (json['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
}

/** Returns a row for each member of a schema. Nested members are named by their path. */
function membersOf(json: JsonSchema, path = ''): string[][] {
  const variants = json['anyOf'] as readonly JsonSchema[] | undefined;
  if (variants !== undefined) {
    const rows = variants.flatMap((variant) => membersOf(variant, path));
    return rows.filter(([name], at) => rows.findIndex(([other]) => other === name) === at);
  }
  if (json['type'] === 'array') return membersOf(json['items'] as JsonSchema, `${path}[]`);
  const required = (json['required'] ?? []) as readonly string[];
  return Object.entries(propertiesOf(json)).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const absent = required.includes(name) ? '' : 'may be absent; ';
    const meaning = `${absent}${(member['description'] as string | undefined) ?? ''}`.replace(/; $/, '');
    return [[code(at), typeText(member), meaning], ...membersOf(member, at)];
  });
}

function typeText(json: JsonSchema): string {
  const {
    const: fixed,
    enum: values,
    type,
    anyOf: variants,
    format,
  } = json as {
    readonly const?: unknown;
    readonly enum?: readonly string[];
    readonly type?: string | readonly string[];
    readonly anyOf?: readonly JsonSchema[];
    readonly format?: string;
  };
  if (fixed !== undefined) return code(JSON.stringify(fixed));
  if (values !== undefined) return values.map(code).join(', ');
  if (variants !== undefined) return [...new Set(variants.map(typeText))].join(' or ');
  if (type === undefined) return 'any';
  if (type === 'array') {
    const items = json['items'] as JsonSchema;
    return `list of ${typeText(items).replace(/^(object|string|number|integer)$/, '$1s')}`;
  }
  const named = [type].flat().join(' or ');
  return format === undefined ? named : `${named} (ISO 8601)`;
}
