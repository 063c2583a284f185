/**
 * The settings of a migration to one candidate, as a file that `cosmig doctor` and `cosmig copy` read as it is. Invariant:
 * an existing file is never overwritten, and the file contains no secret.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseDerivation } from '../../keys/strategies/parse.ts';
import { parsePath } from '../../keys/path.ts';
import { must } from '../../lib/assert.ts';
import { pluralize } from '../../lib/counting.ts';
import { LedgerError, UsageError, type CosmigError } from '../../lib/errors.ts';
import { describeFsError } from '../../lib/fs-error.ts';
import { printableLine } from '../../lib/json/printable.ts';
import { readVersion } from '../../lib/version.ts';
import type { CandidateResult, PlanResult } from '../../plan/result.ts';
import { CONFIG_NAME } from '../../spec/load.ts';
import type { PlanSpec } from '../../spec/migration-spec.ts';
import { wrapText } from '../format.ts';
import { bytesText, countText, hoursText, ruPerSecondText, ruText, sentence } from './figures.ts';

export interface ConfigOrder {
  readonly result: PlanResult;
  readonly candidate: CandidateResult;
  readonly spec: PlanSpec;
  /** The ledger that the operator named; undefined: none. */
  readonly ledger: string | undefined;
}

/** Throws if the file exists. Called before the pass begins. */
export function refuseConfig(): void {
  if (existsSync(resolve(CONFIG_NAME)))
    throw new UsageError(`${CONFIG_NAME} exists already`, {
      why: 'it may be the configuration of a migration, so --write-config overwrites nothing',
      hint: 'move the file away, or run the command in another folder',
    });
}

/** Returns the error if the file could not be written: the plan itself is not lost by that. */
export function writeConfig(order: ConfigOrder): CosmigError | undefined {
  try {
    writeFileSync(resolve(CONFIG_NAME), configText(order), { flag: 'wx' });
    return undefined;
  } catch (cause) {
    return new LedgerError(`${CONFIG_NAME} cannot be written`, {
      why: describeFsError(cause),
      hint: 'the plan is printed above; run cosmig plan again, which does not read the source again',
      cause,
    });
  }
}

const COLUMNS = 100;

