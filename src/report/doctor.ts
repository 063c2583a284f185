/** The result of `cosmig doctor`: a line for each check, and what to do about those that are not ok. */
import type { Check } from '../doctor/check.ts';
import { NotReadyError } from '../lib/errors.ts';
import { wrapText } from './format.ts';

const COLUMNS = 80;
const INDENT = 10;

const HEADINGS: Readonly<Record<Check['about'], string>> = {
  machine: 'this machine',
  source: 'source',
  target: 'target',
};

/** Returns the heading under which a check is printed. The disk is checked last, when the number of documents is known. */
export function headingOf({ about, name }: Check): string {
  return name === 'disk' ? 'disk of the ledger' : HEADINGS[about];
}

/**
 * Returns the lines of a check, or those of several checks that are skipped together. `heading` is the heading
 * printed last.
 */
export function checkText(checks: readonly Check[], heading: string | undefined): string {
  const [check] = checks;
  if (check === undefined) return '';
  const { state, message, why, hint } = check;
  const lines = heading === headingOf(check) ? [] : [headingOf(check)];
  const skipped = state === 'skipped' ? `${checks.map(({ name }) => name).join(', ')}: ` : '';
  lines.push(...indented(`  ${state}`, skipped + message));
  if (why !== null) lines.push(...indented('    why', why));
  if (hint !== null) lines.push(...indented('    now', hint));
  return lines.join('\n');
}

/** Breaks a text into lines of at most 80 columns. `head` precedes the first line. */
export function indented(head: string, text: string): string[] {
  return wrapText(text, COLUMNS - INDENT - 1).map(
    (line, index) => `${(index === 0 ? head : '').padEnd(INDENT)} ${line}`,
  );
}

const NOT_VISIBLE =
  'Not visible to cosmig: throughput buckets, priority-based execution, merged\npartitions, and how long the change feed keeps deletes (docs/migration.md).';

/** Returns how many checks there were, and how many ended in each state. */
export function summaryText(checks: readonly Check[]): string {
  const count = (state: Check['state']): number => checks.filter((check) => check.state === state).length;
  const others = (['warning', 'failed', 'skipped'] as const)
    .filter((state) => count(state) > 0)
    .map((state) => `${count(state)} ${state === 'warning' && count(state) > 1 ? 'warnings' : state}`);
  const counts = [`${checks.length} checks: ${count('ok')} ok`, ...others].join(', ');
  return `${counts}\n${NOT_VISIBLE}`;
}

/** Returns the error with which the command ends, or undefined if no check failed. */
export function errorForChecks(checks: readonly Check[]): NotReadyError | undefined {
  const failed = checks.filter(({ state }) => state === 'failed');
  const [first] = failed;
  if (first === undefined) return undefined;
  const named = failed.map(({ about, name }) => `${about} ${name}`).join(', ');
  const isOne = failed.length === 1;
  return new NotReadyError(isOne ? 'a check failed' : `${failed.length} checks failed`, {
    why: `${named}: see above`,
    hint: `do what ${isOne ? 'it says' : 'each of them says'}, then run cosmig doctor again`,
  });
}
