/** What has happened since the migration began, as curves: documents, RU/s and lag over time. */
import { formatCount } from '../../lib/counting.ts';
import type { HistoryEntry } from '../../state/reading/history.ts';
import { formatAge } from '../format.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { timeline, type TimedAmount } from '../svg/timeline.ts';
import type { MigrationFacts } from './facts.ts';

const WIDTH = 380;
/** Points of a curve: more than this cannot be seen. */
const POINTS = 120;
/** Pages are committed in steps, so a rate over a shorter time would jump. */
const STEP_LEAST_MS = 4000;
/** Moments of a run are closer together than this many times the usual distance. Else nothing ran between them. */
const GAP_STEPS = 6;

export function history({ history: entries, status, atMs, leadsBack, isAgain }: MigrationFacts): Markup {
  const since = leadsBack ? 'the way back began' : isAgain ? 'the migration was resumed' : 'the beginning';
  const fromMs = Math.min(Date.parse(status.began), entries[0]?.atMs ?? atMs);
  // The frames are drawn before there is anything in them, so that the page does not jump when there is.
  const span = { fromMs, toMs: Math.max(entries.at(-1)?.atMs ?? 0, atMs, fromMs + 1000) };
  const moments = withPauses(spread(entries, span));
  const common = { span, width: WIDTH, timeText: timeTexts(span) };
  const rate = (of: (entry: HistoryEntry) => number): TimedAmount[] => ratesOf(moments, of);
  const chart = (picture: Markup, caption: Markup): Markup =>
    markup`<figure>${picture}<figcaption>${caption}</figcaption></figure>`;
  const documents = rate(({ read }) => read);
  const [sourceRu, targetRu] = [rate((entry) => entry.sourceRu), rate((entry) => entry.targetRu)];
  const lag = moments.map(({ entry: { atMs: thenMs, lagSeconds }, isAfterPause }) => ({
    atMs: thenMs,
    amount: isAfterPause ? null : lagSeconds,
  }));
  return markup`<h2>Since ${since} <span class="muted">${entries.length === 0 ? '' : `${formatAge(span.toMs - span.fromMs)}; `}times in UTC</span></h2><div class="charts">${[
    chart(
      timeline(
        {
          id: 'history-documents',
          title: 'Documents and changes read per second',
          description: describe(documents, 'documents a second'),
        },
        { ...common, series: [{ name: 'read', tone: 'k1', points: documents }], format: short },
      ),
      markup`Documents and changes read per second`,
    ),
    chart(
      timeline(
        {
          id: 'history-ru',
          title: 'RU per second',
          description: `Source: ${describe(sourceRu, 'RU/s')} Target: ${describe(targetRu, 'RU/s')}`,
        },
        {
          ...common,
          series: [
            { name: 'source', tone: 'k1', points: sourceRu },
            { name: 'target', tone: 'k3', points: targetRu },
          ],
          format: short,
        },
      ),
      markup`RU per second: <span class="key k1">source</span> and <span class="key k3">target</span>`,
    ),
    chart(
      timeline(
        { id: 'history-lag', title: 'Lag in seconds', description: describe(lag, 'seconds') },
        { ...common, series: [{ name: 'lag', tone: 'k4', points: lag }], format: short },
      ),
      markup`Lag in seconds`,
    ),
  ]}</div>`;
}

/** Chooses at most POINTS entries, evenly over time. */
function spread(
  entries: readonly HistoryEntry[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): HistoryEntry[] {
  const stepMs = Math.max(STEP_LEAST_MS, (toMs - fromMs) / POINTS);
  const chosen: HistoryEntry[] = [];
  for (const entry of entries) {
    const before = chosen.at(-1);
    if (before === undefined || entry.atMs - before.atMs >= stepMs) chosen.push(entry);
  }
  return chosen;
}

/** Returns how fast a total grew up to each moment; null after a pause. */
function ratesOf(moments: readonly Moment[], of: (entry: HistoryEntry) => number): TimedAmount[] {
  return moments.slice(1).map(({ entry, isAfterPause }, index) => {
    const before = moments[index]?.entry ?? entry;
    if (isAfterPause) return { atMs: entry.atMs, amount: null };
    return {
      atMs: entry.atMs,
      amount: Math.max(0, ((of(entry) - of(before)) * 1000) / (entry.atMs - before.atMs)),
    };
  });
}

interface Moment {
  readonly entry: HistoryEntry;
  /** Whether nothing ran before it. */
  readonly isAfterPause: boolean;
}

/** Finds the pauses: nothing was recorded for many times the usual distance of two moments. */
function withPauses(entries: readonly HistoryEntry[]): Moment[] {
  const gaps = entries.map(({ atMs }, index) => atMs - (entries[index - 1]?.atMs ?? atMs));
  const usualMs = gaps.slice(1).toSorted((one, other) => one - other)[Math.floor((gaps.length - 1) / 2)] ?? 0;
  return entries.map((entry, index) => ({ entry, isAfterPause: (gaps[index] ?? 0) > usualMs * GAP_STEPS }));
}

function describe(points: readonly TimedAmount[], unit: string): string {
  const known = points.map(({ amount }) => amount).filter((amount) => amount !== null);
  if (known.length === 0) return 'Not known.';
  return `Up to ${formatCount(Math.round(Math.max(...known)))} ${unit}, now ${formatCount(Math.round(known.at(-1) ?? 0))}.`;
}

/** Returns an amount as a short label of an axis: `1.5 k`. */
function short(amount: number): string {
  if (amount >= 1_000_000) return `${amount / 1_000_000} M`;
  if (amount >= 1000) return `${amount / 1000} k`;
  return String(amount);
}

/** Returns how times are written on the axis: with the day where the history is longer than one. */
function timeTexts({
  fromMs,
  toMs,
}: {
  readonly fromMs: number;
  readonly toMs: number;
}): (atMs: number) => string {
  const isLong = toMs - fromMs > 86_400_000;
  const isShort = toMs - fromMs < 600_000;
  return (atMs) => {
    const iso = new Date(atMs).toISOString();
    if (isLong) return iso.slice(5, 10);
    return isShort ? iso.slice(11, 19) : iso.slice(11, 16);
  };
}
