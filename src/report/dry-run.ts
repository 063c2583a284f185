/**
 * The result of a dry run: a table of at most 80 columns for people, and an object for scripts. Invariant: the result
 * contains no document.
 */
import { throughputText } from '../cosmos/container/throughput.ts';
import { ttlText } from '../spec/refusals.ts';
import type { ContainerFacts } from '../cosmos/container/inspect.ts';
import { refusedText } from '../preflight/findings.ts';
import type { Estimate, Inspection, SourceSample } from '../preflight/inspect.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { show } from '../keys/show.ts';
import { formatCount } from '../lib/counting.ts';
import { containerText, migrationName } from '../spec/migration-name.ts';
import type { MigrationSpec, ContainerAddress } from '../spec/migration-spec.ts';
import type { DRY_RUN } from './json/dry-run-result.ts';
import type { TypeOf } from './json/schema.ts';
import { formatAge, keyJson, sizeText, wrapText, type TextRow } from './format.ts';

const COLUMNS = 80;
const NAME_COLUMNS = 21;
const HOUR_MS = 3_600_000;

/**
 * Returns the result as text for people. Warnings and notes come last.
 *
 * @param begun - how far a migration that has begun is
 */
export function dryRunText(inspection: Inspection, spec: MigrationSpec, begun?: string): string {
  const { warnings, notes } = inspection;
  const rows: TextRow[] = [
    ...(begun === undefined ? [] : [['begun', begun] as const]),
    ['source', sideText(spec.source, inspection.source)],
    ['target', targetText(inspection, spec)],
    ['deletes', inspection.deletes],
    ...sampleRows(inspection.sample),
    ...estimateRows(inspection.estimate),
    ...warnings.flatMap(({ message, why, hint }): TextRow[] => [
      ['warning', message],
      ['  why', why],
      ['  now', hint],
    ]),
    ...notes.map((note): TextRow => ['note', note]),
  ];
  return rows.map(rowText).join('\n');
}

/** Returns the result for `--json`. */
export function dryRunJson(inspection: Inspection, spec: MigrationSpec): TypeOf<typeof DRY_RUN> {
  const { source, target, throughput, deletes, differences, warnings, notes, sample, estimate } = inspection;
  const { biggest, collided, readRu, averageBytes, averageKeyBytes, ...counts } = sample;
  return {
    command: 'copy',
    dryRun: true,
    migration: migrationName(spec),
    complete: true,
    source: sideJson(spec.source, source),
    target:
      target === null
        ? {
            container: containerText(spec.target),
            exists: false,
            partitionKey: spec.partitionKey,
            throughput,
          }
        : { ...sideJson(spec.target, target), exists: true },
    partitionKey: spec.partitionKey,
    deletes,
    sample: {
      ...counts,
      averageBytes: Math.round(averageBytes),
      averageKeyBytes: Math.round(averageKeyBytes),
      readRu: Math.round(readRu * 100) / 100,
      biggest: biggest.map(({ values, documents }) => ({ key: keyJson(values), documents })),
      collided: collided.map(({ id, targetKey }) => ({ id, targetKey: keyJson(targetKey) })),
    },
    estimate,
    differences,
    warnings,
    notes,
  };
}

function sideText(
  address: ContainerAddress,
  { keyPaths, throughput, documentCount, defaultTtl }: ContainerFacts,
): string {
  const parts = [
    containerText(address),
    `key ${keyPaths.join(', ')}`,
    throughputText(throughput),
    ...(documentCount === null ? [] : [`${formatCount(documentCount)} documents`]),
    ...(defaultTtl === null ? [] : [`TTL ${ttlText(defaultTtl)}`]),
  ];
  return parts.join('; ');
}

function targetText({ target, throughput }: Inspection, spec: MigrationSpec): string {
  if (target !== null) return sideText(spec.target, target);
  const paid = throughput === null || throughput.kind === 'none' ? '' : ` with ${throughputText(throughput)}`;
  return `${containerText(spec.target)}; key ${spec.partitionKey.join(', ')}; will be created${paid}`;
}

function sampleRows(sample: SourceSample): TextRow[] {
  const { documents, isWhole, missing, refused, collisions, distinct, biggest, averageBytes } = sample;
  if (documents === 0) return [['sample', 'the source is empty']];
  const lacking = missing + refused['missing-key'];
  const cannot = refusedText(refused);
  const share = (part: number): string => `${((part / documents) * 100).toFixed(1)} %`;
  return [
    [
      'sample',
      `${formatCount(documents)} documents${isWhole ? ', all of them' : ', not all of them'}; ${sizeText(averageBytes)} each`,
    ],
    ['without the key', lacking === 0 ? '0' : `${formatCount(lacking)}, ${share(lacking)}`],
    ['distinct keys', formatCount(distinct)],
    ...biggest
      .filter(({ documents: many }) => many > 1)
      .map(({ values, documents: many }, index): TextRow => [
        index === 0 ? 'biggest keys' : '',
        `${share(many)} ${keyText(values)}`,
      ]),
    ['cannot be moved', cannot === '' ? '0' : cannot],
    ['collisions', formatCount(collisions)],
  ];
}

function estimateRows(estimate: Estimate): TextRow[] {
  const { documents, bytes, sourceRu, targetRu, hours, limitedBy, ledgerBytes, ledgerBytesPerChange } =
    estimate;
  if (documents === null)
    return [['estimate', 'unknown: the service does not report how many documents there are']];
  const time =
    hours === null
      ? 'unknown: neither side has RU/s of its own, and no budget was given'
      : `${hours * HOUR_MS < 1000 ? 'under a second' : `about ${formatAge(hours * HOUR_MS)}`}, as fast as the ${limitedBy ?? 'target'} allows`;
  return [
    ['documents', `about ${formatCount(documents)}, ${sizeText(bytes ?? 0)}`],
    ['RU', `${formatCount(sourceRu ?? 0)} on the source, ${formatCount(targetRu ?? 0)} on the target`],
    ['time', time],
    [
      'ledger',
      `${sizeText(ledgerBytes ?? 0)}, plus ${ledgerBytesPerChange} bytes for each change during the copy`,
    ],
  ];
}

function sideJson(address: ContainerAddress, facts: ContainerFacts): TypeOf<typeof DRY_RUN>['source'] {
  const { keyPaths, throughput, documentCount, sizeBytes, defaultTtl } = facts;
  return {
    container: containerText(address),
    partitionKey: keyPaths,
    throughput,
    documents: documentCount,
    bytes: sizeBytes,
    defaultTtl,
  };
}

function keyText(values: readonly KeyComponent[]): string {
  return values.map(show).join(', ');
}

/** Renders a row: the name, and the value in a column of its own on as many lines as it needs. */
function rowText([name, value]: TextRow): string {
  return wrapText(value, COLUMNS - NAME_COLUMNS)
    .map((line, index) => `${(index === 0 ? name : '').padEnd(NAME_COLUMNS)}${line}`.trimEnd())
    .join('\n');
}
