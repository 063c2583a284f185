/**
 * Reads the source once for all candidates, or a sample of it. Invariant: nothing is written to a container; each page
 * counts once for every candidate; a pass that was interrupted resumes from its last checkpoint, and finds what it would
 * have found without the interruption.
 */
import { createHash } from 'node:crypto';
import { FencedPass, type PassTiming, type ReadPart, type Taken } from '../../cosmos/feed/fenced-pass.ts';
import type { Side } from '../../cosmos/side.ts';
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { formatTime, type Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Random } from '../../lib/random.ts';
import { parsePath } from '../../keys/path.ts';
import { kindOf, planOf, type KeyCandidate } from '../candidates/candidate.ts';
import { countExactly } from '../exact/count-exactly.ts';
import { entryBytes, ExactEntries, type ExactLayout } from '../exact/exact-entries.ts';
import type { ExactFigures } from '../exact/exact-figures.ts';
import { refuseSmallDisk } from '../exact/disk-need.ts';
import type { MeasureParts } from '../pass/candidate-measure.ts';
import { PageMeasure } from '../pass/page-measure.ts';
import type { UniqueKey } from '../unique/unique-values.ts';
import { passCost, refuseDear, type PassCost } from './pass-cost.ts';
import { sampleOf, type SampleFacts } from './sampled.ts';
import { PlanStore, type BegunPass } from './plan-store.ts';
import { lsnOfPosition, positionAfter, stretchCount, stretchesOf, stretchPageSize } from './stretches.ts';

export interface PlanPassParts {
  readonly side: Side;
  /** The path of the plan file. */
  readonly path: string;
  readonly candidates: readonly KeyCandidate[];
  /** How key values are shown; part of the subject, because the plan file keeps values as they were shown. */
  readonly show: { readonly name: string; readonly text: (values: readonly KeyComponent[]) => string };
  /** The share of the source that is read; 1: all of it. */
  readonly share: number;
  /** What reading a document costs, as a sample has shown; 0: not known. */
  readonly readRu: number;
  /** The path of the creation date of documents; null: they have none. */
  readonly created: string | null;
  /** The unique keys of the source. */
  readonly uniqueKeys: readonly UniqueKey[];
  /** Whether an entry of each document is kept on the disk, so that all figures are exact. */
  readonly exact: boolean;
  /** Whether to begin again, even if an interrupted pass could be resumed. */
  readonly fresh: boolean;
  /** The most RU that are spent unasked; null: as many as it takes. */
  readonly ruMax: number | null;
  /** Whether the operator has accepted what the pass costs. */
  readonly isAccepted: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Receives messages for the user. */
  readonly say: (text: string) => void;
  /** Called with the cost before the first page is read for the candidates. */
  readonly onCost?: (cost: PassCost) => void;
  readonly onProgress?: (progress: { readonly documents: number; readonly ru: number }) => void;
  /** Asks the service how many documents the source has now. */
  readonly countNow?: () => Promise<number | null>;
  readonly timing?: Partial<PassTiming>;
}

/** What was read and measured. */
export interface Measured {
  readonly measure: PageMeasure;
  /** The exact figures of each candidate; null: they are those of the measure. */
  readonly exact: readonly ExactFigures[] | null;
  /** The parts of the source that were read, each to its end. */
  readonly parts: readonly ReadPart[];
  /** How much of the source the figures are of. */
  readonly sample: SampleFacts;
  /** What reading has cost, in all runs of this pass together. */
  readonly readRu: number;
  readonly startedAtMs: number;
  readonly nowTs: number;
}

/**
 * A checkpoint writes all sketches, some tens of megabytes with many candidates. So that this costs little at any size,
 * the time between two checkpoints is at least 25 times the duration of one.
 */
const TIMING: PassTiming = { checkpointMs: 5000, pageSize: 1000, saveTimesMin: 25 };
/** With `--exact` a checkpoint makes a run of sorted entries. Fewer and longer runs are read faster later. */
const EXACT_CHECKPOINT_MS = 10_000;
/** The version of what is measured. A pass of an older cosmig that measured otherwise is not resumed. */
const MEASURE = 4;

