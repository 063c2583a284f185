/**
 * The plan for a terminal, in short and at most 80 columns wide: the advice, then each candidate with its findings, then
 * what the figures do not cover. The page has the rest.
 */
import { hottestRuOf } from '../../plan/figures.ts';
import type { CandidateResult, KeyReason, PlanResult } from '../../plan/result.ts';
import { pluralize } from '../../lib/counting.ts';
import { printableLine } from '../../lib/json/printable.ts';
import { VALUE_BYTES_MAX } from '../../plan/verdict/limits.ts';
import { CONFIG_NAME } from '../../spec/load.ts';
import { wrapText } from '../format.ts';
import { columnsOf, cutToColumns, padToColumns } from '../width.ts';
import {
  bytesText,
  countText,
  dollarsText,
  estimateText,
  hottestText,
  hoursText,
  joinUnits,
  NO_BREAK,
  readText,
  ruPerSecondText,
  sentence,
  shareText,
  timesText,
} from './figures.ts';
import { recommended, viewsOf, type CandidateView } from './view.ts';

const COLUMNS = 80;
const NAME = 11;
const BAR = 24;
const VALUES_SHOWN = 3;
/** The value of a key in front of its bar. */
const VALUE = 26;

/** The files that were written; null: none was asked for. */
export interface WrittenFiles {
  /** The path of the HTML page. */
  readonly page: string | null;
  /** The candidate that the config file is for. */
  readonly config: string | null;
}

