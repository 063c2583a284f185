/** Makes a plan for a command: reads its files, shows its progress, and prints and writes what it found. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Context, Result } from '../../cli/command.ts';
import { asCosmigError, MismatchError, UsageError, type CosmigError } from '../../lib/errors.ts';
import { describeFsError } from '../../lib/fs-error.ts';
import { systemRandom } from '../../lib/random.ts';
import type { PlanParts } from '../../plan/plan.ts';
import type { PlanResult } from '../../plan/result.ts';
import { loadPlan, type SpecInput } from '../../spec/load.ts';
import { errorJson } from '../format.ts';
import { refuseConfig, writeConfig } from '../plan/config-file.ts';
import { planJson } from '../plan/json.ts';
import { writePlanPage } from '../plan/page-file.ts';
import { planText } from '../plan/text.ts';
import { planProgress } from './plan-progress.ts';
import { errorOfRun, refuseReport } from './report-file.ts';
import { resultOrThrow } from './result-or-throw.ts';

/** The options of a plan, as the operator gives them. */
export interface PlanOrder {
  readonly candidates: readonly string[];
  readonly share: number;
  readonly exact: boolean;
  readonly ruMax: number | null;
  readonly isAccepted: boolean;
  readonly fresh: boolean;
  readonly observeMs: number | null;
  readonly created: string | null;
  readonly horizonMonths: number;
  readonly workload: string | undefined;
  readonly printsKql: boolean;
  readonly prices: string | undefined;
  readonly hashesValues: boolean;
  readonly report: string | undefined;
  /** The candidate for which a config file is written: its number or its text; undefined: none is written. */
  readonly config: string | undefined;
}

type PlanContext = Omit<Context, 'options'> & Pick<SpecInput, 'options'>;

export async function runPlan(context: PlanContext, order: PlanOrder): Promise<Result> {
  const { options, env, clock, signal, out, log } = context;
  const spec = loadPlan({ options, env, clock });
  if (order.report !== undefined) refuseReport(order.report);
  if (order.config !== undefined && !order.printsKql) refuseConfig();
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { kqlFor } = await import('../../plan/workload/kql.ts');
  if (order.printsKql)
    return { json: { command: 'plan', kql: kqlFor(spec.source) }, text: kqlFor(spec.source) };
  const { makePlan } = await import('../../plan/plan.ts');
  const { parseCandidate } = await import('../../plan/candidates/candidate.ts');
  const { chooseCandidate } = await import('../../plan/candidates/choose.ts');
  const { parsePath } = await import('../../keys/path.ts');
  const { readWorkload } = await import('../../plan/workload/read/read-workload.ts');
  const { parsePrices } = await import('../../plan/money/prices.ts');
  if (order.created !== null) parsePath(order.created);
  const { withTimeLimit } = await import('../../cosmos/load/time-limit.ts');
  const parts = {
    ...order,
    candidates: order.candidates.map((text) => parseCandidate(text)),
    workload: order.workload === undefined ? null : readWorkload(order.workload, spec.source),
    prices: order.prices === undefined ? null : parsePrices(textOf(order.prices), order.prices),
    spec,
    clock,
    random: systemRandom,
    log,
    say: (text) => out.note(text),
    onCandidates: (candidates) => {
      if (order.config !== undefined)
        chooseCandidate(
          order.config,
          candidates.map(({ key, isCurrent }) => ({ key, current: isCurrent })),
        );
    },
    ...planProgress(out),
  } satisfies Omit<PlanParts, 'signal'>;
  const result = await withTimeLimit(spec, { clock, signal, of: ['plan', 'cosmig plan'] }, async (within) =>
    makePlan({ ...parts, signal: within }),
  );
  const unwritten = order.report === undefined ? undefined : writePlanPage(order.report, result);
  const page = order.report === undefined || unwritten !== undefined ? null : resolve(order.report);
  await keepForPage(spec.file, { result, page, log });
  const chosen = order.config === undefined ? undefined : chooseCandidate(order.config, result.candidates);
  const { ledger } = options;
  const refused =
    chosen === undefined
      ? undefined
      : writeConfig({ result, candidate: chosen, spec, ledger: ledger?.at(-1) });
  const error = errorOfRun(errorForPlan(result), unwritten ?? refused, (text) => out.note(text));
  const shown = {
    json: { ...planJson(result), ...errorJson(error) },
    text: planText(result, {
      page: unwritten === undefined ? (order.report ?? null) : null,
      config: chosen === undefined || refused !== undefined ? null : chosen.key,
    }),
  };
  return resultOrThrow(shown, error, out);
}

/** Keeps the findings for the page of the migration. What was found is not lost if that fails. */
async function keepForPage(
  ledger: string,
  { result, page, log }: { readonly result: PlanResult; readonly page: string | null } & Pick<Context, 'log'>,
): Promise<void> {
  const { keepSummary } = await import('../../plan/reading/plan-record.ts');
  const { summaryOf } = await import('../../plan/summary.ts');
  try {
    keepSummary(ledger, summaryOf(result, page), Date.parse(result.takenAt));
  } catch (error) {
    const { message, why } = asCosmigError(error);
    log.warn(`cosmig watch cannot show this plan: ${message}`, { why });
  }
}

/** A plan in which every candidate has a blocker has no usable answer. */
function errorForPlan({ candidates }: PlanResult): CosmigError | undefined {
  const others = candidates.filter(({ current }) => !current);
  if (others.length === 0 || others.some(({ verdict }) => verdict.blockers.length === 0)) return undefined;
  return new MismatchError('no candidate can be the key', {
    why: others.map(({ key, verdict }) => `${key}: ${verdict.blockers[0]?.text ?? ''}`).join('; '),
    hint: 'measure another candidate with --candidate',
  });
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${path} cannot be read`, {
      why: describeFsError(error),
      hint: 'give the path of a file with prices',
      cause: error,
    });
  }
}
