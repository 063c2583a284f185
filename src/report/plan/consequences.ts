/** What a key means for the application: its queries, the bill, and what stops working as before. */
import { formatCount, formatCounts, pluralize } from '../../lib/counting.ts';
import type { CandidateWorkload, PlanResult, UniqueKeyConflicts, WorkloadResult } from '../../plan/result.ts';
import { shareBar, type Share } from '../svg/meter.ts';
import { markup, NOTHING, type Insertable, type Markup } from '../svg/markup.ts';
import {
  bytesText,
  countText,
  dollarsText,
  hoursText,
  rangeText,
  ruPerSecondText,
  ruText,
  shareText,
  sentence,
  spanText,
} from './figures.ts';
import { chip, heading, keyName, type CandidateView } from './view.ts';

/** From the best to the worst; each has a style of its own besides its name. */
const CLASSES = [
  { of: 'point', name: 'point read', style: 'full' },
  { of: 'single-partition', name: 'one value', style: 'share2' },
  { of: 'prefix', name: 'a few values', style: 'share3' },
  { of: 'fan-out', name: 'every partition', style: 'share4' },
] as const;
const QUERIES_SHOWN = 12;

export function workload({ workload: file }: PlanResult, views: readonly CandidateView[]): Markup {
  if (file === null) return NOTHING;
  const known = views.flatMap((view) => {
    const { workload: own } = view.result;
    return own === null ? [] : [{ view, own }];
  });
  return markup`<section aria-labelledby="workload"><div class="intro"><h2 id="workload">Queries</h2>
<p class="lead">From <bdi class="name">${file.file}</bdi>: ${pluralize(file.queries, 'query shape')}, ${pluralize(file.executions, 'execution')} over ${spanText(file.seconds)}.${file.skipped > 0 ? ` ${pluralize(file.skipped, 'line')} could not be read.` : ''} What cannot be classified counts as asking every partition.</p></div>
${file.obfuscated === null ? null : markup`<p class="warn">${file.obfuscated}</p>`}
<div class="grid">${known.map(({ view, own }, index) => {
    const shares: readonly Share[] = CLASSES.map(({ of, name, style }) => ({
      name,
      share: own.shares[of],
      style,
    }));
    const description = shares.map(({ name, share }) => `${name} ${shareText(share)}`).join(', ');
    return markup`<figure>${heading(view)}${shareBar({ id: `workload${index}`, title: `Queries with ${view.result.key}`, description }, shares, view.tone)}
<ul class="legend-list ${view.tone}">${shares.filter(({ share }) => share > 0).map(({ name, share, style }) => markup`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" focusable="false"><rect width="10" height="10" rx="2" class="${style}"/></svg>${name} ${shareText(share)}${style === 'share4' && own.unknownShare > 0 ? ` (${shareText(own.unknownShare)} cannot be classified)` : ''}</li>`)}</ul>
<figcaption>${workloadText(own)}</figcaption></figure>`;
  })}</div>${queries(known)}${hottestKeys(file)}${file.notes.map((note) => markup`<p class="muted note">${sentence(note)}</p>`)}</section>`;
}

function workloadText(own: CandidateWorkload): string {
  const visited = countText(own.partitionsVisited);
  return `An execution visits ${visited} ${visited === '1' ? 'partition' : 'partitions'} on average; ${ruPerSecondText(own.ruPerSecond)}, ${dollarsText(own.dollarsPerMonth)} a month.`;
}

/** Values of the present key that used most RU, where the export has them. */
function hottestKeys({ hottestKeys: keys }: WorkloadResult): Markup {
  if (keys.length === 0) return NOTHING;
  return markup`<p class="note">Values of the present key that used most: ${keys.map(({ value, ruPerSecond }, index) => markup`${index === 0 ? '' : ', '}<bdi class="key">${value}</bdi> ${ruPerSecondText(ruPerSecond)}`)}.</p>`;
}

