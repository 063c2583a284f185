/** The candidates side by side: the main figures as a table with bars, then the findings of each. */
import { hottestRuOf } from '../../plan/figures.ts';
import type { KeyReason, PlanResult } from '../../plan/result.ts';
import { PARTITION_RU_MAX, VALUE_BYTES_MAX } from '../../plan/verdict/limits.ts';
import { meter } from '../svg/meter.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import {
  hottestText,
  bytesText,
  countText,
  dollarsText,
  ruPerSecondText,
  sentence,
  shareText,
  timesText,
} from './figures.ts';
import { chip, keyName, type CandidateView } from './view.ts';

interface Column {
  readonly name: string;
  readonly valueOf: (view: CandidateView) => number | null;
  readonly format: (value: number) => string;
  /** The limit that is drawn when it lies within the largest value. */
  readonly limit?: number;
}

const COLUMNS: readonly Column[] = [
  { name: 'Distinct values', valueOf: ({ result }) => result.data.distinct.estimate, format: countText },
  {
    name: 'Biggest value',
    valueOf: ({ result }) => result.data.largest[0]?.bytes.high ?? null,
    format: bytesText,
    limit: VALUE_BYTES_MAX.value,
  },
  { name: 'Its share', valueOf: ({ result }) => result.data.top1Share, format: shareText },
  {
    name: 'Fullest partition',
    valueOf: ({ result }) => result.data.balance[0]?.bytes.overAverage ?? null,
    format: timesText,
  },
  {
    name: 'Hottest value',
    valueOf: ({ result }) => hottestRuOf(result),
    format: ruPerSecondText,
    limit: PARTITION_RU_MAX.value,
  },
  {
    name: 'Queries that fan out',
    valueOf: ({ result }) => result.workload?.shares['fan-out'] ?? null,
    format: shareText,
  },
  {
    name: 'Bill a month',
    valueOf: ({ result }) => result.costs.monthly?.after ?? null,
    format: dollarsText,
  },
];

/** Rows are candidates. On a phone each row becomes a card; the roles keep it a table for screen readers. */
export function comparison(views: readonly CandidateView[], result: PlanResult): Markup {
  const columns = COLUMNS.filter(({ valueOf }) => views.some((view) => valueOf(view) !== null));
  const ends = columns.map(({ valueOf }) => Math.max(0, ...views.map((view) => valueOf(view) ?? 0)));
  return markup`<section aria-labelledby="candidates"><h2 id="candidates">The candidates side by side</h2>
<table class="wide" role="table" aria-labelledby="candidates"><thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Key</th><th role="columnheader" scope="col">Verdict</th>${columns.map(({ name }) => markup`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${views.map(
    (
      view,
    ) => markup`<tr role="row" class="${view.isRecommended ? 'chosen' : ''}"><th role="rowheader" scope="row"><span class="heading">${chip(view)}${keyName(view.result.key)}</span>${view.isRecommended ? markup`<span class="tag">${view.tag}</span>` : null}</th>
<td role="cell" data-name="Verdict">${tally(view)}</td>${columns.map(
      ({ name, valueOf, format, limit }, index) => {
        const value = valueOf(view);
        return markup`<td role="cell" data-name="${name}">${value === null ? 'not known' : [markup`<span class="num">${format(value)}</span>`, meter(value, { end: ends[index] ?? 0, limit: limit ?? null, tone: view.tone })]}</td>`;
      },
    )}</tr>`,
  )}</tbody></table>
<p class="muted">Hottest value: the RU/s of its writes, at least; ${hottestText(result)}.</p>
<div class="cards">${views.map(card)}</div></section>`;
}

const KINDS = [
  { of: 'blockers', name: 'Blocker', plural: 'Blockers', style: 'alarm', sign: '✕' },
  { of: 'risks', name: 'Risk', plural: 'Risks', style: 'caution', sign: '▲' },
  { of: 'gains', name: 'Gain', plural: 'Gains', style: 'good', sign: '✓' },
] as const;

function tally({ result: { verdict } }: CandidateView): Markup {
  const shown = KINDS.filter(({ of }) => verdict[of].length > 0);
  if (shown.length === 0) return markup`<span class="muted">nothing found</span>`;
  return markup`<span class="tally">${shown.map(({ of, name, plural, style, sign }) => {
    const { length } = verdict[of];
    return markup`<span class="${style}"><span aria-hidden="true">${sign}</span> ${length} ${(length === 1 ? name : plural).toLowerCase()}</span>`;
  })}</span>`;
}

function card(view: CandidateView): Markup {
  const { result, isRecommended, tag, tone } = view;
  const empty = KINDS.every(({ of }) => result.verdict[of].length === 0);
  return markup`<article class="card ${tone} ${isRecommended ? 'chosen' : ''}">
<h3 class="heading">${chip(view)}${keyName(result.key)}</h3>
${tag === null ? null : markup`<p class="tag">${tag}</p>`}
${result.proposed === null ? null : markup`<p class="muted">Proposed: ${result.proposed}</p>`}
${KINDS.map(({ of, plural, style, sign }) => findings(result.verdict[of], plural, style, sign))}
${empty ? markup`<p class="muted">No figure reached a limit.</p>` : NOTHING}
</article>`;
}

function findings(list: readonly KeyReason[], title: string, style: string, sign: string): Markup {
  if (list.length === 0) return NOTHING;
  return markup`<h4 class="${style}">${title}</h4><ul class="findings">${list.map(
    (finding) =>
      markup`<li><span class="sign ${style}" aria-hidden="true">${sign}</span><div>${sentence(finding.text)}<small>${sentence(finding.source)}</small></div></li>`,
  )}</ul>`;
}
