/** `cosmig copy`: the bulk of a migration, up to the anchors; or what it would do, with `--dry-run`. */
import type { Command, Result } from '../cli/command.ts';
import { connect } from '../cosmos/account/client.ts';
import { systemRandom } from '../lib/random.ts';
import { SPEC_OPTIONS } from '../spec/fields.ts';
import { loadSpec } from '../spec/load.ts';
import { migrationName } from '../spec/migration-name.ts';
import { move, type MoveContext } from '../report/run-engine.ts';
import { preflightJson, preflightText } from '../report/dry-run.ts';

const OPTIONS = {
  ...SPEC_OPTIONS,
  dryRun: {
    type: 'boolean',
    default: false,
    help: 'look at both containers, show what would be done and what it costs, and write nothing anywhere',
  },
} as const;

export const copy: Command<typeof OPTIONS> = {
  name: 'copy',
  summary: 'copy a container into one with another partition key, while it is in use',
  description:
    'Copies every document of the source into the target under its new key, up to the moment it began; what is written ' +
    'after that is for cosmig tail. Looks at everything first and refuses what cannot work. Stop it at any time and run ' +
    'it again: it goes on. Run again after its end it brings over what is new.',
  examples: [
    {
      line: 'cosmig copy --source shop/orders --target shop/orders-by-tenant --partition-key /tenantId --create-target --dry-run',
      purpose: 'what would happen, and what it would cost',
    },
    {
      line: "cosmig copy --source shop/orders --target shop/orders-by-month --derive '/pk={tenantId}-{createdAt|month}' --target-ru 80%",
      purpose: 'a key that is put together, with a fifth of the RU/s left for others',
    },
  ],
  options: OPTIONS,
  async run(context) {
    return context.options.dryRun ? dryRun(context) : move('copy', 'copy', context);
  },
};

async function dryRun({ options, env, clock, signal, log }: MoveContext): Promise<Result> {
  const { spec, connections } = loadSpec({ options, env, clock });
  const { inspect } = await import('../preflight/inspect.ts');
  using source = await connect(connections.source, { signal });
  using other =
    connections.target === connections.source ? undefined : await connect(connections.target, { signal });
  const accounts = { source, target: other ?? source };
  const { hasBegun } = await import('../engine/assemble.ts');
  const parts = { spec, connections, accounts, clock, random: systemRandom, signal, log };
  const inspection = await inspect({ ...parts, hasBegun: hasBegun(spec.ledger) });
  const json = preflightJson(inspection, { spec, migration: migrationName(spec) });
  return { json, text: preflightText(inspection, spec) };
}
