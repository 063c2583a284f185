/**
 * The last cutover from its gate to its end, from the journal: what happened when, how long each step took, and when the
 * writers were stopped. Invariant: it is the same whatever has run since.
 */
import type { JournalEntry } from '../../state/journal.ts';
import { formatDuration } from '../format.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import { strip, type StripPart } from '../svg/strip.ts';
import { eventText } from '../watch/words.ts';
import type { ReportFacts } from './report-facts.ts';

export function cutoverTimeline(facts: ReportFacts): Markup {
  const { cutover, leadsBack } = facts;
  const [first] = cutover;
  if (first === undefined) return NOTHING;
  const day = new Date(first.atMs).toISOString().slice(0, 10);
  return markup`<h2>The last ${leadsBack ? 'rollback' : 'cutover'}, step by step <span class="muted">${day}, UTC</span></h2>${pictured(cutover)}<ol class="timeline">${cutover.map(
    (entry, index) => {
      const before = cutover[index - 1];
      const tookMs = before === undefined ? null : Math.max(0, entry.atMs - before.atMs);
      return markup`<li><time datetime="${new Date(entry.atMs).toISOString()}">${timeText(entry.atMs)}</time> <span>${eventText(entry, facts)}</span> <b>${tookMs === null ? '' : `+${formatDuration(tookMs)}`}</b></li>`;
    },
  )}</ol>`;
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 21);
}

/** What happens after an event and until the next one. */
const STEPS: Readonly<Record<string, readonly [name: string, tone: string]>> = {
  ready: ['the gate is passed', 'k0'],
  fencing: ['stopping the writers, replicating their last writes, comparing', 'k1'],
  drained: ['looking at both sides a last time', 'k3'],
  proven: ['committing', 'k2'],
};

/** The strip from the gate to the commit or the back-out. What follows may take much longer, and stops no writer. */
function pictured(cutover: readonly JournalEntry[]): Markup {
  const phases = cutover.filter((entry) => entry.event === 'phase');
  const parts = phases.slice(0, -1).map((entry, index): StripPart => {
    const toMs = phases[index + 1]?.atMs ?? entry.atMs;
    const [name, tone] = STEPS[entry.phase] ?? [entry.phase, 'k0'];
    return { fromMs: entry.atMs, toMs, tone, title: `${name}: ${formatDuration(toMs - entry.atMs)}` };
  });
  if (parts.length === 0) return NOTHING;
  const band = stopOf(cutover, parts.at(-1)?.toMs ?? 0);
  const description = [...parts, ...(band === null ? [] : [band])].map(({ title }) => title).join('. ');
  return markup`<figure>${strip(
    { id: 'cutover-strip', title: 'The steps of the cutover over time', description: `${description}.` },
    { parts, band },
  )}<figcaption class="keys">${parts.map(({ title, tone }) => markup`<span class="key ${tone}">${title}</span> `)}${band === null ? null : markup`<span class="caution">${band.title}</span>`}</figcaption></figure>`;
}

/** When the writers were stopped, as far as it is in the strip. */
function stopOf(cutover: readonly JournalEntry[], endMs: number): StripPart | null {
  const tone = '';
  const commit = cutover.findLast((entry) => entry.event === 'phase' && entry.phase === 'committed');
  if (commit?.event === 'phase' && commit.phase === 'committed') {
    const { atMs: toMs, stoppedMs } = commit;
    return {
      fromMs: toMs - stoppedMs,
      toMs,
      tone,
      title: `writers stopped: ${formatDuration(stoppedMs)}`,
    };
  }
  const fence = cutover.find((entry) => entry.event === 'phase' && entry.phase === 'fencing');
  if (fence === undefined) return null;
  const resumed = cutover.find((entry) => entry.event === 'writers resumed');
  const toMs = Math.max(fence.atMs, Math.min(endMs, resumed?.atMs ?? endMs));
  const title =
    resumed === undefined
      ? 'writers stopped: the ledger does not record when they resumed'
      : `writers stopped: ${formatDuration(resumed.atMs - fence.atMs)}`;
  return { fromMs: fence.atMs, toMs, tone, title };
}
