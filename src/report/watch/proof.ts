/** The proof: the comparison that runs now, and when both sides were last found equal. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import { formatAge, formatPercent } from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import { basisText } from '../cutover.ts';
import { whyVoid } from '../status/last-comparison.ts';
import { finalProof } from '../status/way-back.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { meter } from '../svg/meter.ts';
import { whenText, type MigrationFacts } from './facts.ts';
import { requestsText, timesThrottled } from './work.ts';

export function proof(facts: MigrationFacts): Markup {
  const { status, comparing } = facts;
  const commit = finalProof(status);
  if (commit !== null)
    return markup`<h2>Proof</h2><p class="verdict good">Both sides were equal when the ${commit.command} committed <span class="muted">${formatTime(Date.parse(commit.at))}</span></p>${commit.proof === null ? null : markup`<p class="note">With the writers stopped, ${basisText(commit.proof)}.</p>`}`;
  // The comparison of a cutover holds its file until the cutover ends.
  const isDecided = status.phase === 'proven' || status.phase === 'committed';
  const why = whyVoid(status);
  const last =
    why !== null
      ? markup`<p class="verdict caution">There is no proof: ${why}.</p><p class="note">While cosmig tail does not run, cosmig verify --repair fixes the differences and compares again.</p>`
      : status.proof === null
        ? markup`<p class="empty">No comparison has found both sides equal yet.</p>`
        : markup`<p class="verdict good">Both sides were equal ${whenText(facts, Date.parse(status.proof.at))}${facts.isSaved === true ? null : markup` <span class="muted">${formatTime(Date.parse(status.proof.at))}</span>`}</p>`;
  const isDue = status.ranges.some(({ sweepPending }) => sweepPending) && !isDecided;
  const due = isDue
    ? markup`<p class="caution">Deletes may have been missed. A full cosmig verify finds them; without it a cutover compares every document while writers are stopped.</p>`
    : null;
  return markup`<h2>Proof</h2>${last}${due}${comparing === null || isDecided ? null : comparison(facts)}`;
}

function comparison({ comparing }: MigrationFacts): Markup | null {
  if (comparing === null) return null;
  const { stage, source, target, open, oldestOpenMs, waitsFor, expected, ru, throttled, requests } =
    comparing;
  const openFor = oldestOpenMs === null ? '' : `, oldest ${formatAge(oldestOpenMs)}`;
  // What a comparison of changes has read is a part of all documents when it is done.
  const end = stage === 'rechecking' ? null : expected;
  const side = (name: string, documents: number): Markup => {
    const of = end === null ? '' : `, ${formatPercent(documents, end)} of about ${formatCount(end)}`;
    return markup`<div><dt>${name}</dt><dd><b>${formatCount(documents)}</b> <span class="muted">read${of}</span>${end === null ? null : meter(documents, { end, tone: 'k2' })}</dd></div>`;
  };
  const looked =
    stage === 'rechecking'
      ? `looking again at ${pluralize(open, 'document')}${openFor}`
      : 'reading both sides';
  return markup`<h3>A comparison is ${looked}</h3><dl class="rows">${side('Source', source)}${side('Target', target)}</dl>
<p class="note">${waitsFor === null ? '' : `It waits: ${waitsFor}. `}${formatCount(Math.round(ru))} RU so far${throttled === 0 ? '' : `, ${timesThrottled(throttled)}`}, ${requestsText(requests)}.</p>`;
}
