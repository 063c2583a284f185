/** The dead letters that the operator has discarded: documents that the change ticket has to name. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import { letterList } from '../watch/moved.ts';
import type { ReportFacts } from './report-facts.ts';

export function discardedLetters(facts: ReportFacts): Markup {
  const { status, discarded } = facts;
  const all = status.deadLetters.discarded;
  if (all === 0) return NOTHING;
  const more = all - discarded.length;
  return markup`<h3>Discarded</h3>
<p>${pluralize(all, 'document')} ${all === 1 ? 'was' : 'were'} not in the target when the operator discarded the dead letter.</p>
${letterList(discarded, facts)}${more > 0 ? markup`<p class="note">${formatCount(more)} more: cosmig dead-letters list --all</p>` : null}`;
}
