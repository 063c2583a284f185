/** The verdict of a comparison, as text for people and as JSON for scripts. */
import { formatTime } from '../lib/clock.ts';
import { formatCount, pluralize } from '../lib/counting.ts';
import type { CosmigError } from '../lib/errors.ts';
import { describeDifferences, KIND_WORDS, type DifferenceSample, type Verdict } from '../verify/verdict.ts';
import {
  elideCommonPrefix,
  errorJson,
  formatAge,
  formatDuration,
  formatRu,
  isoTime,
  table,
  wrapRow,
  type TextRow,
} from './format.ts';
import type { VERIFY_UNFINISHED, VerifyResult } from './json/run-results.ts';
import type { TypeOf } from './json/schema.ts';
import { rangeRows } from './range-rows.ts';

/** Returns the result for `--json`. Its names are part of the public contract. */
export function verifyJson(verdict: Verdict, error?: CosmigError): VerifyResult {
  const { details, ...shown } = verdict;
  const ranges = verdict.level === 'count' ? { ranges: details.ranges } : {};
  const { beganAtMs, lookedAtAgain: rechecked = 0 } = details;
  const counted = { countsAt: isoTime(beganAtMs), rechecked };
  return { command: 'verify', ...shown, ...counted, ...ranges, ...errorJson(error) };
}

/** Returns the result of a comparison that ended before it had a verdict: nothing is proven. */
export function unfinishedJson(
  compared: Pick<Verdict, 'migration' | 'level'>,
  error: CosmigError,
): TypeOf<typeof VERIFY_UNFINISHED> {
  return { command: 'verify', ...compared, equal: null, complete: false, ...errorJson(error) };
}

function repairedRows({ repaired }: Verdict): TextRow[] {
  if (repaired === undefined) return [];
  const { written, deleted, deletedIds } = repaired;
  const more = deleted > deletedIds.length ? ', ...' : '';
  const named = deletedIds.length === 0 ? '' : `: ${deletedIds.join(', ')}${more}`;
  return wrapRow([
    'repaired',
    `${pluralize(written, 'document')} written, ${formatCount(deleted)} removed${named}`,
  ]);
}

const BECAME = { moved: 'was moved', gone: 'is gone', changed: 'was changed' } as const;

/** Returns the row of the dead letters that the repair has closed. */
function closedRows({ closedLetters }: Verdict): TextRow[] {
  if (closedLetters === undefined) return [];
  const { closed, named, meanwhile } = closedLetters;
  const each = named.map(
    ({ id, sourceKey, became }) => `${JSON.stringify(id)} of ${JSON.stringify(sourceKey)} ${BECAME[became]}`,
  );
  const more = closed > named.length ? [`and ${formatCount(closed - named.length)} more`] : [];
  const before = closed === 0 ? [] : [`${formatCount(closed)} closed: ${[...each, ...more].join(', ')}`];
  const others = closed === 0 ? '' : ' more';
  const during =
    meanwhile === 0 ? [] : [`${formatCount(meanwhile)}${others} opened and closed while the repair ran`];
  return wrapRow(['dead letters', [...before, ...during].join('; ')]);
}

/**
 * Whether the verdict does not explain how the numbers of documents differ. Documents that were checked again one by one
 * are not counted again, so both sides may be equal although the numbers differ, or the smaller side may have documents
 * too many.
 */
function areNumbersOdd({ equal, source, target, differences: { extra, missing } }: Verdict): boolean {
  return target.count - source.count !== (equal === false ? extra - missing : 0);
}

/**
 * Returns to which moment the numbers of documents belong, as the end of a sentence; empty: to that of the verdict.
 * A comparison that is resumed, or that checks what was repaired, may have read both sides long ago; each side then has a
 * number of its own moment, since a side is not read at once.
 */
function whenRead(verdict: Verdict): string {
  const { beganAtMs, isResumed = false, lookedAtAgain = 0 } = verdict.details;
  if (lookedAtAgain === 0) return '';
  if (isResumed) return `, read from ${formatTime(beganAtMs)} on`;
  return areNumbersOdd(verdict) ? ' when it was read' : '';
}

