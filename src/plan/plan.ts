/**
 * Measures candidates for the key of a container, predicts what each would mean, and recommends one. Invariant: nothing is
 * written to a container, and a right to read is enough.
 */
import { connect, type Account } from '../cosmos/account/client.ts';
import type { ControlCall } from '../cosmos/account/control-plane.ts';
import { describeAccount } from '../cosmos/account/describe.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import { listScripts } from '../cosmos/container/scripts.ts';
import { ruOf } from '../cosmos/container/throughput.ts';
import { logWaits, Patience, type Wait } from '../cosmos/load/retry.ts';
import { openSide, type Side } from '../cosmos/side.ts';
import { troubleOf } from '../cosmos/transport/trouble.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import type { Clock } from '../lib/clock.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import { deletesFor } from '../preflight/delete-mode.ts';
import { createRu } from '../preflight/estimate.ts';
import { INSPECTION_LIMITS, rateOf, sampleSize } from '../preflight/inspect.ts';
import { missingContainer } from '../preflight/missing-container.ts';
import { SOURCE_HINT } from '../preflight/refusals.ts';
import { takeSamples } from '../preflight/sample.ts';
import type { ContainerName } from '../spec/input/values.ts';
import type { PlanSpec } from '../spec/migration-spec.ts';
import {
  currentCandidate,
  kindOf,
  parseCandidate,
  planOf,
  refuseRepeated,
  type KeyCandidate,
} from './candidates/candidate.ts';
import { discover } from './candidates/discover.ts';
import { firstSample } from './candidates/first-sample.ts';
import type { Prices } from '../spec/money/prices.ts';
import { follow } from './observe/follow.ts';
import { Observation } from './observe/observation.ts';
import type { PassCost } from './reading/pass-cost.ts';
import { readForPlan, type Measured } from './reading/plan-pass.ts';
import { planPath, PlanStore } from './reading/plan-store.ts';
import type { ObservedFigures, ObservedTotals, PlanResult } from './result.ts';
import { resultOf } from './assemble.ts';
import { showOf } from './show-values.ts';
import { uniqueKeysOf } from './unique/unique-values.ts';
import type { Workload } from './workload/workload.ts';

export interface PlanQuestion {
  /** The candidates of the operator; empty: cosmig proposes some. */
  readonly candidates: readonly KeyCandidate[];
  /** The share of the source that is read; 1: all of it. */
  readonly share: number;
  /** Whether an entry of each document is kept on the disk, so that all figures are exact. */
  readonly exact: boolean;
  readonly fresh: boolean;
  readonly ruMax: number | null;
  readonly isAccepted: boolean;
  /** How long the feed is followed; null: not at all. */
  readonly observeMs: number | null;
  /** The path of the creation date; null: `_ts` has to do. */
  readonly created: string | null;
  readonly horizonMonths: number;
  readonly workload: Workload | null;
  readonly prices: Prices | null;
  /** Whether key values and ids are shown as hashes. */
  readonly hashesValues: boolean;
}

export interface PlanParts extends PlanQuestion {
  readonly spec: PlanSpec;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** Called with all candidates before the pass begins; may refuse them by throwing. */
  readonly onCandidates?: (candidates: readonly KeyCandidate[]) => void;
  readonly onCost: (cost: PassCost) => void;
  readonly onProgress: (progress: { readonly documents: number; readonly ru: number }) => void;
  /** Called with the reason of each wait for the service. */
  readonly onWait: (reason: string) => void;
}

export async function makePlan(parts: PlanParts): Promise<PlanResult> {
  const { spec, clock, random, log, signal } = parts;
  const logWait = logWaits(log, clock);
  const onWait = (wait: Wait): void => {
    logWait(wait);
    parts.onWait(wait.trouble.what);
  };
  using account = await connect(spec.connection, { signal, clock });
  const call = { signal, patience: new Patience({ clock, random, onWait, limits: INSPECTION_LIMITS }) };
  const facts = await readContainer(account, spec.source, call);
  if (facts === undefined)
    throw await missingContainer(
      { side: 'source', account, address: spec.source, hint: SOURCE_HINT, hasBegun: false },
      call,
    );
  try {
    return await planFor(parts, { account, facts, call, onWait });
  } catch (error) {
    if (signal.aborted || !mayBeGone(error)) throw error;
    // If the service does not answer this either, the first error says why.
    const now = await readContainer(account, spec.source, call).catch(() => facts);
    if (now?.rid === facts.rid) throw error;
    throw sourceIsGone(spec.source, { isRecreated: now !== undefined, cause: error });
  }
}

/** Whether an error may come from a container that was deleted: a refusal of cosmig, or an answer that waiting cannot cure. */
function mayBeGone(error: unknown): boolean {
  if (error instanceof NotReadyError) return true;
  const trouble = troubleOf(error) ?? (error instanceof Error ? troubleOf(error.cause) : undefined);
  return trouble?.kind === 'fatal';
}

interface Opened {
  readonly account: Account;
  readonly facts: ContainerFacts;
  readonly call: ControlCall;
  readonly onWait: (wait: Wait) => void;
}

