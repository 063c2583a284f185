/**
 * `--level digest` and `changes`: reads each side once, compares the buckets, and checks the documents again that may
 * differ. Invariant: an unfinished comparison is resumed only if it has the same containers, spec and extent, and is
 * not too old.
 */
import { parsePath } from '../../keys/path.ts';
import { group } from '../../lib/group.ts';
import { formatTime } from '../../lib/clock.ts';
import { fingerprint } from '../../spec/fingerprint.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { markerOf, rekeyOptionsOf } from '../../spec/rekey-options.ts';
import { Buckets } from './buckets.ts';
import type { CandidateState } from '../recheck/candidate-store.ts';
import { countLetters } from '../counts/count-ranges.ts';
import { asKnown, countNow } from '../counts/as-known.ts';
import { findAbsent } from '../recheck/find-absent.ts';
import { listAll, listCandidates } from '../recheck/find-candidates.ts';
import { listHidden } from '../recheck/hidden-properties.ts';
import { firstDifferences, streamDifferences } from '../difference-lists.ts';
import { SidePass } from './side-pass.ts';
import { Recheck } from '../recheck/recheck.ts';
import { DamagedChunks } from './entry-chunks.ts';
import { resumePoints, type ResumePoints } from '../incremental.ts';
import { comparesInstants, type RowOptions } from './rows.ts';
import { loadOf } from '../sides.ts';
import { countsOfParts, countsOfRanges } from '../spread.ts';
import { VerifyStore, verifyPath, type Begun, type Subject, type Sums } from '../store.ts';
import { NO_DIFFERENCES, type Kind, type Verdict } from '../verdict.ts';
import type { Comparison, VerifyProgress } from '../verify.ts';

/**
 * How old an unfinished comparison may be to be resumed. Reading both sides costs RU and may take several nights, so a
 * pass may be a week old. A list of candidates is outdated after an hour.
 */
const AGE_MAX_MS = { reading: 7 * 24 * 3600 * 1000, listed: 3600 * 1000 } as const;
/** The message if a comparison of the changes does not suffice. */
const COMPARES_ALL =
  'what has changed is equal, but the numbers of documents are not those that the ledger expects: comparing all documents';
/** The message if this identity may not search for documents with a property that feeds hide. */
const NOT_QUERIED =
  'a property _lsn of the application is not compared: this identity may not query (containers/executeQuery)';
/** How many differences the verdict contains as samples. The report lists all. */
const SAMPLES_MAX = 20;

export async function compareDigests(comparison: Comparison): Promise<Verdict> {
  const { spec, sides } = comparison;
  using store = VerifyStore.open(verifyPath(spec.ledger), comparison.lock);
  const subject = {
    fingerprint: fingerprint(spec),
    sourceRid: sides.source.facts.rid,
    targetRid: sides.target.facts.rid,
    // With another default, copies expire at another time although none of them has changed.
    targetTtl: spec.ttl === 'remaining' ? sides.target.facts.defaultTtl : null,
  };
  if (comparison.level === 'changes') {
    const since = resumePoints(store.proof(), subject);
    if (since !== null) {
      const { isCounted = true } = comparison;
      // Documents are counted before the comparison takes its fence. So a new document that makes up for a delete in
      // the count is compared.
      const before = isCounted ? await countNow(comparison, store) : null;
      const verdict = await compare({ ...comparison, fresh: true }, { store, subject, since });
      const counted = asKnown(before, store);
      if (verdict.equal !== true || counted !== null || !isCounted) {
        const { atMs: sinceMs, readMs } = since;
        const totals =
          counted === null ? null : { source: counted.source.count, target: counted.target.count };
        if (counted !== null) {
          const counts = {
            source: countsOfRanges(counted.source.ranges),
            target: countsOfRanges(counted.target.ranges),
          };
          store.spread.put({ atMs: comparison.clock.now(), fingerprint: subject.fingerprint, counts });
        }
        const details = { ...verdict.details, counted: totals, sinceMs, readMs };
        return keep(store, subject, { verdict: { ...verdict, details }, comparison });
      }
      // The changed documents are equal, but the numbers of documents are not those that the ledger expects, or the
      // ledger does not know them yet. So all documents are compared.
      comparison.say?.(COMPARES_ALL);
    }
    const verdict = await compare({ ...comparison, fresh: true }, { store, subject, since: null });
    return keep(store, subject, { verdict, comparison });
  }
  const verdict = await compare(comparison, { store, subject, since: null });
  return keep(store, subject, { verdict, comparison });
}

/**
 * Records the verdict. A comparison that proved nothing can be resumed. If a comparison of all documents finds
 * differences, earlier proofs become void: otherwise the next cutover would compare only changes that are later than
 * the proof.
 */