/** Each query with its class for each key. Queries are the same for all candidates. */
function queries(
  known: ReadonlyArray<{ readonly view: CandidateView; readonly own: CandidateWorkload }>,
): Markup {
  const [first] = known;
  if (first === undefined || first.own.queries.length === 0) return NOTHING;
  const shown = first.own.queries.slice(0, QUERIES_SHOWN);
  const left = first.own.queries.length - shown.length;
  return markup`<h3>Query by query</h3><table class="queries" role="table"><thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Query</th><th role="columnheader" scope="col">Executions</th>${known.map(({ view }) => markup`<th role="columnheader" scope="col">${chip(view)}<span class="hidden"> ${view.result.key}</span></th>`)}</tr></thead>
<tbody role="rowgroup">${shown.map(
    (query, index) =>
      markup`<tr role="row"><th role="rowheader" scope="row"><code dir="auto">${query.text}</code></th><td role="cell" data-name="Executions"><span class="num">${countText(query.executions)}</span></td>${known.map(
        ({ view, own }) => {
          const same = own.queries[index];
          if (same === undefined) return markup`<td role="cell" data-name="${view.mark}">–</td>`;
          const { name } = CLASSES.find(({ of }) => of === same.class) ?? { name: same.class };
          return markup`<td role="cell" data-name="${view.mark}" class="${same.class === 'fan-out' ? 'caution' : ''}" title="${same.why}">${same.isKnown ? name : 'cannot be classified'}</td>`;
        },
      )}</tr>`,
  )}</tbody></table>${left > 0 ? markup`<p class="muted">${pluralize(left, 'more shape')} are in the JSON result.</p>` : null}`;
}

export function costs(views: readonly CandidateView[]): Markup {
  if (views.every(({ result: { costs: of } }) => of.migration === null && of.monthly === null))
    return NOTHING;
  const rows: ReadonlyArray<readonly [name: string, of: (view: CandidateView) => Insertable]> = [
    ['Bill a month now', ({ result: { costs: of } }) => of.monthly && dollarsText(of.monthly.before)],
    ['Bill a month then', ({ result: { costs: of } }) => of.monthly && dollarsText(of.monthly.after)],
    ['Because', ({ result: { costs: of } }) => of.monthly && of.monthly.why],
    ['Migration, read', ({ result: { costs: of } }) => of.migration && ruText(of.migration.sourceRu)],
    ['Migration, write', ({ result: { costs: of } }) => of.migration && ruText(of.migration.targetRu)],
    [
      'At the present throughput',
      ({ result: { costs: of } }) =>
        of.migration &&
        (of.migration.hoursAtPresent === null ? 'not known' : hoursText(of.migration.hoursAtPresent)),
    ],
    [
      'Proposed throughput',
      ({ result: { costs: of } }) => of.migration && ruPerSecondText(of.migration.proposedRu),
    ],
    ['With it', ({ result: { costs: of } }) => of.migration && hoursText(of.migration.hoursAtProposed)],
    [
      'Create the target with',
      ({ result: { costs: of } }) =>
        of.migration &&
        `${pluralize(of.migration.initialPartitions, 'partition')}${of.migration.initialRu === null ? '' : `, ${ruPerSecondText(of.migration.initialRu)}`}`,
    ],
    [
      'With that throughput',
      ({ result: { costs: of } }) =>
        of.migration &&
        (of.migration.hoursAtInitial === null ? 'not known' : hoursText(of.migration.hoursAtInitial)),
    ],
    ['Ledger on disk', ({ result: { costs: of } }) => of.migration && bytesText(of.migration.ledgerBytes)],
    ['Migration, once', ({ result: { costs: of } }) => of.migration && dollarsText(of.migration.dollars)],
  ];
  return markup`<section aria-labelledby="costs"><h2 id="costs">Costs</h2>${matrix('costs', views, rows)}</section>`;
}

