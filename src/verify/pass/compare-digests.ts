/**
 * The digest of both sides: one pass over each, buckets compared, what differs looked at again. What always holds: what
 * was begun is gone on with, unless it is of other containers, of another spec, or too old.
 */
import { parsePath } from '../../keys/path.ts';
import { group } from '../../lib/group.ts';
import { fingerprint } from '../../spec/fingerprint.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { markerOf, rekeyOptionsOf } from '../../spec/rekey-options.ts';
import { Buckets } from './buckets.ts';
import type { CandidateState } from '../recheck/candidate-store.ts';
import { countLetters, lackingByLetters } from '../counts/count-ranges.ts';
import { compareCounts } from '../counts/compare-counts.ts';
import { listAll, listCandidates } from '../recheck/find-candidates.ts';
import { listedIn, namedIn } from '../difference-lists.ts';
import { SidePass } from './read-side.ts';
import { Recheck } from '../recheck/recheck.ts';
import { DamagedRuns } from './entry-chunks.ts';
import { sinceOf, type Since } from '../incremental.ts';
import type { RowOptions } from './rows.ts';
import { loadOf } from '../sides.ts';
import { VerifyStore, verifyPath, type Begun, type Subject } from '../store.ts';
import { NO_DIFFERENCES, type Kind, type Verdict } from '../verdict.ts';
import type { Comparison, Progress } from '../verify.ts';

/**
 * Half a pass is worth its RU, also where every night has only some hours for it; differences that were listed an hour ago
 * say little about now.
 */
const AGE_MAX_MS = { reading: 7 * 24 * 3600 * 1000, listed: 3600 * 1000 } as const;
/** In the verdict; the report has all of them. */
const SAMPLES_MAX = 20;

export async function compareDigests(comparison: Comparison): Promise<Verdict> {
  const { spec, sides } = comparison;
  using store = VerifyStore.open(verifyPath(spec.ledger), comparison.lock);
  const subject = {
    fingerprint: fingerprint(spec),
    sourceRid: sides.source.facts.rid,
    targetRid: sides.target.facts.rid,
  };
  if (comparison.level === 'changes') {
    const since = sinceOf(store.proof(), subject);
    if (since !== null) {
      const verdict = await compare({ ...comparison, fresh: true }, { store, subject, since });
      const isCounted = verdict.equal !== true || (await isBalancedNow(comparison));
      if (isCounted) return keep(store, subject, { verdict, comparison });
      // More or fewer than there should be, and not among those that have changed: all are looked at.
    }
    const verdict = await compare({ ...comparison, fresh: true }, { store, subject, since: null });
    return keep(store, subject, { verdict, comparison });
  }
  const verdict = await compare(comparison, { store, subject, since: null });
  return keep(store, subject, { verdict, comparison });
}

/**
 * What is not proven is gone on with. Differences that were found among all documents make earlier proofs void: the next
 * cutover would look only at what has changed since.
 */
function keep(
  store: VerifyStore,
  { fingerprint: print }: Subject,
  {
    verdict,
    comparison: { clock, onVerdict },
  }: { readonly verdict: Verdict; readonly comparison: Comparison },
): Verdict {
  const { equal, details, source, target } = verdict;
  // Before anybody is told: a report of many differences takes its time.
  if (equal === false) {
    if (details.extent === 'changes') store.end();
    else store.disprove();
  }
  onVerdict?.(verdict, namedIn(store, clock.now()));
  if (equal !== true) return verdict;
  store.end({
    atMs: clock.now(),
    fingerprint: print,
    details: JSON.stringify({ ...details, source, target }),
  });
  return verdict;
}

/**
 * Whether there are as many documents on both sides as there should be: by one number, and not by one of a range, in which
 * one too many on one side would hide. Also where deletes are told of: nobody tells of those in the target.
 */
async function isBalancedNow(comparison: Comparison): Promise<boolean> {
  const { equal, source, target } = await compareCounts({ ...comparison, level: 'count' });
  if (equal !== true) return false;
  return source.count - target.count === comparison.ledger.look(lackingByLetters);
}

interface Comparing {
  readonly store: VerifyStore;
  readonly subject: Subject;
  /** Only what has changed since then. */
  readonly since: Since | null;
}

async function compare(comparison: Comparison, { store, subject, since }: Comparing): Promise<Verdict> {
  const { spec, sides, ledger, clock, signal, timing, deadlineMs } = comparison;
  const { source, target } = sides;
  // Another comparison may have been begun meanwhile, and ended before it had listed anything.
  if (comparison.again === true && store.begun()?.stage !== 'reading') store.reopen();
  const begun = takeUp(store, { ...subject, extent: since === null ? 'all' : 'changes' }, comparison);
  const rows: RowOptions = {
    rekey: rekeyOptionsOf(spec, source.facts, target.facts),
    marker: markerOf(spec.deletes),
  };
  const tell = teller(comparison);
  if (begun.stage === 'reading') {
    const isNewest = comparison.newest === true || comparison.level === 'changes';
    const common = { store, rows, clock, timing, isNewest, onPage: (): void => tell('reading') };
    const passes = {
      source: new SidePass({ ...common, side: source, ...(since === null ? {} : { from: since.source }) }),
      target: new SidePass({ ...common, side: target, ...(since === null ? {} : { from: since.target }) }),
    };
    tell.read = () => ({ source: passes.source.documents, target: passes.target.documents });
    await group(signal, async (members) => {
      members.start(async (inner) => passes.source.run(inner));
      members.start(async (inner) => passes.target.run(inner));
    });
    const sums = { source: passes.source.tally.buckets, target: passes.target.tally.buckets };
    const sourceLevels = source.facts.keyPaths.map((path) => parsePath(path)).length;
    const listing = { store, sums, sourceLevels, signal };
    try {
      const repeated = await (since === null ? listCandidates(listing) : listAll(listing));
      store.listed(repeated, clock.now());
    } catch (error) {
      // Nobody could ever go on with it.
      if (error instanceof DamagedRuns) store.begin({ ...begun, beganAtMs: clock.now() });
      throw error;
    }
  }
  const recheck = new Recheck({
    sides,
    store,
    rows,
    ledger,
    clock,
    gapMs: timing.gapMs,
    deadlineMs,
    onRound: (open, waitsFor) => tell('looking again', { open, waitsFor }),
  });
  const waitsFor = await recheck.run(signal);
  return verdictOf(comparison, { store, begun, waitsFor });
}

