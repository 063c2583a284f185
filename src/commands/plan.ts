/** `cosmig plan`: measures candidates for the key on the container itself, and recommends one or none. */
import type { Command } from '../cli/command.ts';
import { UsageError } from '../lib/errors.ts';
import { PLAN_OPTIONS } from '../spec/fields.ts';

const OPTIONS = {
  candidate: {
    type: 'raw',
    value: 'KEY',
    repeats: true,
    help: "a key to measure: /path, /path,/path for a hierarchical key, or a template such as '/pk={deviceId}-{createdAt|month}'; repeatable; by default, some are proposed",
  },
  sample: {
    type: 'text',
    value: 'N%',
    help: 'read whole pages of this share of the container, spread over every range',
  },
  exact: {
    type: 'boolean',
    help: 'keep an entry of each document on the disk, so that values and collisions are counted exactly',
  },
  maxRu: { type: 'number', min: 1, max: 1e12, help: 'ask for --yes before a pass that costs more than this' },
  yes: { type: 'boolean', help: 'accept a pass that costs more than --max-ru' },
  fresh: { type: 'boolean', help: 'start from scratch instead of resuming an interrupted plan' },
  observe: {
    type: 'duration',
    help: 'afterwards, follow the change feed for this time: hot values, moves, broken batches',
  },
  created: {
    type: 'text',
    value: 'PATH',
    help: 'property with the creation date, for the growth; by default the last write (_ts)',
  },
  horizon: { type: 'number', default: 12, min: 1, max: 120, help: 'how many months to predict' },
  workload: {
    type: 'text',
    value: 'FILE',
    help: 'queries of the application: an export of --print-kql, or a YAML file',
  },
  printKql: { type: 'boolean', help: 'print the query for Log Analytics that exports the workload, and end' },
  prices: {
    type: 'text',
    value: 'FILE',
    help: 'YAML or JSON file with prices that replace those of the documentation',
  },
  hashValues: {
    type: 'boolean',
    help: 'show hashes instead of key values and ids, which may be personal data',
  },
  report: { type: 'text', value: 'FILE', help: 'write a page with pictures to this file (HTML)' },
  writeConfig: {
    type: 'text',
    value: 'N',
    help: 'write cosmig.config.yaml for this candidate, named by its number in the result or by its text; overwrites nothing',
  },
  ...PLAN_OPTIONS,
} as const;

export const plan: Command<typeof OPTIONS> = {
  name: 'plan',
  summary: 'measure candidates for the key, and recommend one or none',
  description:
    'Reads the container once, at low priority within --source-ru, and measures each candidate and the present key: ' +
    'values, sizes, collisions, balance, recent writes, growth, costs. Recommends one, or to keep the key, with reasons. ' +
    'Needs only the source, with the right to read, and writes to no container. Stop it at any time and run it again: it ' +
    'resumes. Exit code 4 if no candidate will do.',
  examples: [
    {
      line: 'cosmig plan --source shop/orders --report plan.html',
      purpose: 'candidates that are proposed',
    },
    {
      line: "cosmig plan --source shop/orders --candidate /customerId --candidate '/pk={tenantId}-{createdAt|month}' --sample 5%",
      purpose: 'two candidates, measured on a twentieth of the container',
    },
  ],
  options: OPTIONS,
  endsWith: { mismatch: 'no candidate will do', service: true, ledger: true, budget: true },
  async run({
    options: { candidate, sample, exact, maxRu, observe, created, horizon, ...rest },
    ...context
  }) {
    const { yes, fresh, workload, printKql, prices, hashValues, report, writeConfig, ...options } = rest;
    const { runPlan } = await import('../report/runs/run-plan.ts');
    return runPlan(
      { ...context, options },
      {
        candidates: candidate,
        share: shareOf(sample, exact),
        exact,
        ruMax: maxRu ?? null,
        isAccepted: yes,
        fresh,
        observeMs: observe ?? null,
        created: created ?? null,
        horizonMonths: horizon,
        workload,
        printsKql: printKql,
        prices,
        hashesValues: hashValues,
        report,
        config: writeConfig,
      },
    );
  },
};

function shareOf(text: string | undefined, exact: boolean): number {
  if (text === undefined) return 1;
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  const share = Number(percent) / 100;
  if (exact && share < 1)
    throw new UsageError('--exact and --sample exclude each other', {
      why: 'figures are exact only if every document is read, and a sample leaves documents out',
      hint: 'use --exact without --sample, or --sample without --exact',
    });
  if (percent !== undefined && share > 0 && share <= 1) return share;
  throw new UsageError(`--sample ${text} is not a share`, {
    why: 'it is the part of the container that is read, as a percentage above 0 and up to 100',
    hint: 'for example --sample 5%',
  });
}
