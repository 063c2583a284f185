/**
 * `--level count`: compares the numbers of documents of both sides. Documents with dead letters may be missing in the
 * target. This level is cheap, and says nothing about content. Invariant: counts that do not match are a difference
 * only if two looks in a row found the same counts, and the mover had replicated everything before each look.
 */
import { Countdown } from '../../lib/clock.ts';
import { parsePath } from '../../keys/path.ts';
import { fingerprint } from '../../spec/fingerprint.ts';
import { migrationName } from '../../spec/migration-name.ts';
import type { SideName } from '../../cosmos/side.ts';
import type { MigrationSpec } from '../../spec/migration-spec.ts';
import {
  countLetters,
  countSide,
  isBalanced,
  mayLack,
  type LetterCount,
  type SideCount,
} from './count-ranges.ts';
import { loadOf, seeTokens } from '../sides.ts';
import { describeBehind, TailProbe } from '../recheck/tail-probe.ts';
import { NO_DIFFERENCES, type DocumentCounts, type Verdict } from '../verdict.ts';
import type { Comparison } from '../verify.ts';

interface Look {
  readonly source: SideCount;
  readonly target: SideCount;
  readonly letters: LetterCount;
  /** How many documents may be missing in the target because of dead letters. */
  readonly most: number;
  /** Whether the mover had replicated every change before the sides were counted. */
  readonly isAll: boolean;
}

export async function compareCounts(comparison: Comparison): Promise<Verdict> {
  const { sides, ledger, clock, signal, deadlineMs, timing } = comparison;
  const keyPaths = sides.source.facts.keyPaths.map((path) => parsePath(path));
  const probe = new TailProbe(sides.source, keyPaths);
  const time = new Countdown(clock, deadlineMs);
  let before: Look | undefined;
  for (;;) {
    const moment = ledger.moment();
    seeTokens(sides, moment);
    const reach = await probe.look(moment, signal);
    const { letters, most } = ledger.look((now) => ({ letters: countLetters(now), most: mayLack(now) }));
    const target = await countSide(sides.target, { where: undefined, signal });
    const source = await countSide(sides.source, { where: notMarked(comparison.spec), signal });
    reportCounts(comparison, { source: source.count, target: target.count });
    const look: Look = { source, target, letters, most, isAll: reach.isAll };
    if (isBalanced({ source: source.count, target: target.count }, { absent: letters.absent, most }))
      return verdictOf(comparison, look, { equal: true, waitsFor: null });
    if (before !== undefined && isUnchanged(before, look))
      return verdictOf(comparison, look, { equal: false, waitsFor: null });
    if (time.isOver()) {
      const waitsFor = look.isAll ? 'documents keep changing' : describeBehind(reach);
      return verdictOf(comparison, look, { equal: null, waitsFor });
    }
    before = look;
    await clock.sleep(timing.gapMs, signal);
  }
}

export type CountedSides = Readonly<Record<SideName, SideCount>>;

/** Counts both sides once. The counts include the newest write and delete that any replica knows. */
export async function countBoth(comparison: Comparison): Promise<CountedSides> {
  const { sides, ledger, signal, spec } = comparison;
  seeTokens(sides, ledger.moment());
  const target = await countSide(sides.target, { where: undefined, isNewest: true, signal });
  const source = await countSide(sides.source, { where: notMarked(spec), isNewest: true, signal });
  reportCounts(comparison, { source: source.count, target: target.count });
  return { source, target };
}

function reportCounts({ onProgress, sides }: Comparison, counts: DocumentCounts): void {
  const expected = sides.source.facts.documentCount;
  onProgress?.({
    stage: 'counting',
    ...counts,
    open: 0,
    oldestOpenMs: null,
    waitsFor: null,
    expected,
    ...loadOf(sides),
  });
}

/**
 * Returns whether the counts stayed the same between two looks, and the mover had replicated everything before both
 * looks. If so, waiting longer would not change the difference.
 */
function isUnchanged(before: Look, now: Look): boolean {
  return (
    before.isAll &&
    now.isAll &&
    before.source.count === now.source.count &&
    before.target.count === now.target.count
  );
}

/**
 * Returns the query condition that leaves out documents marked as deleted, because these have no copy in the target.
 * Undefined: deletes are not found by a marker.
 */
function notMarked({ deletes }: MigrationSpec): string | undefined {
  if (deletes.kind !== 'marker') return undefined;
  const property = `c${parsePath(deletes.path)
    .map((step) => `[${JSON.stringify(step)}]`)
    .join('')}`;
  const values = ['null', 'false', '0', '""'].map((value) => `${property} = ${value}`);
  return [`NOT IS_DEFINED(${property})`, ...values].join(' OR ');
}

function verdictOf(
  { spec, sides, settings, settingsNotSeen, clock, beganAtMs, beganMs }: Comparison,
  { source, target, letters, most }: Look,
  { equal, waitsFor }: Pick<Verdict, 'equal' | 'waitsFor'>,
): Verdict {
  const lacking = source.count - target.count;
  const endedAtMs = clock.now();
  // Documents that are missing because of dead letters are not differences.
  const found = { missing: Math.max(0, lacking - most), extra: Math.max(0, letters.absent - lacking) };
  return {
    migration: migrationName(spec),
    level: 'count',
    equal,
    source: { count: source.count },
    target: { count: target.count },
    differences: equal === false ? { ...NO_DIFFERENCES, ...found } : NO_DIFFERENCES,
    inFlight: equal === null ? found.missing + found.extra : 0,
    samples: [],
    letters,
    settings,
    settingsNotSeen,
    ru: { source: sides.source.governor.budget.spentRu, target: sides.target.governor.budget.spentRu },
    durationMs: clock.monotonicMs() - beganMs,
    complete: true,
    waitsFor,
    details: {
      beganAtMs,
      endedAtMs,
      fingerprint: fingerprint(spec),
      ranges: { source: source.ranges, target: target.ranges },
    },
  };
}