async function planFor(parts: PlanParts, { account, facts, call, onWait }: Opened): Promise<PlanResult> {
  const { spec, clock, random, signal } = parts;
  const described = await describeAccount(account, call);
  const side = await openSide(
    'source',
    { account, facts, budget: spec.sourceBudget, clock, random, onWait },
    signal,
  );
  const current = currentCandidate(facts.keyPaths);
  const path = planPath(spec.file);
  const others = parts.candidates.length > 0 ? parts.candidates : await proposalsFor(side, parts, path);
  const candidates = [current, ...others];
  refuseRepeated(candidates);
  for (const candidate of candidates) if (!candidate.isCurrent) planOf(candidate, facts.keyPaths);
  parts.onCandidates?.(candidates);
  const scripts = await listScripts(account, spec.source, call);
  const asking = {
    requests: side.requests,
    signal,
    patience: call.patience.fresh(),
    timeoutMs: side.timeoutMs,
  };
  const deletes = await deletesFor({ deletes: { kind: 'auto' } }, facts, asking);
  const sourceRu = rateOf('source', spec.sourceBudget, facts.throughput);
  // The sample of `cosmig copy --dry-run`, so that both estimate the migration from the same averages.
  const samples = await takeSamples(
    side.requests,
    candidates.map((candidate) => ({
      plan: planOf(candidate, facts.keyPaths),
      kind: kindOf(candidate, facts.keyKind),
      ttl: { mode: 'restart' } as const,
    })),
    {
      ...asking,
      governor: side.governor,
      containerRu: ruOf(facts.throughput),
      documentsMax: sampleSize(undefined, sourceRu),
    },
  );
  const show = showOf(parts.hashesValues);
  const measured = await readForPlan({
    ...parts,
    side,
    path,
    candidates,
    show,
    uniqueKeys: uniqueKeysOf(facts.settings.uniqueKeyPolicy),
    countNow: async () => (await readContainer(account, spec.source, call))?.documentCount ?? null,
    readRu: samples[0]?.readRu ?? 0,
  });
  const observed = await observe(parts, {
    side,
    candidates,
    show: show.text,
    measured,
    averageTerms: samples[0]?.averageTerms ?? 0,
  });
  return resultOf({
    ...parts,
    side,
    facts,
    candidates,
    samples,
    sourceRu,
    scripts,
    deletes: deletes.mode === 'avad' ? 'avad' : 'reconcile',
    measured,
    observed,
    regions: described,
  });
}

/** Proposes candidates; for a pass that can be resumed, those that it began with. */
async function proposalsFor(
  side: Side,
  { fresh, signal }: PlanParts,
  path: string,
): Promise<readonly KeyCandidate[]> {
  const { rid, keyPaths } = side.facts;
  const earlier = fresh ? [] : PlanStore.proposalsIn(path, rid);
  if (earlier.length > 0) return earlier.map(({ key, proposed }) => ({ ...parseCandidate(key), proposed }));
  return discover(await firstSample(side, signal), keyPaths.map(pathSteps));
}

/** What was measured is of a container that no longer exists, so none of it is shown. */
function sourceIsGone(
  { database, container }: ContainerName,
  { isRecreated, cause }: { readonly isRecreated: boolean; readonly cause: unknown },
): NotReadyError {
  return new NotReadyError(
    `the source container ${database}/${container} was deleted${isRecreated ? ' and created again' : ''}`,
    {
      why: 'that happened while the plan read it, and figures of the old container say nothing about another one',
      hint: isRecreated
        ? 'run the same command again: it begins with the new container'
        : 'create or restore the container, then run the same command again',
      cause,
    },
  );
}

/** What following the feed has shown. */
export interface Followed extends ObservedTotals {
  readonly figures: readonly ObservedFigures[];
}

async function observe(
  { observeMs, clock, signal, say }: PlanParts,
  parts: {
    readonly side: Side;
    readonly candidates: readonly KeyCandidate[];
    readonly show: (values: readonly KeyComponent[]) => string;
    readonly measured: Measured;
    readonly averageTerms: number;
  },
): Promise<Followed | null> {
  if (observeMs === null) return null;
  const { side, candidates, show, measured, averageTerms } = parts;
  const { keyPaths, keyKind } = side.facts;
  const observation = new Observation(
    candidates.map((candidate) => ({
      plan: planOf(candidate, keyPaths),
      kind: kindOf(candidate, keyKind),
      show,
    })),
    keyPaths.map(pathSteps),
  );
  say(`following the change feed for ${Math.round(observeMs / 1000)} s`);
  const seconds = await follow(
    { side, clock, forMs: observeMs, take: (page) => observation.take(page) },
    signal,
  );
  const { documents, bytes } = measured.measure.totals;
  const figures = observation.figures(
    seconds,
    createRu(documents === 0 ? 0 : bytes / documents, averageTerms),
  );
  return { seconds, writes: observation.writes, updates: observation.updates, figures };
}

function pathSteps(path: string): readonly string[] {
  return planOf({ paths: [path], derive: [] }, []).targetPaths[0] ?? [];
}
