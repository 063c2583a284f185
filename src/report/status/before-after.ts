/**
 * Before and after: how documents and RU are spread over the physical partitions of the source and of the target. Only
 * what was counted or charged is shown; where there is nothing, the page says why.
 */
import { formatCount, formatShare, pluralize } from '../../lib/counting.ts';
import type { SideName } from '../../cosmos/side.ts';
import type { PartitionCount } from '../../verify/spread.ts';
import { formatTime } from '../../lib/clock.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { spreadBars, type SpreadBar } from '../svg/spread-bars.ts';
import { shareOf } from '../watch/ranges.ts';
import type { ReportFacts } from './report-facts.ts';
import { ruSpreadOf } from './ru-spread.ts';

export function beforeAfter(facts: ReportFacts): Markup {
  return markup`<h2>Before and after</h2><div class="columns"><div>${documents(facts)}</div><div>${ru(facts)}</div></div>
<p class="note">Each bar is a physical partition: as wide as its share of the hash space, as tall as its share of the amount. The dotted line is an even share. Throughput is divided evenly over partitions, so the tallest bar decides how much of it is of use.</p>`;
}

/** An amount on one side. */
interface Amounts {
  readonly total: number;
  readonly bars: readonly SpreadBar[];
  /** How many partitions the tallest bar stands for; more than one if they were counted together. */
  readonly fullestOf: number;
}

type Both = Readonly<Record<SideName, Amounts>>;

function documents({ spread, status }: ReportFacts): Markup {
  const heading = markup`<h3>Documents</h3>`;
  if (spread === null)
    return markup`${heading}<p class="empty">Not known: the documents of each partition are counted by cosmig verify, or by the comparison of a cutover, and none has read both sides to their ends with these settings.</p>`;
  const both = { source: counted(spread.counts.source), target: counted(spread.counts.target) };
  return markup`${heading}${pictures(both, { id: 'documents', what: 'documents', fullest: 'fullest' })}
<p class="note">Counted by the comparison of ${formatTime(spread.atMs)}.${together(spread.counts)}${whyUnlike(both, status)}</p>`;
}

/** Why one side has more documents than the other, although a comparison may have found them equal. */
function whyUnlike(
  { source, target }: Both,
  { deadLetters: { open, discarded } }: ReportFacts['status'],
): string {
  if (source.total === target.total) return '';
  const letters = open + discarded;
  const more = source.total - target.total;
  if (more > 0 && more === letters)
    return ` The target has ${pluralize(more, 'document')} fewer: ${more === 1 ? 'that of the dead letter' : 'those of the dead letters'} that ${more === 1 ? 'is' : 'are'} listed below.`;
  const left = letters === 0 ? '' : 'documents of dead letters are not in the target, and ';
  return ` The sides were not counted at the same moment: ${left}documents that were written meanwhile may be counted on one side only.`;
}

function counted(partitions: readonly PartitionCount[]): Amounts {
  const total = partitions.reduce((sum, one) => sum + one.documents, 0);
  const fullest = partitions.toSorted((one, other) => other.documents - one.documents)[0];
  return {
    total,
    fullestOf: fullest?.ids.length ?? 0,
    bars: partitions.map(({ ids, min, max, documents: amount }) => ({
      ...extentOf(min, max),
      share: total === 0 ? 0 : amount / total,
      title: `${ids.length === 1 ? 'Partition' : 'Partitions'} ${ids.join(', ')}: ${pluralize(amount, 'document')}`,
    })),
  };
}

function together(counts: Readonly<Record<SideName, readonly PartitionCount[]>>): string {
  const isTogether = [...counts.source, ...counts.target].some(({ ids }) => ids.length > 1);
  return isTogether ? ' Partitions that were split while they were read are counted together.' : '';
}