function keep(
  store: VerifyStore,
  { fingerprint: print, targetTtl }: Subject,
  {
    verdict,
    comparison: { clock, onVerdict },
  }: { readonly verdict: Verdict; readonly comparison: Comparison },
): Verdict {
  const { equal, details, source, target } = verdict;
  const knowsHidden = store.begun()?.knowsHidden === true;
  const atMs = clock.now();
  const isVoid = equal === false && details.extent !== 'changes';
  const proof = store.proof();
  // Recorded before a proof is deleted: after a crash in between, the proof still counts.
  store.verdict.put(verdict, {
    atMs,
    fingerprint: print,
    proofMs: isVoid && proof?.fingerprint === print ? proof.atMs : null,
  });
  // The end is recorded before the report, which takes time if many documents differ.
  if (isVoid) store.disprove();
  else if (equal === false) store.end();
  if (equal === true)
    store.end({
      atMs,
      fingerprint: print,
      details: JSON.stringify({ ...details, source, target, targetTtl, knowsHidden }),
    });
  onVerdict?.(verdict, { named: streamDifferences(store, atMs), proofMs: equal === true ? atMs : null });
  return verdict;
}

interface Comparing {
  readonly store: VerifyStore;
  readonly subject: Subject;
  /** The positions after which changes are compared; null: all documents are compared. */
  readonly since: ResumePoints | null;
}

async function compare(comparison: Comparison, { store, subject, since }: Comparing): Promise<Verdict> {
  const { spec, sides, ledger, clock, signal, timing, deadlineMs } = comparison;
  const { source, target } = sides;
  // Another process may have started a comparison meanwhile. Until that comparison lists its candidates, there are none
  // to check again.
  if (comparison.again === true && store.begun()?.stage !== 'reading') store.reopen();
  const begun = resumeOrBegin(store, { ...subject, extent: since === null ? 'all' : 'changes' }, comparison);
  const rows: RowOptions = {
    rekey: rekeyOptionsOf(spec, source.facts, target.facts),
    marker: markerOf(spec.deletes),
    targetTtl: target.facts.defaultTtl,
    isEndless:
      spec.ttl === 'remaining' && source.facts.defaultTtl === null && target.facts.defaultTtl !== null,
  };
  const report = progressReporter(comparison, store);
  if (begun.stage === 'reading') {
    const isNewest = comparison.newest === true || comparison.level === 'changes';
    const common = { store, rows, clock, timing, isNewest, onPage: (): void => report('reading') };
    const passes = {
      source: new SidePass({ ...common, side: source, ...(since === null ? {} : { from: since.source }) }),
      target: new SidePass({ ...common, side: target, ...(since === null ? {} : { from: since.target }) }),
    };
    report.read = () => ({ source: passes.source.documents, target: passes.target.documents });
    const countBefore = passes.source.documents + passes.target.documents;
    const readFromMs = clock.monotonicMs();
    await group(signal, async (members) => {
      members.start(async (inner) => passes.source.run(inner));
      members.start(async (inner) => passes.target.run(inner));
    });
    const count = passes.source.documents + passes.target.documents;
    const elapsedMs = clock.monotonicMs() - readFromMs;
    const readMs = wholeMs(elapsedMs, { count, countNow: count - countBefore });
    const sums = { source: passes.source.sums.buckets, target: passes.target.sums.buckets };
    const sourceLevels = source.facts.keyPaths.map((path) => parsePath(path)).length;
    const listing = { store, sums, sourceLevels, hasInstants: comparesInstants(rows), signal };
    try {
      const repeated = await (since === null ? listCandidates(listing) : listAll(listing));
      // Where only changes are compared, each of them is a candidate: nothing is left to search for.
      const knowsHidden =
        since?.knowsHidden === true ||
        (await listHidden({ sides, store, rows, isRequired: isNewest, signal }));
      if (!knowsHidden) comparison.say?.(NOT_QUERIED);
      if (since === null) {
        const counts = {
          source: countsOfParts(store.parts('source')),
          target: countsOfParts(store.parts('target')),
        };
        store.spread.put({ atMs: clock.now(), fingerprint: subject.fingerprint, counts });
      }
      const documents = sums.source.total().documents - repeated.source;
      // A cutover does not search while writers are stopped: the result would serve only a later comparison.
      const isSearched = since === null && comparison.newest !== true;
      const absent = isSearched ? await findAbsent({ store, sums, ledger, documents, signal }) : [];
      store.listed(repeated, { nowMs: clock.now(), readMs, knowsHidden, absent });
    } catch (error) {
      // A comparison with damaged entries can never be resumed, so a new one is begun.
      if (error instanceof DamagedChunks) store.begin({ ...begun, beganAtMs: clock.now() });
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
    onRound: (open, waitsFor) => {
      const nowMs = clock.now();
      const sinceMs = store.candidates.oldestMs();
      const oldestOpenMs = sinceMs === null ? null : Math.max(0, nowMs - sinceMs);
      report('rechecking', { open, oldestOpenMs, waitsFor });
    },
  });
  const waitsFor = await recheck.run(signal);
  return verdictOf(comparison, { store, begun, waitsFor });
}

