/** What was replicated, and what could not be. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import type { Letter } from '../../state/dead-letters.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { whenText, type MigrationFacts } from './facts.ts';

export function moved({ status, replaced, leadsBack }: MigrationFacts): Markup {
  const { written, moved: renamed, deleted } = status.documents;
  const rows: readonly (readonly [string, string, string])[] = [
    ['Created', formatCount(written - replaced - renamed), 'were not in the target before'],
    ['Updated', formatCount(replaced), 'replaced under the same key'],
    ['Moved', formatCount(renamed), 'an update gave them another key'],
    ['Removed', formatCount(deleted), removedText(status.deletes)],
  ];
  return markup`<h2>${leadsBack ? 'Replicated' : 'Copied and replicated'}</h2><dl class="rows">${rows.map(
    ([name, value, note]) =>
      markup`<div><dt>${name}</dt><dd><b>${value}</b> <span class="muted">${note}</span></dd></div>`,
  )}</dl>`;
}

/** A copy that was removed because of a dead letter counts as well, however deletes are found. */
function removedText(deletes: string | null): string {
  return deletes === null
    ? 'not decided yet how deletes are found'
    : `copies of deleted documents and of dead letters; deletes are ${DELETES[deletes] ?? 'found by comparing both sides'}`;
}

const DELETES: Readonly<Record<string, string>> = {
  avad: 'read from the feed of all versions and deletes',
  marker: 'marked by the application',
};

export function deadLetters(facts: MigrationFacts): Markup {
  const { status, letters } = facts;
  const { open, reasons, closed, discarded } = status.deadLetters;
  if (open === 0)
    return markup`<h2>Dead letters</h2><p class="empty">None is open. ${closed + discarded === 0 ? '' : `${formatCount(closed)} closed, ${formatCount(discarded)} discarded.`}</p>`;
  const more = open - letters.length;
  return markup`<h2>Dead letters <span class="alarm">${pluralize(open, 'document')} not in the target</span></h2>
<dl class="rows">${Object.entries(reasons).map(
    ([reason, count]) => markup`<div><dt>${reason}</dt><dd><b>${formatCount(count)}</b></dd></div>`,
  )}</dl>
${letterList(letters, facts)}${more > 0 ? markup`<p class="note">${formatCount(more)} more: cosmig dead-letters list</p>` : null}`;
}

/** Lists letters, with the time of the last attempt, or when they were discarded. */
export function letterList(letters: readonly Letter[], facts: MigrationFacts): Markup {
  return markup`<ul class="list">${letters.map(
    ({ number, state, id, reason, why, atMs }) =>
      markup`<li><span class="muted">No. ${number}, ${state === 'open' ? 'last tried' : state} ${whenText(facts, atMs)}</span> <bdi class="key">${id}</bdi> <b>${reason}</b>: ${why}</li>`,
  )}</ul>`;
}
