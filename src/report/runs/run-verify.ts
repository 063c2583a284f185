/**
 * Runs a comparison, with or without repair, with its live line, and returns its result. The command and the demo
 * share this module.
 */
import { existsSync } from 'node:fs';
import type { Result } from '../../cli/command.ts';
import type { RunSnapshot } from '../../engine/progress/snapshot.ts';
import { CosmigError } from '../../lib/errors.ts';
import type { RunObserver } from '../../notify/notify.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { LATE_WRITES_MS } from '../../spec/timing.ts';
import type { Phase } from '../../state/migration.ts';
import type { SourceChange } from '../../state/source-change.ts';
import type { Verdict } from '../../verify/verdict.ts';
import type { Extent } from '../../workflows/repair.ts';
import { withMetrics } from '../metrics/during.ts';
import { nextStep } from '../status/next-step.ts';
import { progressShower } from './compare-progress.ts';
import { errorOfRun, refuseReport } from './report-file.ts';
import { resultOrThrow } from './result-or-throw.ts';
import { runParts, skippedResult, type SpecContext } from './run-engine.ts';
import { errorForVerdict, type Replicator } from '../verify-error.ts';
import { writeReport } from '../verify-report-file.ts';
import { unfinishedJson, verifyJson, verifyText } from '../verify.ts';

const NO_TAIL =
  'documents wait to be replicated, and no cosmig tail is running: start it in another terminal, or press Ctrl-C and run cosmig verify --repair';

const COMMITTED =
  'the target is in use, so nothing is replicated to it any longer: differences are what the application has written since, or another process to the source';
/** How many writes of other processes are read to be named. */
const NAMED_MAX = 10;
/** After the commit a document that differs stays as it is, so there is nothing to wait for. */
const COMMITTED_DEADLINE_MS = 5000;

/** The options of a comparison, as the operator or the demo chooses them. */
export interface VerifyOrder {
  readonly level: 'count' | 'digest';
  readonly fresh: boolean;
  readonly repair: boolean;
  readonly deadlineMs: number;
  /** The path of the file for the report. */
  readonly report?: string | undefined;
}

export async function runVerifyWithProgress(
  context: SpecContext,
  order: VerifyOrder,
  observer?: RunObserver,
): Promise<Result> {
  return withMetrics(context, 'verify', async () => runIt(context, order, observer));
}

async function runIt(
  context: SpecContext,
  order: VerifyOrder,
  observer: RunObserver | undefined,
): Promise<Result> {
  const { signal, out } = context;
  const { level, fresh, repair, deadlineMs, report } = order;
  if (report !== undefined) refuseReport(report);
  const parts = runParts(context);
  const { spec } = parts;
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { verify } = await import('../../verify/verify.ts');
  const { optionsOf, withOwnTail } = await import('../../workflows/repair.ts');
  const { VerifyStore, verifyPath } = await import('../../verify/store.ts');
  const { Ledger } = await import('../../state/ledger.ts');
  // Every comparison holds the lock of the store of comparisons. A repair is a mover, so it holds the ledger lock too.
  const isTaken = (): boolean =>
    VerifyStore.isInUse(verifyPath(spec.ledger)) || (repair && Ledger.isRunning(spec.ledger));
  if (spec.skipsIfRunning && isTaken()) return skippedResult('verify', spec);
  // A comparison relies on the ledger, so the whole file is checked first. A repair is a mover, and a mover checks the
  // file when it opens it.
  const checkLedger = (path: string): void => {
    using ledger = Ledger.openReadonly(path);
    ledger.check();
  };
  const phaseOf = (path: string): Phase => {
    using ledger = Ledger.openReadonly(path);
    return ledger.migration.read().phase;
  };
  const show = progressShower(context);
  let hasBegun = false;
  let isCommitted = false;
  // A repair replicates by itself. Nothing else does while no tail runs, so the wait would last until the deadline.
  let mayNameTail = !repair;
  let reportError: CosmigError | undefined;
  let proofMs: number | null = null;
  const compare = async (extent: Extent, within: AbortSignal): Promise<Verdict> =>
    verify({
      ...parts,
      level,
      ...optionsOf(extent),
      ...(extent === 'as asked' ? { fresh } : {}),
      deadlineMs: isCommitted ? Math.min(deadlineMs, COMMITTED_DEADLINE_MS) : deadlineMs,
      signal: within,
      onProgress: (found) => {
        const progress = repair ? withOwnTail(found) : found;
        hasBegun = true;
        observer?.onCompare(progress);
        show(progress);
        if (mayNameTail && progress.waitsFor !== null) {
          mayNameTail = false;
          if (isCommitted) out.note(COMMITTED);
          else if (!Ledger.isRunning(spec.ledger)) out.note(NO_TAIL);
        }
      },
      onVerdict: (found, about) => {
        ({ proofMs } = about);
        if (report !== undefined) reportError = writeReport(report, found, about);
      },
    });
  let verdict: Verdict;
  try {
    if (repair) {
      const { compareAndRepair } = await import('../../workflows/repair.ts');
      const onSnapshot = (snapshot: RunSnapshot): void => observer?.onSnapshot(snapshot);
      verdict = await compareAndRepair({ ...parts, onSnapshot }, compare);
    } else {
      if (spec.turn !== undefined && (!existsSync(spec.ledger) || phaseOf(spec.ledger) === 'new')) {
        const { turnNotBegun } = await import('../../spec/refusals.ts');
        throw turnNotBegun(spec.turn.number, 'run cosmig tail first');
      }
      checkLedger(spec.ledger);
      isCommitted = phaseOf(spec.ledger) === 'committed';
      verdict = await compare('as asked', signal);
    }
  } catch (error) {
    // Another run has taken the lock after this run found it free.
    if (spec.skipsIfRunning && !hasBegun && isTaken()) return skippedResult('verify', spec);
    const compared = { migration: migrationName(spec), level };
    if (error instanceof CosmigError) out.announce({ json: unfinishedJson(compared, error), text: '' });
    throw error;
  }
  observer?.onVerdict(verdict, proofMs);
  const findReplicator = (): Replicator => {
    if (repair) return 'repair';
    using ledger = Ledger.openReadonly(spec.ledger);
    if (ledger.migration.read().phase !== 'committed') return 'tail';
    if (ledger.nextTurn.read()?.endedAtMs === null) return 'reverse';
    const untilMs = (ledger.journal.commit()?.atMs ?? 0) + LATE_WRITES_MS;
    return context.clock.now() > untilMs ? 'none, long since' : 'none';
  };
  const findWrites = (): readonly SourceChange[] => {
    using ledger = Ledger.openReadonly(spec.ledger);
    return ledger.journal.writtenByOthers(NAMED_MAX);
  };
  const unequal = errorForVerdict(verdict, findReplicator, findWrites);
  const error = errorOfRun(unequal, reportError, (text) => out.note(text));
  const result = { json: verifyJson(verdict, error), text: verifyText(verdict, isCommitted) };
  // An error says itself what to do.
  return resultOrThrow(
    error === undefined ? { ...result, ...(await nextStep(context)) } : result,
    error,
    out,
  );
}
