/** The plan that came before the migration: its candidates with their findings, and the key that the migration takes. */
import { pluralize } from '../../lib/counting.ts';
import type { PlanSummary, SummarizedCandidate } from '../../plan/summary.ts';
import { formatTime } from '../../lib/clock.ts';
import { keyName, recommended } from '../plan/view.ts';
import { sentence } from '../plan/figures.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { whenText, type Facts, type MigrationFacts } from './facts.ts';

/** Candidates on the page. The page of the plan has all of them. */
const CANDIDATES_SHOWN = 8;

export function plan(facts: Facts): Markup | null {
  const { plan: found } = facts;
  // A plan is about the first direction.
  if (facts.is === 'known' && facts.leadsBack) return null;
  if (found === null) return facts.is === 'known' ? none(facts) : null;
  if (found.is === 'unreadable')
    return markup`<h2>Plan</h2><p class="empty">It cannot be read: ${found.why}.</p>`;
  if (found.is === 'unfinished')
    return markup`<h2>Plan</h2><p class="empty">${unfinishedText(found.documents)}</p>`;
  if (found.is === 'measuring')
    return markup`<h2>Plan</h2><p class="empty">${measuringText(found.documents)}</p>`;
  const { summary } = found;
  const others = summary.candidates.filter(({ current }) => !current);
  const chosen = facts.is === 'known' ? chosenOf(facts, summary) : null;
  const shown = others.slice(0, CANDIDATES_SHOWN);
  return markup`<h2>Plan <span class="muted">made ${facts.isSaved === true ? '' : `${whenText(facts, found.atMs)}, `}${formatTime(found.atMs)}</span></h2>
<p class="verdict">${adviceText(summary)}.</p>${chosen === null ? null : markup`<p>${chosen.text}</p>`}
<dl class="rows plan">${shown.map(
    (candidate) =>
      markup`<div><dt>${keyName(candidate.key)}${tags(candidate, summary, chosen?.candidate ?? null)}</dt><dd>${findings(candidate)}</dd></div>`,
  )}</dl>
<p class="note">${others.length > shown.length ? `${others.length - shown.length} more candidates. ` : ''}${summary.complete ? '' : 'Not everything was read. '}${pageText(summary)}</p>`;
}

function none({ status: { source } }: MigrationFacts): Markup {
  return markup`<h2>Plan</h2><p class="empty">No plan of <bdi>${source}</bdi> was found next to the ledger. cosmig plan measures which key is best, and changes nothing.</p>`;
}

export function measuringText(documents: number): string {
  return documents === 0
    ? 'cosmig plan is reading the source.'
    : `cosmig plan is reading the source: ${pluralize(documents, 'document')} so far.`;
}

export function unfinishedText(documents: number): string {
  return `It has read ${pluralize(documents, 'document')} and has no result yet. cosmig plan continues if it was stopped.`;
}

/** What the plan advises: `Migrate to /customerId`. */
export function adviceText({ recommendation, key }: PlanSummary): string {
  return recommended(recommendation, key)
    .filter((part) => part !== '')
    .join(' ');
}

function chosenOf(
  { key: { paths: partitionKey, derive } }: MigrationFacts,
  { candidates }: PlanSummary,
): { readonly candidate: SummarizedCandidate | null; readonly text: Markup } {
  const isSame = (one: readonly string[], other: readonly string[]): boolean =>
    JSON.stringify(one) === JSON.stringify(other);
  const candidate = candidates.find(
    (one) =>
      isSame(one.derive, derive) &&
      // A derived property alone is the key.
      (isSame(one.paths, partitionKey) || (partitionKey.length === 0 && derive.length === 1)),
  );
  const key = keyName([...partitionKey, ...derive].join(' '));
  return candidate === undefined
    ? { candidate: null, text: markup`This migration takes ${key}, which the plan has not measured.` }
    : { candidate, text: markup`This migration takes ${keyName(candidate.key)}.` };
}

function tags(
  { key }: SummarizedCandidate,
  { recommendation }: PlanSummary,
  chosen: SummarizedCandidate | null,
): Markup[] {
  return [
    ...(key === chosen?.key ? [markup` <span class="tag taken">taken</span>`] : []),
    ...(key === recommendation.key ? [markup` <span class="tag">advised</span>`] : []),
  ];
}

const KINDS = [
  { of: 'blockers', name: 'blocker', style: 'alarm', sign: '✕' },
  { of: 'risks', name: 'risk', style: 'caution', sign: '▲' },
  { of: 'gains', name: 'gain', style: 'good', sign: '✓' },
] as const;

/** The number of findings of each kind, with the first of each in words. */
function findings(candidate: SummarizedCandidate): Markup {
  const found = KINDS.filter(({ of }) => candidate[of].length > 0);
  if (found.length === 0) return markup`<span class="muted">No figure reached a limit.</span>`;
  return markup`<ul class="findings">${found.map(({ of, name, style, sign }) => {
    const [first = '', ...more] = candidate[of];
    const count = more.length === 0 ? '' : `, and ${pluralize(more.length, `more ${name}`)}`;
    return markup`<li><span class="${style}"><span aria-hidden="true">${sign}</span> <span class="hidden">${name}: </span></span>${sentence(first)}<span class="muted">${count}</span></li>`;
  })}</ul>`;
}

function pageText({ page }: PlanSummary): Markup {
  return page === null
    ? markup`cosmig plan --report FILE writes all figures as a page.`
    : markup`All figures: <bdi>${page}</bdi>`;
}