export function configText({ result, candidate, spec, ledger }: ConfigOrder): string {
  const { source } = result;
  const { paths, derive, data, verdict } = candidate;
  const reasons = [
    ...verdict.blockers.map(({ text }) => `BLOCKER: ${text}`),
    ...verdict.risks.map(({ text }) => `risk: ${text}`),
    ...verdict.gains.map(({ text }) => `gain: ${text}`),
  ];
  const parts = [
    note(
      `The migration of ${source.name} from the key ${source.key} to ${candidate.key}, written by cosmig plan ${readVersion()} from what it measured on ${result.takenAt.slice(0, 10)}. Commands that run in its folder read it. Look through it, then run: cosmig doctor; cosmig copy --dry-run; cosmig copy.`,
    ),
    reasons.length === 0
      ? ''
      : `# What the plan says of this key:\n${reasons.map((text) => note(`- ${text}`)).join('')}`,
    note(
      'The account. Its key is read from COSMIG_SOURCE_KEY, or from COSMIG_SOURCE_CONNECTION_STRING with the endpoint; without either, Entra ID signs in.',
    ) +
      setting('source', source.name) +
      setting('sourceEndpoint', spec.connection.endpoint),
    targetPart(result, candidate, spec),
    note(keyNote(candidate)) +
      setting('partitionKey', paths) +
      (derive.length === 0 ? '' : setting('derive', derive)),
    note(
      `Documents without a value: keep moves them without one, dead-letter sets them aside, fail stops. The plan found ${countText(data.missing)}.`,
    ) + setting('missingKey', 'keep'),
    note(
      `Documents that share the new key and the id with another one: dead-letter sets them aside, fail stops. The plan found ${countText(data.collisions.documents)}.`,
    ) + setting('onCollision', 'dead-letter'),
    note(
      source.deletes === 'avad'
        ? 'Deletes are read from the feed of all versions and deletes, which this account has.'
        : 'Deletes are found by comparing both sides, because this account has no feed of all versions and deletes. If documents are marked when they are deleted, marker:/path is quicker.',
    ) + setting('deletes', source.deletes),
    note(
      source.defaultTtl === null
        ? 'Time to live is off in the source, so this has no effect.'
        : 'The time to live of a copy: restart counts from the copy, remaining keeps the original end.',
    ) + setting('ttl', 'restart'),
    note(
      'RU/s that cosmig may use, as a number or a share such as 25%; without these lines it leaves the requests of others their part.',
    ) +
      (spec.sourceBudget.kind === 'automatic'
        ? '# sourceRu: 25%\n'
        : setting('sourceRu', budgetText(spec.sourceBudget))) +
      '# targetRu: 80%\n',
    note(
      `The file that records the migration, about ${bytesText(candidate.costs.migration?.ledgerBytes ?? 0)} on disk.`,
    ) + (ledger === undefined ? `# ledger: .cosmig/NAME.db\n` : setting('ledger', ledger)),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

/** The target, with the throughput that gives it the partitions of the forecast. */
function targetPart({ source }: PlanResult, candidate: CandidateResult, { connection }: PlanSpec): string {
  const move = must(candidate.costs.migration, 'only the present key has no migration');
  const { initialRu, initialPartitions, hoursAtInitial, proposedRu, hoursAtProposed } = move;
  const ofSource = source.throughput?.ru ?? 0;
  const costs = `Copying reads ${ruText(move.sourceRu)} and writes ${ruText(move.targetRu)}.`;
  const given =
    initialRu === null
      ? `The new container gets no RU/s of its own, as the source has none (${source.throughputText}).`
      : `The new container gets the settings of the source and ${ruPerSecondText(initialRu)}, with which it begins with ${pluralize(initialPartitions, 'physical partition')}.`;
  const later =
    initialRu === null || initialRu >= ofSource
      ? ''
      : ` With the ${ruPerSecondText(ofSource)} of the source it could begin with more partitions than it needs, and each would get a smaller part of them. Raise them after it was created if the tail falls behind; cosmig cutover --like-source throughput gives it those of the source.`;
  const [atFirst, raised] = [hoursAtInitial, hoursAtProposed].map((hours) =>
    hours === null ? null : hoursText(hours),
  );
  const takes = atFirst === null ? '' : ` With these RU/s that takes ${atFirst}.`;
  const faster =
    proposedRu > (initialRu ?? proposedRu) && raised !== atFirst
      ? ` With ${ruPerSecondText(proposedRu)}, it takes ${raised}.`
      : '';
  const text = `${given}${later} ${costs}${takes}${faster}`;
  const creates =
    connection.signsInWith === 'key'
      ? 'createTarget: true\n'
      : `${note('An identity of Entra ID cannot create containers: cosmig copy --dry-run prints the command that does.')}createTarget: true\n`;
  const kind = source.throughput?.kind === 'autoscale' ? 'targetAutoscale' : 'targetThroughput';
  return (
    note(text) +
    setting('target', targetName(source.name, candidate)) +
    creates +
    (initialRu === null ? '' : setting(kind, String(initialRu)))
  );
}

function keyNote({ derive, paths }: CandidateResult): string {
  if (derive.length === 0) return paths.length > 1 ? 'The new key, level by level.' : 'The new key.';
  return 'The new key. cosmig writes the derived property into each copy; the application has to write it, too, from the cutover on.';
}

/** The longest part of a target name that is made of the names of properties. */
const NAME_MAX = 80;

/** The end of a name that says that it identifies something: a container is named for what it identifies. */
const ID = /(?<=[a-z0-9])I[dD]$|(?<=[A-Za-z0-9])_id$/;

/** Returns the name of the target, such as `shop/orders-by-customer` for `/customerId`. */
function targetName(source: string, { paths, derive }: CandidateResult): string {
  const names = paths.flatMap((path) => {
    const template = derive.find(
      (text) => pathText(parseDerivation(text).path) === pathText(parsePath(path)),
    );
    const inputs = template === undefined ? [parsePath(path)] : parseDerivation(template).strategy.paths;
    return inputs.map((input) => input.at(-1) ?? '');
  });
  const name = [...new Set(names)]
    .map((one) => one.replaceAll(/[^A-Za-z0-9_]+/g, '').replace(ID, ''))
    .filter((one) => one !== '');
  return `${source}-by-${name.join('-').slice(0, NAME_MAX) || 'key'}`;
}

function pathText(path: readonly string[]): string {
  return JSON.stringify(path);
}

function budgetText(budget: Exclude<PlanSpec['sourceBudget'], { readonly kind: 'automatic' }>): string {
  return budget.kind === 'ru' ? String(budget.ru) : `${budget.percent}%`;
}

/** Texts of documents are on one line, so that nothing in them can look like a setting. */
function note(text: string): string {
  return wrapText(printableLine(sentence(text)).replaceAll('\u00A0', ' '), COLUMNS - 2)
    .map((line) => `# ${line}\n`)
    .join('');
}

function setting(name: string, value: string | readonly string[]): string {
  if (typeof value === 'string') return `${name}: ${yamlText(value)}\n`;
  const [only, ...more] = value;
  return more.length === 0 && only !== undefined
    ? `${name}: ${yamlText(only)}\n`
    : `${name}:\n${value.map((one) => `  - ${yamlText(one)}\n`).join('')}`;
}

/** Every JSON text is also a YAML text. Numbers, paths, URLs and the values of choices need no quotes. */
function yamlText(text: string): string {
  const isPlain = /^(?:\d+%?|https?:\/\/[\w./:-]+|[\w-]*\/[\w/-]+|[a-z]+(?:-[a-z]+)*)$/.test(text);
  return isPlain && !['null', 'true', 'false'].includes(text) ? text : JSON.stringify(text);
}