export function breaks({ source }: PlanResult, views: readonly CandidateView[]): Markup {
  if (views.every(({ result }) => result.current)) return NOTHING;
  const rows: ReadonlyArray<readonly [name: string, of: (view: CandidateView) => Insertable]> = [
    [
      'Same key and id',
      ({ result: { data, current } }) =>
        current ? null : [collisionsText(data.collisions), examplesOf(data.collisions.examples)],
    ],
    [
      'Unique keys',
      ({ result: { data, current } }) =>
        current || source.uniqueKeys.length === 0 || data.uniqueKeyConflicts === null
          ? null
          : data.uniqueKeyConflicts.keys.map((key) => [
              markup`<small>${key.paths.join(' + ')}: </small>`,
              collisionsText(key),
              refusedOf(key.examples),
            ]),
    ],
    ['Kinds of values', ({ result: { data } }) => formatCounts({ ...data.types }) || null],
    ['Documents without a value', ({ result: { data } }) => countText(data.missing)],
    ['Documents that are refused', ({ result: { data } }) => formatCounts(data.refused) || '0'],
    [
      'Updates that move a document',
      ({ result: { observed, current } }) =>
        current || observed === null ? null : shareText(observed.movesShare),
    ],
    [
      'Transactions over several keys',
      ({ result: { observed, current } }) =>
        current || observed === null
          ? null
          : observed.brokenBatches.seen === 0
            ? 'no batch was seen'
            : `${formatCount(observed.brokenBatches.broken)} of ${pluralize(observed.brokenBatches.seen, 'batch')}`.replace(
                'batchs',
                'batches',
              ),
    ],
  ];
  const always: ReadonlyArray<readonly [name: string, text: string]> = [
    [
      'Point reads',
      'Every read, replace and delete by id names the key: the application has to send the new one.',
    ],
    [
      'Stored procedures and batches',
      `They work within one value of the key. Those that combine documents of several new values have to be rewritten. ${scriptsText(source.scripts)}`,
    ],
    [
      'Deletes while documents are copied',
      source.deletes === 'avad'
        ? 'They are read from the feed of all versions and deletes, which this account has.'
        : 'This account has no feed of all versions and deletes: deletes are found by comparing both sides, before the cutover.',
    ],
    [
      'Change feed consumers',
      'The target is a container of its own: consumers begin with its feed, and their leases and continuation tokens do not carry over.',
    ],
    ...(source.uniqueKeys.length > 0
      ? [
          [
            'Unique keys',
            `They hold within one value of the key: ${source.uniqueKeys.map((paths) => paths.join(' + ')).join(', ')}. A coarser or finer key changes what they forbid.`,
          ] as const,
        ]
      : []),
  ];
  return markup`<section aria-labelledby="breaks"><h2 id="breaks">What breaks</h2>${matrix('breaks', views, rows)}
<dl class="always">${always.map(([name, text]) => markup`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl></section>`;
}

/** cosmig creates the scripts in the new container, but only their authors know which keys they combine. */
function scriptsText(scripts: PlanResult['source']['scripts']): string {
  if (scripts === null)
    return 'Whether the container has stored procedures, triggers or functions is not known: this identity may not see them.';
  const { storedProcedures, triggers, functions } = scripts;
  return `The container has ${pluralize(storedProcedures, 'stored procedure')}, ${pluralize(triggers, 'trigger')} and ${pluralize(functions, 'user-defined function')}.`;
}

const EXAMPLES_SHOWN = 3;

function examplesOf(examples: CandidateView['result']['data']['collisions']['examples']): Insertable {
  return examples
    .slice(0, EXAMPLES_SHOWN)
    .map(
      ({ id, key }) =>
        markup`<small>id <bdi class="key">${id}</bdi> in <bdi class="key">${key}</bdi></small>`,
    );
}

function refusedOf(examples: UniqueKeyConflicts['keys'][number]['examples']): Insertable {
  return examples
    .slice(0, EXAMPLES_SHOWN)
    .map(
      ({ id, key, values }) =>
        markup`<small>id <bdi class="key">${id}</bdi> with <bdi class="key">${values}</bdi> in <bdi class="key">${key}</bdi></small>`,
    );
}

function collisionsText(conflicts: Omit<UniqueKeyConflicts, 'keys'>): Markup {
  if (conflicts.known) return conflictText(conflicts);
  const { low } = conflicts;
  const least = low > 0 ? `at least ${countText(low)}; ` : '';
  return markup`<span class="${low > 0 ? 'alarm' : ''}">${least}a sample cannot know: run without --sample</span>`;
}

function conflictText({
  documents,
  low,
  high,
}: {
  readonly documents: number;
  readonly low: number;
  readonly high: number;
}): Markup {
  const text =
    low === high
      ? countText(documents)
      : `about ${countText(documents)} (${rangeText({ low, high }, countText)})`;
  return markup`<span class="${low > 0 ? 'alarm' : ''}">${text}</span>`;
}

/** A table whose columns are candidates. Rows in which no candidate has anything are left out. */
function matrix(
  label: string,
  views: readonly CandidateView[],
  rows: ReadonlyArray<readonly [name: string, of: (view: CandidateView) => Insertable]>,
): Markup {
  const shown = rows.filter(([, of]) => views.some((view) => of(view) !== null));
  return markup`<div class="scroll" tabindex="0" role="region" aria-labelledby="${label}"><table class="matrix"><thead><tr><td></td>${views.map((view) => markup`<th scope="col"><span class="heading">${chip(view)}${keyName(view.result.key)}</span></th>`)}</tr></thead>
<tbody>${shown.map(([name, of]) => markup`<tr><th scope="row">${name}</th>${views.map((view) => markup`<td>${of(view) ?? '–'}</td>`)}</tr>`)}</tbody></table></div>`;
}
