/** The physical partitions of both sides as tiles: what each has to do, and how busy it is. */
import { positionOf } from '../../epk/bounds.ts';
import { formatCount, pluralize } from '../../lib/counting.ts';
import type { RangeReport, SideReport } from '../../state/runs.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { tiles, type Tile } from '../svg/tiles.ts';
import { isReporting, type MigrationFacts } from './facts.ts';

/** What each range has used per second since the last look; a range that was not there then has no rate. */
export type RangeRates = Readonly<Record<'source' | 'target', ReadonlyMap<string, number>>>;

/** The ranges that have come from a split or a merge a moment ago. */
export type FreshSides = Readonly<Record<'source' | 'target', ReadonlySet<string>>>;

export const NONE_FRESH: FreshSides = { source: new Set(), target: new Set() };
/** The RU/s that one physical partition can have. */
const PARTITION_RU = 10_000;

/** The words for the phases of a range of the source: while a run reads it, and while none does. */
const PHASES: Readonly<Record<string, readonly [running: string, idle: string]>> = {
  copy: ['copying', 'not all copied'],
  recopy: ['reading again', 'to be read again'],
  tail: ['replicating', 'copied'],
};
/** On the way back nothing is copied: the first run finds where each document is. */
const PHASES_BACK: typeof PHASES = {
  ...PHASES,
  copy: ['finding documents', 'not all found'],
  tail: ['replicating', 'all found'],
};

export function ranges(facts: MigrationFacts, rates: RangeRates, fresh: FreshSides): Markup {
  const { source, target } = tilesOf(facts, rates, fresh);
  return markup`<h2>Physical partitions</h2>
${side('source', facts.status.source, source)}
${side('target', facts.status.target, target)}
<p class="note">The width of a tile is its share of the hash space; the stronger its colour, the nearer it is to the RU/s that it may use. Source: the documents read from it. Target: the documents in it at the last comparison. A line below: just throttled. A line above: just split or merged.</p>`;
}

/** The same in words, for those who cannot point at a tile: with a keyboard, or on a phone. */
export function rangeList(facts: MigrationFacts, rates: RangeRates, fresh: FreshSides): Markup {
  const { source, target } = tilesOf(facts, rates, fresh);
  const list = (name: string, tiles: readonly Tile[]): Markup =>
    markup`<div><h3>${name}</h3><ul class="list">${tiles.map(({ title }) => markup`<li>${title}</li>`)}</ul></div>`;
  return markup`<div class="columns">${[list('Source', source), list('Target', target)]}</div>`;
}

function tilesOf(
  facts: MigrationFacts,
  rates: RangeRates,
  fresh: FreshSides,
): Readonly<Record<'source' | 'target', readonly Tile[]>> {
  // While a run works, no rate means that the page has not seen two of its reports yet.
  const rateIn = (side: 'source' | 'target'): RateOf =>
    isReporting(facts) ? (id) => rates[side].get(id) ?? null : () => 0;
  return {
    source: sourceTiles(facts, rateIn('source')).map((tile) => marked(tile, fresh.source)),
    target: targetTiles(facts, rateIn('target')).map((tile) => marked(tile, fresh.target)),
  };
}

/** Returns the RU/s of a range; null: not measured yet. */
type RateOf = (id: string) => number | null;

type RangeTile = Omit<Tile, 'isFresh'> & { readonly id: string };

function marked({ id, title, ...tile }: RangeTile, fresh: ReadonlySet<string>): Tile {
  const isFresh = fresh.has(id);
  return { ...tile, isFresh, title: isFresh ? `${title}, new from a split or a merge` : title };
}

function side(name: 'source' | 'target', container: string, list: readonly Tile[]): Markup {
  const picture =
    list.length === 0
      ? markup`<p class="tiles unknown">not known yet</p>`
      : tiles(
          { id: `ranges-${name}`, title: `Partitions of the ${name}`, description: describe(list) },
          list,
        );
  return markup`<div class="strip"><h3>${name === 'source' ? 'Source' : 'Target'} <bdi class="muted">${container}</bdi> <span class="muted">${list.length === 0 ? '' : pluralize(list.length, 'partition')}</span></h3>${picture}</div>`;
}