/** What was begun, or a new beginning. */
function takeUp(
  store: VerifyStore,
  subject: Subject & Pick<Begun, 'extent'>,
  { fresh, again, afterRepair: isAfterRepair = false, clock, say }: Comparison,
): Begun {
  const begun = store.begun();
  const nowMs = clock.now();
  const isSame =
    begun !== null &&
    begun.extent === subject.extent &&
    begun.fingerprint === subject.fingerprint &&
    begun.sourceRid === subject.sourceRid &&
    begun.targetRid === subject.targetRid;
  if (isSame && again === true && begun.stage !== 'reading') return begun;
  if (isSame && !fresh && again !== true && isYoung(begun, nowMs)) {
    const beganAt = new Date(begun.beganAtMs).toISOString().slice(0, 19);
    say?.(`going on with the comparison that was begun at ${beganAt}Z; --fresh begins anew`);
    return begun;
  }
  store.begin({ ...subject, isAfterRepair, beganAtMs: nowMs });
  return { ...subject, isAfterRepair, beganAtMs: nowMs, stage: 'reading', listedAtMs: null };
}

/** One that has its verdict never is; of one that was begun in the future nobody knows. */
function isYoung({ stage, beganAtMs, listedAtMs }: Begun, nowMs: number): boolean {
  return stage !== 'done' && Math.abs(nowMs - (listedAtMs ?? beganAtMs)) < AGE_MAX_MS[stage];
}

type Counts = Pick<Progress, 'source' | 'target'>;
type Looking = Pick<Progress, 'open' | 'waitsFor'>;

function teller({ onProgress, sides }: Comparison): {
  (stage: string, looking?: Looking): void;
  read: () => Counts;
} {
  const expected = sides.source.facts.documentCount;
  const tell = (stage: string, looking: Looking = { open: 0, waitsFor: null }): void =>
    onProgress?.({ stage, ...tell.read(), ...looking, expected, ...loadOf(sides) });
  tell.read = (): Counts => ({ source: 0, target: 0 });
  return tell;
}

interface Found {
  readonly store: VerifyStore;
  readonly begun: Begun;
  readonly waitsFor: string | null;
}

function verdictOf(comparison: Comparison, { store, begun, waitsFor }: Found): Verdict {
  const { spec, sides, ledger, clock, beganAtMs, settings, settingsNotSeen } = comparison;
  const counts = store.candidates.counts();
  const countOf = (state: CandidateState): number =>
    counts.filter((one) => one.state === state).reduce((sum, { documents }) => sum + documents, 0);
  const differences = { ...NO_DIFFERENCES } as Record<Kind, number>;
  for (const { state, kind, documents } of counts)
    if (state === 'confirmed' && kind !== null) differences[kind] += documents;
  const inFlight = countOf('open');
  const nowMs = clock.now();
  const kept = { source: store.sums('source'), target: store.sums('target') };
  const sums = { source: new Buckets(kept.source?.buckets), target: new Buckets(kept.target?.buckets) };
  const totals = { source: sums.source.total(), target: sums.target.total() };
  const listed = listedIn(store, nowMs);
  const oldestMs = store.candidates.oldestMs();
  return {
    migration: migrationName(spec),
    level: 'digest',
    equal: countOf('confirmed') > 0 ? false : inFlight > 0 ? null : true,
    source: { count: totals.source.documents - (kept.source?.repeated ?? 0) },
    target: { count: totals.target.documents - (kept.target?.repeated ?? 0) },
    differences,
    inFlight,
    samples: listed.differences.slice(0, SAMPLES_MAX),
    letters: ledger.look(countLetters),
    settings,
    settingsNotSeen,
    ru: { source: sides.source.governor.budget.spentRu, target: sides.target.governor.budget.spentRu },
    durationMs: nowMs - beganAtMs,
    complete: true,
    waitsFor,
    details: {
      extent: begun.extent,
      beganAtMs: begun.beganAtMs,
      endedAtMs: nowMs,
      fingerprint: begun.fingerprint,
      containers: { source: begun.sourceRid, target: begun.targetRid },
      digests: { source: sums.source.text(), target: sums.target.text() },
      bytes: { source: totals.source.bytes, target: totals.target.bytes },
      refused: kept.source?.refused ?? {},
      explained: { letters: countOf('letter'), waived: countOf('waived'), expired: countOf('expired') },
      lookedAtAgain: counts.reduce((sum, { documents }) => sum + documents, 0),
      ranges: { source: rangesOf(store, 'source'), target: rangesOf(store, 'target') },
      listed,
      oldestInFlightMs: oldestMs === null ? null : nowMs - oldestMs,
    },
  };
}

function rangesOf(store: VerifyStore, side: 'source' | 'target'): Verdict['details']['ranges']['source'] {
  return store.parts(side).map(({ rangeId: id, min, max, documents, fenceLsn, position }) => ({
    id,
    min,
    max,
    documents,
    upToLsn: fenceLsn,
    position,
  }));
}