export function planText(result: PlanResult, { page, config }: WrittenFiles): string {
  const views = viewsOf(result);
  const { source, recommendation: advice, notes } = result;
  const [before, key] = recommended(advice, source.key);
  const blocks = [
    [
      ...row(
        'source',
        `${safe(source.name)}; key ${safe(source.key)}; ${estimateText(result.documents, countText)} documents, ${estimateText(source.bytes, bytesText)}; ${source.throughputText}`,
      ),
      ...row('basis', `${readText(result)}${result.complete ? '' : '; the pass was stopped before its end'}`),
    ],
    [
      ...wrapWide(`${before}${key === '' ? '' : ` ${safe(key)}`}.`, COLUMNS),
      ...advice.why.flatMap((text) => item('-', text)),
      ...(advice.unless.length === 0 ? [] : ['What would change this:']),
      ...advice.unless.flatMap((text) => item('-', text)),
    ],
    result.documents.estimate === 0 ? [] : tableLines(views, result),
    ...views.map((view) => candidateLines(view, views)),
    workloadLines(result),
    notes.flatMap((note) => row('note', safe(note))),
    [
      ...row(
        'report',
        page === null ? '--report plan.html writes a page with pictures of all this' : safe(page),
      ),
      ...configLines(views, config),
    ],
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** How to continue with the candidate that was chosen, or that is recommended. */
function configLines(views: readonly CandidateView[], config: string | null): string[] {
  if (config !== null)
    return row(
      'config',
      `${CONFIG_NAME} for ${safe(config)}; look through it, then run cosmig doctor and cosmig copy --dry-run`,
    );
  const advised = views.find(({ isRecommended, result }) => isRecommended && !result.current);
  if (advised === undefined) return [];
  return row(
    'config',
    `--write-config ${advised.mark} writes ${CONFIG_NAME} for ${safe(advised.result.key)}`,
  );
}

/** What a workload file lacks: lines that could not be read, and what was assumed. The page has its queries. */
function workloadLines({ workload }: PlanResult): string[] {
  if (workload === null) return [];
  const { file, queries, executions, skipped, obfuscated, notes } = workload;
  const lost = skipped > 0 ? `; ${pluralize(skipped, 'line')} could not be read` : '';
  return [
    ...row(
      'queries',
      `${pluralize(queries, 'query shape')} with ${pluralize(executions, 'execution')} from ${safe(file)}${lost}`,
    ),
    ...(obfuscated === null ? [] : row('', safe(obfuscated))),
    ...notes.flatMap((note) => row('', safe(note))),
  ];
}

interface TextColumn {
  readonly name: string;
  readonly width: number;
  readonly of: (result: CandidateResult) => string;
}

const TABLE: readonly TextColumn[] = [
  { name: 'values', width: 8, of: ({ data }) => shortCount(data.distinct.estimate) },
  {
    name: 'biggest',
    width: 10,
    of: ({ data: { largest } }) =>
      largest[0] === undefined ? '' : bytesText(largest[0].bytes.high).replace(' bytes', ' B'),
  },
  {
    name: 'share',
    width: 8,
    of: ({ data }) => shareText(data.top1Share).replace('under ', '<').replace('over ', '>'),
  },
  {
    name: 'fullest',
    width: 8,
    of: ({ data: { balance } }) => (balance[0] === undefined ? '' : timesText(balance[0].bytes.overAverage)),
  },
  { name: 'RU/s', width: 7, of: (result) => shortCount(hottestRuOf(result)) },
  {
    name: 'fan-out',
    width: 8,
    of: ({ workload }) =>
      workload === null
        ? ''
        : shareText(workload.shares['fan-out']).replace('under ', '<').replace('over ', '>'),
  },
  {
    name: '$/month',
    width: 8,
    of: ({ costs }) => (costs.monthly === null ? '' : shortCount(costs.monthly.after)),
  },
];

/** The main figures side by side. A column without a figure is left out. */
function tableLines(views: readonly CandidateView[], result: PlanResult): string[] {
  const columns = TABLE.filter(({ of }) => views.some(({ result }) => of(result) !== ''));
  const keyColumns = COLUMNS - columns.reduce((sum, { width }) => sum + width, 0);
  const line = (first: string, cellOf: (column: TextColumn) => string): string =>
    padToColumns(first, keyColumns) + columns.map((column) => cellOf(column).padStart(column.width)).join('');
  return [
    line('', ({ name }) => name),
    ...views.map(({ mark, result }) =>
      line(cutToColumns(`${mark.padEnd(3)} ${safe(result.key)}`, keyColumns - 1), ({ of }) => of(result)),
    ),
    '',
    ...wrapWide(`${EXPLAINED}${hottestText(result)}.${fanOutText(views)}`, COLUMNS),
  ];
}

const EXPLAINED =
  'biggest: the value with the most bytes, and its share of all documents. fullest: how many times the average the fullest partition has. RU/s: writes of the hottest value, at least; ';

/** What cannot be classified counts as asking every partition, and the reader has to know how much that is. */
function fanOutText(views: readonly CandidateView[]): string {
  const unknown = views.flatMap(({ result }) => result.workload?.unknownShare ?? []);
  if (unknown.length === 0) return '';
  const most = Math.max(...unknown);
  const counted = most === 0 ? '' : `, with up to ${shareText(most)} that cannot be classified`;
  return ` fan-out: queries that ask every partition${counted}.`;
}

/** Returns a figure of at most six columns: `412,077`, `31.4 M`. */
function shortCount(value: number): string {
  if (value < 100_000) return countText(value);
  const [size, unit] = value < 1e6 ? [1e3, 'k'] : value < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  const amount = value / size;
  return `${amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
}

function candidateLines(view: CandidateView, views: readonly CandidateView[]): string[] {
  const { result, mark, tag, isRecommended } = view;
  const { costs, verdict, proposed } = result;
  const title = `${safe(result.key)}${tag === null ? '' : `  (${tag})`}`;
  const { migration } = costs;
  return [
    ...wrapWide(title, COLUMNS - 4).map((line, index) =>
      `${(index === 0 ? mark : '').padEnd(3)} ${line}`.trimEnd(),
    ),
    ...(proposed === null ? [] : row('  proposed', safe(proposed))),
    ...valueLines(view, views),
    ...findings('blocker', verdict.blockers),
    ...findings('risk', verdict.risks),
    ...findings('gain', verdict.gains),
    ...(migration === null || !isRecommended
      ? []
      : row(
          '  migration',
          `${hoursText(migration.hoursAtProposed)} with ${ruPerSecondText(migration.proposedRu)}; ${dollarsText(migration.dollars)}`,
        )),
  ];
}

/** The biggest values as bars, on one scale for all candidates. */
function valueLines({ result }: CandidateView, views: readonly CandidateView[]): string[] {
  const most = Math.max(...views.flatMap((view) => view.result.data.largest.map(({ bytes }) => bytes.high)));
  const end = most > VALUE_BYTES_MAX.value / 2 ? Math.max(most, VALUE_BYTES_MAX.value) : most;
  return result.data.largest.slice(0, VALUES_SHOWN).map(({ value, bytes, share }) => {
    const low = Math.round((bytes.low / end) * BAR);
    const high = Math.max(low, Math.round((bytes.high / end) * BAR), bytes.high > 0 ? 1 : 0);
    const bar = ('█'.repeat(low) + '░'.repeat(high - low)).padEnd(BAR);
    const name = padToColumns(cutToColumns(safe(value === '' ? '(empty text)' : value), VALUE), VALUE);
    return `  ${name} ${bar} ${bytesText(bytes.high).padStart(9)} ${shareText(share).padStart(12)}`.trimEnd();
  });
}

function findings(kind: string, list: readonly KeyReason[]): string[] {
  return list.flatMap(({ text, source }) =>
    row(`  ${kind.toUpperCase()}`, `${sentence(safe(text))} [${safe(source)}]`),
  );
}

function row(name: string, text: string): string[] {
  return wrapWide(text, COLUMNS - NAME - 1).map((line, index) =>
    `${(index === 0 ? name : '').padEnd(NAME)} ${line}`.trimEnd(),
  );
}

function item(sign: string, text: string): string[] {
  return wrapWide(sentence(safe(text)), COLUMNS - 2).map(
    (line, index) => `${index === 0 ? sign : ' '} ${line}`,
  );
}

/** Like `wrapText`, for texts with characters that take two columns. A figure stays on the line of its unit. */
function wrapWide(loose: string, columns: number): string[] {
  const text = joinUnits(loose);
  const widest = Math.max(0, ...wrapText(text, columns).map(columnsOf));
  const fitting = widest > columns ? Math.floor((columns * columns) / widest) : columns;
  return wrapText(text, fitting).map((line) => line.replaceAll(NO_BREAK, ' '));
}

/** Texts of documents: nothing in them can look like a line of its own. */
function safe(text: string): string {
  return printableLine(text);
}