function describe(list: readonly Tile[]): string {
  return list.map(({ title }) => title).join('. ');
}

function sourceTiles(facts: MigrationFacts, rateOf: RateOf): RangeTile[] {
  const { status, report } = facts;
  const uses = new Map((report?.source.ranges ?? []).map((use) => [use.id, use]));
  const limit = limitOf(report?.source ?? null);
  const isFollowed = isReporting(facts) && status.phase !== 'committed';
  const phases = facts.leadsBack ? PHASES_BACK : PHASES;
  return status.ranges.map(({ id, min, max, phase, documents }) => {
    const rate = rateOf(id);
    const words = phases[phase]?.[isFollowed ? 0 : 1] ?? phase;
    const pace = rateText(rate);
    const isShown = rate !== null && rate > 0;
    return {
      id,
      from: shareOf(min),
      to: shareOf(max),
      lines: [
        {
          whole: `${formatCount(documents)} read`,
          short: formatCount(documents),
          tiny: tinyCount(documents),
        },
        { whole: isShown ? `${words}, ${pace}` : words, short: isShown ? pace : '' },
      ],
      heat: (rate ?? 0) / limit,
      tone: phase === 'tail' ? 'k2' : 'k1',
      isMarked: uses.get(id)?.isResting ?? false,
      title: `Range ${id}: ${words}, ${formatCount(documents)} read, ${pace}`,
    };
  });
}

function targetTiles(facts: MigrationFacts, rateOf: RateOf): RangeTile[] {
  const { report, counted } = facts;
  const target = report?.target ?? null;
  const limit = limitOf(target);
  return (target?.ranges ?? []).map(({ id, min, max, ru, throttled, isResting }: RangeReport) => {
    const rate = rateOf(id);
    const pace = rateText(rate);
    const refused = throttled === 0 ? '' : `, ${formatCount(throttled)} answered with 429`;
    const documents = counted.find((one) => one.min === min && one.max === max)?.documents;
    const size = documents === undefined ? 'not counted yet' : pluralize(documents, 'document');
    return {
      id,
      from: shareOf(min),
      to: shareOf(max),
      lines: [
        documents === undefined
          ? { whole: size, short: '' }
          : { whole: size, short: formatCount(documents), tiny: tinyCount(documents) },
        { whole: rate === 0 ? 'idle' : pace, short: rate === null || rate === 0 ? '' : pace },
      ],
      heat: (rate ?? 0) / limit,
      tone: 'k3',
      isMarked: isResting,
      title: `Range ${id}: ${size}, ${pace}, ${formatCount(Math.round(ru))} RU in this run${refused}`,
    };
  });
}

/** Returns a count in four characters at most: `487`, `1.2k`, `56k`, `3.4M`. */
function tinyCount(count: number): string {
  if (count < 1000) return String(count);
  const [unit, letter] = count < 999_500 ? [1000, 'k'] : [1_000_000, 'M'];
  const amount = count / unit;
  return `${amount < 9.95 ? Math.round(amount * 10) / 10 : Math.round(amount)}${letter}`;
}

function rateText(rate: number | null): string {
  return rate === null ? 'RU/s not known' : `${formatCount(Math.round(rate))} RU/s`;
}

/** The RU/s that one range may use: its share of the container's. */
function limitOf(report: SideReport | null): number {
  if (report?.containerRu == null) return PARTITION_RU;
  return Math.max(1, report.containerRu / Math.max(1, report.ranges.length));
}

/** Returns where a bound lies in the hash space. Bounds of version 1 of the hash are shorter than those of version 2. */
export function shareOf(bound: string): number {
  return positionOf(bound.length < 32 ? 'hash-v1' : 'hash-v2', bound);
}