/** Returns the result as text for people. `isCommitted`: nothing replicates the source any longer. */
export function verifyText(verdict: Verdict, isCommitted = false): string {
  const { migration, level, source, target, differences, inFlight, letters, settings, samples } = verdict;
  const { ranges, lookedAtAgain: rechecked = 0 } = verdict.details;
  const isCount = level === 'count';
  const equal = EQUAL[String(verdict.equal)] ?? '';
  // Where nothing is proven, what may be in flight may be why the numbers differ.
  const areNumbersOlder = verdict.equal !== null && areNumbersOdd(verdict);
  const rows: TextRow[] = [
    ['migration', migration],
    ['level', isCount ? 'count (the content of documents is not compared)' : 'digest'],
    ['equal', `${equal}${isCount && verdict.equal === true ? ', in number' : ''}`],
    ...wrapRow(['source', `${pluralize(source.count, 'document')}${whenRead(verdict)}`]),
    ...(isCount ? rangeRows(ranges.source) : []),
    ...wrapRow(['target', `${pluralize(target.count, 'document')}${whenRead(verdict)}`]),
    ...(isCount ? rangeRows(ranges.target) : []),
    ['differences', describeDifferences(differences) || 'none'],
    ...repairedRows(verdict),
    ...closedRows(verdict),
  ];
  // Documents that were written between the two scans are rechecked one by one. Without this row, two unequal counts
  // would seem to contradict the verdict.
  if (rechecked > 0)
    rows.push(
      ...wrapRow([
        'rechecked',
        `${pluralize(rechecked, 'document')} one by one after both sides were read: what had changed or seemed to differ${areNumbersOlder ? '; the numbers of source and target are from before that' : ''}`,
      ]),
    );
  if (verdict.longIntegers !== undefined) {
    const { source: here, target: there } = verdict.longIntegers;
    const counts = `${pluralize(here, 'document')} in the source, ${formatCount(there)} in the target`;
    rows.push(...wrapRow(['long integers', `${counts}: integers beyond 2^53, which the service may round`]));
  }
  if (inFlight > 0)
    rows.push(...wrapRow([isCommitted ? 'not replicated' : 'in flight', inFlightText(verdict)]));
  if (letters.open + letters.discarded > 0) rows.push(...wrapRow(['dead letters', lettersText(verdict)]));
  for (const { setting, source: one, target: other } of settings) {
    const [here, there] = elideCommonPrefix(one, other);
    rows.push(['setting', `${setting}: ${here} in the source, ${there} in the target`]);
  }
  const notSeen = verdict.settingsNotSeen.join(', ');
  if (notSeen !== '')
    rows.push(['setting', `${notSeen}: not compared, since you have no right to read them`]);
  rows.push(['RU', formatRu(verdict.ru)], ['took', formatDuration(verdict.durationMs)]);
  const more = totalOf(differences) - samples.length;
  const rest =
    samples.length > 0 && more > 0 ? [`and ${formatCount(more)} more; --report FILE lists all of them`] : [];
  return [table(rows), ...samples.map(sampleText), ...rest].join('\n');
}

export function totalOf(differences: Verdict['differences']): number {
  return Object.values(differences).reduce((sum, one) => sum + one, 0);
}

/**
 * Returns the row of dead letters. The target may hold an older version of a letter's document, and a count includes
 * this document on both sides. So only the letters whose documents cannot be in the target explain a lower count there.
 */
function lettersText({ level, letters: { open, discarded, absent } }: Verdict): string {
  const all = `${formatCount(open)} open, ${formatCount(discarded)} discarded`;
  return level === 'count'
    ? `${all}; ${formatCount(absent)} of the open ones cannot be in the target`
    : `${all}; their documents do not count as differences`;
}

const EQUAL: Readonly<Record<string, string>> = { true: 'yes', false: 'NO', null: 'not proven' };

/**
 * Returns how many documents are in flight and since when the oldest is. A high age shows that documents are not
 * being replicated.
 */
function inFlightText({ inFlight, details }: Verdict): string {
  const { oldestInFlightMs: oldestMs = null } = details;
  return `${pluralize(inFlight, 'document')}${oldestMs === null ? '' : `, the oldest for ${formatAge(oldestMs)}`}`;
}

function sampleText({ kind, id, sourceKey, targetKey }: DifferenceSample): string {
  const key = targetKey === null ? 'none' : JSON.stringify(targetKey);
  return `${KIND_WORDS[kind].padEnd(12)} ${JSON.stringify(id)}  source key ${JSON.stringify(sourceKey)}  target key ${key}`;
}