/**
 * If fewer than one in this many documents were read now, the time for them says nothing about the time for all
 * documents.
 */
const PART_MAX = 10;

/**
 * Returns how long it takes to read all documents; null: not known. A resumed comparison has read only a part of them
 * now, and the time between two runs does not count.
 */
function wholeMs(
  elapsedMs: number,
  { count, countNow }: { readonly count: number; readonly countNow: number },
): number | null {
  if (countNow * PART_MAX < count) return null;
  return Math.round((elapsedMs * count) / Math.max(1, countNow));
}

/** Returns the unfinished comparison if it may be resumed; otherwise begins a new one. */
function resumeOrBegin(
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
    begun.targetRid === subject.targetRid &&
    begun.targetTtl === subject.targetTtl;
  if (isSame && again === true && begun.stage !== 'reading') return begun;
  if (isSame && !fresh && again !== true && isYoung(begun, nowMs)) {
    say?.(`resuming the comparison started at ${formatTime(begun.beganAtMs)}; --fresh starts over`);
    return begun;
  }
  store.begin({ ...subject, isAfterRepair, beganAtMs: nowMs });
  return {
    ...subject,
    isAfterRepair,
    beganAtMs: nowMs,
    stage: 'reading',
    listedAtMs: null,
    readMs: null,
    knowsHidden: false,
  };
}

/**
 * Returns whether a comparison is young enough to be resumed. A comparison with a verdict is never resumed, nor is a
 * comparison whose start is far in the future because the clock was set back.
 */
function isYoung({ stage, beganAtMs, listedAtMs }: Begun, nowMs: number): boolean {
  return stage !== 'done' && Math.abs(nowMs - (listedAtMs ?? beganAtMs)) < AGE_MAX_MS[stage];
}

type Counts = Pick<VerifyProgress, 'source' | 'target'>;
type Rechecking = Pick<VerifyProgress, 'open' | 'oldestOpenMs' | 'waitsFor'>;

const NO_RECHECK: Rechecking = { open: 0, oldestOpenMs: null, waitsFor: null };

function progressReporter(
  { onProgress, sides, clock }: Comparison,
  store: VerifyStore,
): {
  (stage: string, recheck?: Rechecking): void;
  read: () => Counts;
} {
  const expected = sides.source.facts.documentCount;
  const report = (stage: string, recheck = NO_RECHECK): void => {
    const progress = { stage, ...report.read(), ...recheck, expected, ...loadOf(sides) };
    store.progress.put(progress, clock.now());
    onProgress?.(progress);
  };
  report.read = (): Counts => ({ source: 0, target: 0 });
  return report;
}

/** The sums of both sides, as far as they were read. */
interface KeptSums {
  readonly source: Sums | undefined;
  readonly target: Sums | undefined;
}

interface Found {
  readonly store: VerifyStore;
  readonly begun: Begun;
  readonly waitsFor: string | null;
}

function verdictOf(comparison: Comparison, { store, begun, waitsFor }: Found): Verdict {
  const { spec, sides, ledger, clock, beganMs, settings, settingsNotSeen } = comparison;
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
  const listed = firstDifferences(store, nowMs);
  const oldestMs = store.candidates.oldestMs();
  return {
    migration: migrationName(spec),
    level: 'digest',
    equal: countOf('confirmed') > 0 ? false : inFlight > 0 ? null : true,
    source: { count: totals.source.documents - (kept.source?.repeated ?? 0) },
    target: { count: totals.target.documents - (kept.target?.repeated ?? 0) },
    differences,
    inFlight,
    ...longIntegersOf(kept),
    samples: listed.differences.slice(0, SAMPLES_MAX),
    letters: ledger.look(countLetters),
    settings,
    settingsNotSeen,
    ru: { source: sides.source.governor.budget.spentRu, target: sides.target.governor.budget.spentRu },
    durationMs: clock.monotonicMs() - beganMs,
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
      isResumed: begun.beganAtMs < comparison.beganAtMs,
      lookedAtAgain: counts.reduce((sum, { documents }) => sum + documents, 0),
      ranges: { source: rangesOf(store, 'source'), target: rangesOf(store, 'target') },
      listed,
      oldestInFlightMs: oldestMs === null ? null : nowMs - oldestMs,
      readMs: store.begun()?.readMs ?? null,
    },
  };
}

function longIntegersOf({ source, target }: KeptSums): Pick<Verdict, 'longIntegers'> {
  const longIntegers = { source: source?.longIntegers ?? 0, target: target?.longIntegers ?? 0 };
  return longIntegers.source + longIntegers.target > 0 ? { longIntegers } : {};
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