export async function readForPlan(parts: PlanPassParts): Promise<Measured> {
  using store = PlanStore.open(parts.path);
  const { side, candidates, show, created, clock, signal, uniqueKeys } = parts;
  const spentBefore = side.governor.budget.spentRu;
  const { documentCount } = side.facts;
  const cost = passCost({ documentCount, ranges: side.ranges.list.length }, parts);
  const begun = resumed(store, parts) ?? begin(store, parts, cost);
  const { nowTs } = begun;
  const saved = store.pages();
  const share = saved?.totals.share ?? cost.share;
  const measured = candidates.map((candidate): MeasureParts => ({
    plan: planOf(candidate, side.facts.keyPaths),
    kind: kindOf(candidate, side.facts.keyKind),
    endTs: nowTs,
    show: show.text,
  }));
  const known = parts.exact ? store.exactFigures() : null;
  using file = store.exactFile();
  const exact =
    known === undefined ? new ExactEntries(file, layoutOf(parts), store.exactChunks()) : undefined;
  const measure = new PageMeasure(measured, nowTs, {
    saved,
    created: created === null ? undefined : parsePath(created),
    uniqueKeys,
    exact,
  });
  measure.totals.share = share;
  measure.totals.proposals = candidates.flatMap(({ key, proposed }) =>
    proposed === null ? [] : [{ key, proposed }],
  );
  const readRu = (): number => begun.readRu + side.governor.budget.spentRu - spentBefore;
  const pass: FencedPass = new FencedPass({
    side,
    saved: store.parts(),
    clock,
    timing: { ...TIMING, ...(parts.exact ? { checkpointMs: EXACT_CHECKPOINT_MS } : {}), ...parts.timing },
    isNewest: false,
    onPage: () => parts.onProgress?.({ documents: pass.documents, ru: readRu() }),
    ...(share >= 1 ? {} : sampling({ ...parts, share, pageSize: { ...TIMING, ...parts.timing }.pageSize })),
    takes: {
      take: (page, part) => {
        exact?.beginPart(part);
        const taken = take(measure, page, { part, isSample: share < 1 });
        exact?.spillIfFull();
        return taken;
      },
      isFull: () => false,
      save: (read) =>
        store.checkpoint({
          parts: read,
          totals: measure.savedTotals(),
          candidates: measure.candidates,
          readRu: readRu(),
          exact,
        }),
    },
  });
  try {
    await pass.run(signal);
  } catch (error) {
    const trouble = share < 1 ? troubleOf(error) : undefined;
    if (trouble?.kind === 'fatal' && trouble.status === 400) throw noSample(trouble.what, error);
    throw error;
  }
  const read = store.parts();
  if (measure.totals.reported === null && parts.countNow !== undefined) {
    measure.totals.reported = await parts.countNow();
    store.setTotals(measure.savedTotals());
  }
  let counted: readonly ExactFigures[] | null = known ?? null;
  if (exact !== undefined) {
    parts.say('counting the documents of each value');
    counted = await countExactly({
      side,
      entries: exact,
      candidates: measured,
      uniqueKeys,
      measures: measure.candidates,
      canFind: read.every(({ position }) => position === null || lsnOfPosition(position) !== undefined),
      signal,
    });
    store.keepExactFigures(counted, readRu());
  }
  return {
    measure,
    exact: counted,
    parts: read,
    sample: sampleOf(read, share),
    readRu: readRu(),
    startedAtMs: begun.startedAtMs,
    nowTs,
  };
}

/** Returns the interrupted or finished pass of the same subject; null: there is none. */
function resumed(store: PlanStore, parts: PlanPassParts): BegunPass | null {
  const begun = store.begun();
  if (begun === null || parts.fresh) return null;
  const { fingerprint, sourceRid } = subjectOf(parts);
  const at = formatTime(begun.startedAtMs);
  if (begun.sourceRid !== sourceRid) {
    parts.say(`starting again: the plan started at ${at} was of another container`);
    return null;
  }
  if (begun.fingerprint !== fingerprint) {
    parts.say(`starting again: the plan started at ${at} was of other candidates or another sample`);
    return null;
  }
  parts.say(`resuming the plan started at ${at} with what it has read; --fresh measures again`);
  return begun;
}

