/** `cosmig copy`: copies all documents, up to the anchors. With `--dry-run` it only reports what it would do. */
import type { Command } from '../cli/command.ts';
import { PAGE_OPTIONS, withPage } from '../report/runs/live-page.ts';
import { NOTIFY_OPTIONS, withNotices } from '../report/runs/notified.ts';
import { CREATE_OPTIONS, RUN_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  dryRun: {
    type: 'boolean',
    help: 'check both containers, show what would be done and what it would cost, and write nothing anywhere',
  },
  adoptTarget: {
    type: 'boolean',
    help: 'begin with a target that is not empty, for example because its ledger was lost; shows what is in it, and changes it only with --yes',
  },
  ...PAGE_OPTIONS,
  ...NOTIFY_OPTIONS,
  ...CREATE_OPTIONS,
  ...RUN_OPTIONS,
} as const;

export const copy: Command<typeof OPTIONS> = {
  name: 'copy',
  summary: 'copy a container to one with another partition key, while it is in use',
  description:
    'Copies every document of the source to the target under its new key, up to the moment the copy began; cosmig tail ' +
    'replicates what is written later. Checks everything first and refuses what cannot work. Stop it at any time and ' +
    'run it again: it resumes. If you run it again after it has finished, it replicates what is new.',
  examples: [
    {
      line: 'cosmig copy --source shop/orders --target shop/orders-by-customer --partition-key /customerId --create-target --dry-run',
      purpose: 'what would happen, and what it would cost',
    },
    {
      line: "cosmig copy --source shop/orders --target shop/orders-by-month --derive '/pk={tenantId}-{createdAt|month}' --target-ru 80%",
      purpose: 'a key made of two properties; a fifth of the RU/s stays free for others',
    },
  ],
  options: OPTIONS,
  endsWith: { 'dead-letters': true, service: true, ledger: true, budget: true },
  async run(context) {
    const { dryRun, watch, adoptTarget } = context.options;
    if (dryRun) {
      const { refuseRunFlags, runDryRun } = await import('../report/runs/run-dry-run.ts');
      refuseRunFlags(context.options, context.env);
      return runDryRun(context);
    }
    const { loadLedgerPath } = await import('../spec/load.ts');
    const { runCopy } = await import('../report/runs/run-copy.ts');
    return withPage({ watch, ledger: () => loadLedgerPath(context) }, context, async () =>
      withNotices(context, 'copy', async (observer) =>
        runCopy(context, { observer, adoptsTarget: adoptTarget }),
      ),
    );
  },
};
