/** The cutover: what its gate requires, its steps with their seconds, and for how long the writers have been stopped. */
import { formatCount } from '../../lib/counting.ts';
import { LAG_MAX_MS } from '../../spec/timing.ts';
import type { StepReport } from '../../state/runs.ts';
import { formatDuration } from '../format.ts';
import { whyVoid } from '../status/last-comparison.ts';
import { hasEnded } from '../status/way-back.ts';
import { markup, NOTHING, type Markup } from '../svg/markup.ts';
import { isReporting, type MigrationFacts } from './facts.ts';
import { stepText } from './words.ts';

export function cutover(facts: MigrationFacts): Markup {
  // Nothing is replicated any longer, so there is no gate to pass.
  if (hasEnded(facts.status)) return NOTHING;
  return markup`<h2>${facts.leadsBack ? 'Rollback' : 'Cutover'}</h2>${stopped(facts)}<div class="columns"><div><h3>What the gate requires</h3><ul class="ticks">${gate(
    facts,
  ).map(
    ({ name, is, note }) =>
      markup`<li class="${is}"><span aria-hidden="true">${MARKS[is]}</span> <span class="hidden">${WORDS[is]}: </span>${name} <span class="muted">${note}</span></li>`,
  )}</ul></div><div><h3>Steps</h3>${steps(facts)}</div></div>`;
}

function stopped({ status: { cutover: last }, atMs }: MigrationFacts): Markup | null {
  if (last === null) return null;
  if (last.state === 'committed')
    return last.stoppedMs === null
      ? markup`<p class="verdict good">Committed.</p>`
      : markup`<p class="verdict good">Committed; the writers were stopped for ${formatDuration(last.stoppedMs)}.</p>`;
  if (last.stoppedSince !== null) {
    const since = formatDuration(Math.max(0, atMs - Date.parse(last.stoppedSince)));
    const may = last.state === 'in progress' ? 'have been stopped for' : 'may still be stopped, for';
    return markup`<p class="verdict ${last.state === 'in progress' ? 'caution' : 'alarm'}">The writers ${may} <span class="big">${since}</span></p>`;
  }
  return last.state === 'backed out'
    ? markup`<p class="verdict">The last cutover backed out: ${last.why ?? 'the reason is not known'}.</p>`
    : null;
}

function nameOf({ leadsBack }: MigrationFacts): string {
  return leadsBack ? 'rollback' : 'cutover';
}

interface Condition {
  readonly name: string;
  /** `open`: not met yet, or not known, which is nothing to worry about. */
  readonly is: 'met' | 'unmet' | 'open';
  readonly note: string;
}

const MARKS: Readonly<Record<Condition['is'], string>> = { met: '✓', unmet: '✗', open: '○' };
const WORDS: Readonly<Record<Condition['is'], string>> = { met: 'met', unmet: 'not met', open: 'not yet' };

function gate(facts: MigrationFacts): Condition[] {
  const { status, report } = facts;
  const { phase, proof, deadLetters } = status;
  const isCopied = phase !== 'new' && phase !== 'copying';
  const lag = isReporting(facts) ? (report?.lagSeconds ?? null) : null;
  const { open } = deadLetters;
  // A cutover that has come further than the gate has met all of it.
  const hasPassed = isCopied && phase !== 'tailing';
  return [
    {
      name: facts.leadsBack ? 'all documents are found' : 'the copy is complete',
      is: isCopied ? 'met' : 'open',
      note: isCopied ? '' : 'in progress',
    },
    {
      name: 'a comparison has found both sides equal',
      is: proof !== null || hasPassed ? 'met' : 'open',
      note:
        proof !== null || hasPassed
          ? ''
          : whyVoid(status) === null
            ? 'run cosmig verify'
            : 'run cosmig verify --repair',
    },
    {
      name: 'no dead letter is open',
      is: open === 0 ? 'met' : 'unmet',
      note: open === 0 ? '' : `${formatCount(open)} open`,
    },
    {
      name: 'the tail is close to the end of the source',
      is: hasPassed ? 'met' : lag === null ? 'open' : lag * 1000 <= LAG_MAX_MS ? 'met' : 'unmet',
      note: hasPassed || lag === null ? '' : `${lag} s behind`,
    },
    {
      name: 'the comparison is permitted and fits into the deadline',
      is: hasPassed ? 'met' : 'open',
      note: hasPassed ? '' : `the ${nameOf(facts)} checks it`,
    },
  ];
}

function steps(facts: MigrationFacts): Markup {
  const { report, atMs, status } = facts;
  const list = report?.steps ?? [];
  if (list.length === 0) return markup`<p class="empty">No ${nameOf(facts)} has begun.</p>`;
  const endMs = status.lastRun?.ended == null ? atMs : Date.parse(status.lastRun.ended);
  return markup`<ol class="steps">${list.map((step: StepReport, index) => {
    const next = list[index + 1];
    const isNow = next === undefined && isReporting(facts);
    return markup`<li class="${isNow ? 'now' : ''}"><span>${stepText(step.name)}</span> <b>${formatDuration(Math.max(0, (next?.atMs ?? endMs) - step.atMs))}</b></li>`;
  })}</ol>`;
}