function begin(store: PlanStore, parts: PlanPassParts, cost: PassCost): BegunPass {
  const { side, clock } = parts;
  if (cost.share > parts.share) parts.say('reading everything, since this sample would cost as much');
  parts.onCost?.(cost);
  refuseDear(cost, parts);
  if (parts.exact)
    parts.say(
      refuseSmallDisk(store.exactFile().path, {
        documents: cost.documents,
        bytesEach: entryBytes(layoutOf(parts)),
      }),
    );
  const begun = {
    ...subjectOf(parts),
    startedAtMs: clock.now(),
    nowTs: side.requests.serviceTime.nowTs(),
    readRu: 0,
  };
  store.begin(begun);
  return begun;
}

function layoutOf({ side, candidates, uniqueKeys }: PlanPassParts): ExactLayout {
  const { keyPaths } = side.facts;
  return {
    levels: candidates.map((candidate) => planOf(candidate, keyPaths).targetPaths.length),
    uniqueKeys: uniqueKeys.length,
  };
}

function subjectOf({ side, candidates, share, show, created, exact }: PlanPassParts): {
  readonly fingerprint: string;
  readonly sourceRid: string;
} {
  const keys = candidates.map(({ paths, derive, isCurrent }) => ({ paths, derive, isCurrent }));
  const text = JSON.stringify({ measure: MEASURE, keys, share, show: show.name, created, exact });
  return {
    fingerprint: createHash('sha256').update(text).digest('hex'),
    sourceRid: side.facts.rid,
  };
}

/** Returns where a sample starts in each range, and how large its pages are. */
function sampling({
  side,
  share,
  random,
  pageSize,
}: Pick<PlanPassParts, 'side' | 'share' | 'random'> & { readonly pageSize: number }): Required<
  Pick<ConstructorParameters<typeof FencedPass>[0], 'startsOf' | 'pageSizeOf'>
> {
  const ranges = side.ranges.list.length;
  // Documents are taken to be spread evenly over the ranges and over the LSNs of each.
  let perLsn = 1;
  return {
    startsOf: ({ min, max }, { lsn, etag }) => {
      if (lsnOfPosition(etag) === undefined) throw noSample(`it gave the position ${etag}`);
      const documents = (side.facts.documentCount ?? lsn) / ranges;
      perLsn = Math.min(perLsn, documents / Math.max(1, lsn));
      const count = stretchCount(documents, share, ranges);
      return stretchesOf(lsn, { share, count, random }).map(({ after, until }) => ({
        min,
        max,
        position: positionAfter(after),
        fenceLsn: until,
      }));
    },
    pageSizeOf: (part) => stretchPageSize({ after: afterOf(part), until: part.fenceLsn }, perLsn, pageSize),
  };
}

/** Returns the LSN after which reading a stretch continues. */
function afterOf({ position }: ReadPart): number {
  return position === null ? 0 : (lsnOfPosition(position) ?? 0);
}

function take(
  measure: PageMeasure,
  page: Buffer,
  { part, isSample }: { readonly part: ReadPart; readonly isSample: boolean },
): Taken {
  if (!isSample) return measure.take(page, part.fenceLsn);
  const after = afterOf(part);
  const taken = measure.take(page, part.fenceLsn, (first) => {
    if (first <= after) throw noSample(`after the LSN ${after} it returned the LSN ${first}`);
  });
  // Documents with the same LSN are on one page, so none is left of the stretch.
  return { ...taken, isBeyond: taken.isBeyond || taken.lastLsn >= part.fenceLsn };
}

function noSample(why: string, cause?: unknown): ServiceError {
  return new ServiceError('the change feed cannot be read from the middle, as a sample needs', {
    why,
    hint: 'run the same command without --sample, and attach this message to an issue',
    ...(cause === undefined ? {} : { cause }),
  });
}
