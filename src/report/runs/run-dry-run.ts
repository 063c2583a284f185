/** `cosmig copy --dry-run`: inspects both containers and writes to neither. */
import type { Result } from '../../cli/command.ts';
import { runParts, type SpecContext } from './run-engine.ts';

export async function runDryRun(context: SpecContext): Promise<Result> {
  const { signal } = context;
  const parts = runParts(context);
  const { spec, connections } = parts;
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { inspect } = await import('../../preflight/inspect.ts');
  const { dryRunJson, dryRunText } = await import('../dry-run.ts');
  const { connectBoth } = await import('../../cosmos/account/connect-both.ts');
  const { Ledger } = await import('../../state/ledger.ts');
  using accounts = await connectBoth(connections, { signal, clock: parts.clock, log: parts.log });
  const inspection = await inspect({ ...parts, accounts, signal, ...Ledger.peek(spec.ledger) });
  return { json: dryRunJson(inspection, spec), text: dryRunText(inspection, spec) };
}
