/** The result of `cosmig doctor --probe`: a few lines for each question, and the file to attach to an issue. */
import { writeFileSync } from 'node:fs';
import type { ProbeResult } from '../doctor/probes/probe.ts';
import type { Probed } from '../doctor/probes/run-probes.ts';
import { pluralize } from '../lib/counting.ts';
import { MismatchError, type CosmigError } from '../lib/errors.ts';
import { safeStringify } from '../lib/json/json.ts';
import { OWNER_ONLY } from '../lib/sqlite/file.ts';
import { readVersion } from '../lib/version.ts';
import { indented } from './doctor.ts';
import { errorOfWriting } from './runs/report-file.ts';

/** List price of 100 RU/s for an hour, in US cents; the service bills at least an hour. */
const CENTS_PER_100_RU = 0.8;

/** Returns what the scratch containers cost, in words. */
export function costText(containers: number, ruPerSecond: number): string {
  const cents = Math.ceil(((containers * ruPerSecond) / 100) * CENTS_PER_100_RU);
  return `about ${cents} US cents by the list price (${containers} containers with ${ruPerSecond} RU/s each, billed for one hour); on a serverless account less than a cent`;
}

/** The words for the states in the first column, which is too narrow for `not asked`. */
const LABELS: Readonly<Record<ProbeResult['state'], string>> = {
  holds: 'holds',
  differs: 'differs',
  'not asked': 'unasked',
};

export function probeText({ id, fact, state, claim, seen, note }: ProbeResult): string {
  const lines = indented(`  ${LABELS[state]}`, `${id} (${fact}): ${claim}`);
  if (seen !== null) lines.push(...indented('    seen', seen));
  if (note !== null) lines.push(...indented(state === 'differs' ? '    means' : '    why', note));
  return lines.join('\n');
}

export function probesSummary(results: readonly ProbeResult[]): string {
  const count = (state: ProbeResult['state']): number => results.filter((one) => one.state === state).length;
  return `${pluralize(results.length, 'question')}: ${count('holds')} hold, ${count('differs')} differ, ${count('not asked')} not asked; the scratch containers are removed`;
}

/** Returns the text that says what to do with the report. It asks for a report in which everything holds as well. */
export function reportText(path: string): string {
  return `the report is ${path}: read it, and attach it to a new issue\n${NEW_ISSUE}`;
}

const NEW_ISSUE = 'https://github.com/cosmig/cosmig/issues/new?template=probe-report.yml';

/** Returns the error with which the command ends, or undefined if nothing differs. */
export function errorForProbes(results: readonly ProbeResult[]): MismatchError | undefined {
  const differing = results.filter(({ state }) => state === 'differs').map(({ id }) => id);
  if (differing.length === 0) return undefined;
  return new MismatchError(`the service differs from what cosmig relies on: ${differing.join(', ')}`, {
    why: 'each of them says above what changes for a migration',
    hint: 'attach the file of --report to an issue of cosmig before you migrate this account',
  });
}

/**
 * Returns what the report file holds. Invariant: it has no key, no endpoint, and no name of an account, a database or a
 * container; the answers are made of numbers and of the probes' own documents.
 */
export function probesReport(
  { account, results }: Probed,
  nowMs: number,
): Readonly<Record<string, unknown>> & { readonly probes: readonly ProbeResult[] } {
  return {
    versions: { cosmig: readVersion(), node: process.versions.node },
    at: new Date(nowMs).toISOString(),
    account,
    probes: results,
  };
}

/** Renders the report as JSON with one answer on each line. */
function linesOf({ probes, ...head }: ReturnType<typeof probesReport>): string {
  const answers = probes.map((probe) => safeStringify(probe)).join(',\n');
  return `${safeStringify(head).slice(0, -1)},"probes":[\n${answers}\n]}`;
}

/** Writes the report; returns the error if it could not be written. */
export function writeProbesReport(
  path: string,
  report: ReturnType<typeof probesReport>,
): CosmigError | undefined {
  const hint = 'the answers are shown above; run cosmig doctor --probe again with another --report';
  return errorOfWriting(path, hint, () => {
    writeFileSync(path, `${linesOf(report)}\n`, { mode: OWNER_ONLY });
  });
}