function ru({ reports, status }: ReportFacts): Markup {
  const heading = markup`<h3>RU of this migration</h3>`;
  const spreads = { source: ruSpreadOf(reports, 'source'), target: ruSpreadOf(reports, 'target') };
  if (spreads.source === null || spreads.target === null)
    return markup`${heading}<p class="empty">Not known: no run has reported what it used of each partition.</p>`;
  const both = { source: charged(spreads.source.ranges), target: charged(spreads.target.ranges) };
  const parts = (['source', 'target'] as const).map((side) => {
    const all = status.ru[side];
    const share = all === 0 ? 1 : Math.min(1, (spreads[side]?.ru ?? 0) / all);
    return share > 0.995
      ? ''
      : ` It is ${formatShare(share)} of all the RU of the ${side}: the rest was used before a split or a merge, or was not reported.`;
  });
  return markup`${heading}${pictures(both, { id: 'ru', what: 'RU', fullest: 'busiest' })}
<p class="note">What this migration used to read the source and to write the target.${parts} The RU of the application are not in the ledger; Azure Monitor has them by partition.</p>`;
}

function charged(
  ranges: ReadonlyArray<{
    readonly id: string;
    readonly min: string;
    readonly max: string;
    readonly ru: number;
  }>,
): Amounts {
  const total = ranges.reduce((sum, one) => sum + one.ru, 0);
  return {
    total,
    fullestOf: 1,
    bars: ranges.map(({ id, min, max, ru: amount }) => ({
      ...extentOf(min, max),
      share: total === 0 ? 0 : amount / total,
      title: `Partition ${id}: ${formatCount(Math.round(amount))} RU`,
    })),
  };
}

function extentOf(min: string, max: string): Pick<SpreadBar, 'from' | 'to'> {
  return { from: shareOf(min), to: shareOf(max) };
}

/** More partitions are not described one by one. */
const DESCRIBED_MAX = 20;

interface Words {
  readonly id: string;
  readonly what: string;
  readonly fullest: 'fullest' | 'busiest';
}

/** A sentence, and a picture of each side with the same scale. */
function pictures({ source, target }: Both, words: Words): Markup {
  const end = Math.max(0, ...[source, target].flatMap(({ bars }) => bars.map(({ share }) => share)));
  const { id, what } = words;
  const picture = (side: SideName, { bars, total }: Amounts): Markup => {
    const tallest = bars.toSorted((one, other) => other.share - one.share).slice(0, DESCRIBED_MAX);
    const description = `${tallest.map((bar) => `${bar.title}, ${formatShare(bar.share)}`).join('. ')}.`;
    const name = side === 'source' ? 'Before: the source' : 'After: the target';
    return markup`<figure><figcaption><b>${name}</b>, ${pluralize(bars.length, 'partition')}, ${formatCount(Math.round(total))} ${what}</figcaption>${spreadBars(
      { id: `spread-${id}-${side}`, title: `${name}, ${what}`, description },
      { bars, end, tone: side === 'source' ? 'k1' : 'k3' },
    )}</figure>`;
  };
  return markup`<p class="verdict">${sentence({ source, target }, words)}</p>${picture('source', source)}${picture('target', target)}`;
}

function sentence({ source, target }: Both, { what, fullest }: Words): string {
  if (source.total === 0 && target.total === 0) return `There are no ${what}.`;
  const shareIn = ({ bars, total, fullestOf }: Amounts): string => {
    const most = formatShare(Math.max(0, ...bars.map(({ share }) => share)));
    if (total === 0) return 'none';
    return fullestOf > 1
      ? `${most}, together with ${pluralize(fullestOf - 1, 'other')} that was split off`
      : most;
  };
  // Fewer partitions have larger shares, so a share alone does not show which side is more even.
  const even = ({ bars }: Amounts): string => `(even: ${formatShare(1 / Math.max(1, bars.length))})`;
  return `The ${fullest} partition has ${shareIn(source)} of the ${what} before ${even(source)}, ${shareIn(target)} after ${even(target)}.`;
}
