/** Runs the checks of `cosmig doctor` and shows each as it is made. */
import type { Result } from '../../cli/command.ts';
import type { Check } from '../../doctor/check.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { checkText, errorForChecks, headingOf, summaryText } from '../doctor.ts';
import { errorJson } from '../format.ts';
import { CosmigError } from '../../lib/errors.ts';
import { nextStep } from '../status/next-step.ts';
import { inTurn } from '../turns/in-turn.ts';
import type { DOCTOR_RESULT } from '../json/tool-results.ts';
import type { TypeOf } from '../json/schema.ts';
import { resultOrThrow } from './result-or-throw.ts';
import { runParts, type SpecContext } from './run-engine.ts';

export async function runDoctor(context: SpecContext): Promise<Result> {
  const { out, env, signal } = context;
  const { spec, connections, clock, random, log } = runParts(context);
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { examine } = await import('../../doctor/doctor.ts');
  let heading: string | undefined;
  const onChecks = (made: readonly Check[]): void => {
    // Not awaited: the few lines fit into the buffer of stdout.
    void out.line(checkText(made, heading));
    heading = made[0] === undefined ? heading : headingOf(made[0]);
  };
  const checks = await examine({ spec, connections, env, clock, random, log, signal, onChecks });
  const error = errorForChecks(checks);
  const json: TypeOf<typeof DOCTOR_RESULT> = {
    command: 'doctor',
    migration: migrationName(spec),
    complete: error === undefined,
    checks,
    ...errorJson(error),
  };
  const result = { json, text: summaryText(checks) };
  if (error !== undefined) return resultOrThrow(result, error, out);
  const next = await nextInTurn(context);
  // Without a ledger no migration has begun.
  return {
    aside: 'next: cosmig copy --dry-run estimates RU and time, and writes nothing',
    ...result,
    ...next,
  };
}

/** Returns what to do next in the newest turn of the migration. What is wrong with its ledgers is shown by a check. */
async function nextInTurn(context: SpecContext): Promise<{ readonly aside?: string }> {
  const { config = [], ledger = [], source = [], target = [], ...rest } = context.options;
  const options = { ...rest, config, ledger, source, target };
  try {
    const result = await inTurn({ ...context, options }, 'newest', async (turned) => {
      return { json: {}, text: '', ...(await nextStep(turned)) };
    });
    return result?.aside === undefined ? {} : { aside: result.aside };
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    return {};
  }
}
