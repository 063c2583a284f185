/** Runs a cutover with its live line and returns its result. The command and the demo share this module. */
import type { Result } from '../../cli/command.ts';
import type { CutoverResult } from '../../engine/cutover/contract.ts';
import type { RunObserver } from '../../notify/notify.ts';
import type { Verdict } from '../../verify/verdict.ts';
import type { CutoverOrder, CutoverWatcher } from '../../workflows/cutover.ts';
import { CutoverLine } from '../cutover-line.ts';
import { cutoverJson, cutoverText, errorForCutover } from '../cutover.ts';
import { errorJson } from '../format.ts';
import { withMetrics } from '../metrics/during.ts';
import { nextStep } from '../status/next-step.ts';
import { resultOrThrow } from './result-or-throw.ts';
import { runWithProgress, type SpecContext } from './run-engine.ts';

/** The command that runs the cutover, and who else gets its events. */
interface CutoverRun {
  readonly command: 'cutover' | 'rollback';
  readonly observer?: RunObserver | undefined;
}

export async function runCutoverWithProgress(
  context: SpecContext,
  order: CutoverOrder,
  run: CutoverRun,
): Promise<Result | undefined> {
  return withMetrics(context, run.command, async () => runIt(context, order, run));
}

async function runIt(
  context: SpecContext,
  order: CutoverOrder,
  { command, observer }: CutoverRun,
): Promise<Result | undefined> {
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { cutOverWithProof } = await import('../../workflows/cutover.ts');
  const view = new CutoverLine(context.clock, order);
  const found: Array<Verdict['differences']> = [];
  const watcher: CutoverWatcher = {
    onStep: (step) => {
      view.onStep(step);
      observer?.onStep(step);
    },
    onProof: (progress) => {
      view.onProof(progress);
      observer?.onCompare(progress);
    },
    onUnequal: (differences) => void found.push(differences),
  };
  const { onCommit } = order;
  const shown: CutoverOrder = {
    ...order,
    onCommit: onCommit === null ? null : async (signal) => view.duringHook(async () => onCommit(signal)),
  };
  let cutover: CutoverResult | undefined;
  const ran = await runWithProgress(context, {
    command,
    view,
    observer,
    run: async (parts) => {
      const result = await cutOverWithProof({ ...parts, command }, shown, watcher);
      const { committedAtMs, stoppedMs, proof, repaired, settings, trouble, lateWrites, ...rest } = result;
      const { isSwitched, ...snapshot } = rest;
      cutover = { committedAtMs, stoppedMs, proof, repaired, settings, trouble, lateWrites, isSwitched };
      // After the commit no tail follows the source, so a lag does not exist.
      return { ...snapshot, lagSeconds: null };
    },
  });
  if (cutover === undefined || ran === undefined) return ran;
  const error = errorForCutover(cutover);
  const failed = error === undefined ? {} : { complete: false, ...errorJson(error) };
  const json = { ...ran.json, ...cutoverJson(cutover), ...failed };
  const result = { json, text: `${ran.text}\n${cutoverText(cutover, found)}` };
  if (error !== undefined) return resultOrThrow(result, error, context.out);
  const before = cutover.isSwitched ? '' : 'let the application write to the target; ';
  return { ...result, ...(await nextStep(context, before)) };
}
