/** `cosmig copy --dry-run`: inspects both containers and writes to neither. */
import type { Result } from '../../cli/command.ts';
import { UsageError } from '../../lib/errors.ts';
import { flagOf } from '../../lib/flags.ts';
import type { Inspection } from '../../preflight/inspect.ts';
import { nextLine, statusNow } from '../status/next-step.ts';
import type { Status } from '../status/status-data.ts';
import { phaseText } from '../status/status.ts';
import { runParts, type SpecContext } from './run-engine.ts';

interface RunFlags {
  readonly adoptTarget: boolean;
  readonly watch: string | undefined;
  readonly metricsFile: readonly string[];
  readonly notify: string | undefined;
  readonly notifyCommand: string | undefined;
}

/**
 * Refuses flags about a run, which a dry run would ignore. The same settings in the environment or in the config file
 * are for the runs that follow, and are not refused.
 */
export function refuseRunFlags(
  { adoptTarget, watch, metricsFile, notify, notifyCommand }: RunFlags,
  env: SpecContext['env'],
): void {
  const isGiven = {
    adoptTarget,
    watch: watch !== undefined,
    metricsFile: metricsFile.length > 0,
    notify: notify !== undefined && notify !== env['COSMIG_NOTIFY'],
    notifyCommand: notifyCommand !== undefined && notifyCommand !== env['COSMIG_NOTIFY_COMMAND'],
  };
  const given = Object.entries(isGiven).find(([, is]) => is)?.[0];
  if (given === undefined) return;
  throw new UsageError(`--dry-run cannot be combined with --${flagOf(given)}`, {
    why: adoptTarget
      ? '--adopt-target keeps what it reads in a ledger; it too changes neither container without --yes'
      : 'a dry run moves nothing and writes nothing, so there is nothing to show or to report',
    hint: `leave out --${flagOf(given)}, or leave out --dry-run`,
  });
}

export async function runDryRun(context: SpecContext): Promise<Result> {
  const { signal } = context;
  const parts = runParts(context);
  const { spec, connections } = parts;
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { inspect } = await import('../../preflight/inspect.ts');
  const { checkBegun } = await import('../../preflight/begun.ts');
  const { dryRunJson, dryRunText } = await import('../dry-run.ts');
  const { connectBoth } = await import('../../cosmos/account/connect-both.ts');
  const { Ledger } = await import('../../state/ledger.ts');
  using accounts = await connectBoth(connections, { signal, clock: parts.clock, log: parts.log });
  const known = Ledger.peek(spec.ledger);
  const inspection = await inspect({ ...parts, accounts, signal, ...known });
  // A copy would refuse what the ledger does not know any longer.
  if (known.hasBegun) checkBegun(spec, inspection);
  const json = dryRunJson(inspection, spec);
  if (!known.hasBegun) return { json, text: dryRunText(inspection, spec), ...asideOfNew(inspection) };
  const status = await statusNow(context);
  return {
    json,
    text: dryRunText(inspection, spec, begunText(status)),
    // A copy continues what has begun, or replicates what is new; the status knows what there is to do.
    ...nextLine(status?.next ?? null, 'this migration has begun; '),
  };
}

/** Returns how far the migration is: the estimate of a dry run is always that of a whole copy. */
function begunText(status: Status | null): string {
  const phase = status === null ? '' : ` (phase ${phaseText(status)})`;
  return `this migration has begun${phase}; the sample and the estimate are for all of the source`;
}

function asideOfNew({ warnings }: Inspection): Pick<Result, 'aside'> {
  return {
    aside:
      warnings.length === 0
        ? 'next: cosmig copy'
        : 'next: read the warnings; cosmig copy --yes continues in spite of them',
  };
}
