/** A verdict as people and scripts read it. */
import type { CosmigError } from '../lib/errors.ts';
import type { RangeCount } from '../verify/counts/count-ranges.ts';
import { KINDS, type Sample, type Verdict } from '../verify/verdict.ts';
import { count, counted, roughly, shortened, table, tallied } from './format.ts';

/** The result for `--json` (the public contract: names stay). */
export function verifyJson(verdict: Verdict, error?: CosmigError): Readonly<Record<string, unknown>> {
  const { details, ...told } = verdict;
  const ranges = verdict.level === 'count' ? { ranges: details.ranges } : {};
  return { command: 'verify', ...told, ...ranges, ...(error === undefined ? {} : errorJson(error)) };
}

/** The same of one that was ended before it had a verdict: nothing is proven. */
export function unendedJson(
  compared: Pick<Verdict, 'migration' | 'level'>,
  error: CosmigError,
): Readonly<Record<string, unknown>> {
  return { command: 'verify', ...compared, equal: null, complete: false, ...errorJson(error) };
}

function errorJson({ code, message, hint }: CosmigError): Readonly<Record<string, unknown>> {
  return { error: { code, message, hint } };
}

/** The result for people. */
export function verifyText(verdict: Verdict): string {
  const { migration, level, source, target, differences, inFlight, letters, settings, ru, samples } = verdict;
  const { ranges } = verdict.details;
  const isCount = level === 'count';
  const rows: (readonly [string, string])[] = [
    ['migration', migration],
    ['level', isCount ? 'count (says nothing about what is in the documents)' : 'digest'],
    [
      'equal',
      `${EQUAL[String(verdict.equal)] ?? ''}${isCount && verdict.equal === true ? ', in number' : ''}`,
    ],
    ['source', counted(source.count, 'document')],
    ...(isCount ? rangeRows(ranges.source) : []),
    ['target', counted(target.count, 'document')],
    ...(isCount ? rangeRows(ranges.target) : []),
    ['differences', kindsText(differences) || 'none'],
  ];
  // What makes two numbers of one: documents that were written while one side after the other was read.
  const again = Number(verdict.details['lookedAtAgain'] ?? 0);
  if (again > 0) rows.push(['looked at again', `${counted(again, 'document')}, one by one`]);
  if (inFlight > 0) rows.push(['in flight', inFlightText(verdict)]);
  if (letters.open + letters.discarded > 0) rows.push(['dead letters', lettersText(verdict)]);
  for (const { setting, source: one, target: other } of settings) {
    const [here, there] = shortened(one, other);
    rows.push(['setting', `${setting}: ${here} in the source, ${there} in the target`]);
  }
  const { settingsNotSeen } = verdict;
  if (settingsNotSeen.length > 0)
    rows.push([
      'setting',
      `${settingsNotSeen.join(', ')}: not compared, since you have no right to see them`,
    ]);
  rows.push(['RU', `${count(Math.round(ru.source))} source, ${count(Math.round(ru.target))} target`]);
  rows.push(['took', `${(verdict.durationMs / 1000).toFixed(1)} s`]);
  const total = Object.values(differences).reduce((sum, one) => sum + one, 0);
  const more = total - samples.length;
  const rest =
    samples.length > 0 && more > 0 ? [`and ${count(more)} more; all of them with --report FILE`] : [];
  return [table(rows), ...samples.map(sampleText), ...rest].join('\n');
}

/** Of others an older version may stay in the target, so that they are counted on both sides or on one. */
function lettersText({ level, letters: { open, discarded, absent } }: Verdict): string {
  const all = `${count(open)} open, ${count(discarded)} discarded`;
  return level === 'count'
    ? `${all}; ${count(absent)} of the open ones cannot be in the target`
    : `${all}; their documents are no differences`;
}

/** More are in --json. */
const RANGES_SHOWN = 8;

function rangeRows(ranges: readonly RangeCount[]): ReadonlyArray<readonly [string, string]> {
  const row = (name: string, documents: number, rest: string): readonly [string, string] => [
    `  ${name}`,
    `${count(documents).padStart(14)}  ${rest}`,
  ];
  const shown = ranges
    .slice(0, RANGES_SHOWN)
    .map(({ id, min, max, documents }) => row(id, documents, `[${place(min)}, ${place(max)})`));
  const rest = ranges.slice(RANGES_SHOWN);
  if (rest.length === 0) return shown;
  const documents = rest.reduce((sum, range) => sum + range.documents, 0);
  return [...shown, row(`${count(rest.length)} more`, documents, 'one by one with --json')];
}

/** Where a range begins says itself in its first places. */
function place(key: string): string {
  return key.length <= 8 ? key : `${key.slice(0, 8)}..`;
}

const EQUAL: Readonly<Record<string, string>> = { true: 'yes', false: 'NO', null: 'not proven' };

export const KIND_WORDS: Readonly<Record<(typeof KINDS)[number], string>> = {
  missing: 'missing',
  extra: 'extra',
  different: 'different',
  wrongSlot: 'wrong key',
};

/** `2 missing, 1 wrong key`. */
export function kindsText(differences: Verdict['differences']): string {
  return tallied(Object.fromEntries(KINDS.map((kind) => [KIND_WORDS[kind], differences[kind]])));
}

/** How long they are on their way says whether anybody brings them over. */
function inFlightText({ inFlight, details }: Verdict): string {
  const { oldestInFlightMs: oldestMs = null } = details;
  return `${counted(inFlight, 'document')}${oldestMs === null ? '' : `, the oldest for ${roughly(oldestMs)}`}`;
}

function sampleText({ kind, id, sourceKey, targetKey }: Sample): string {
  const key = targetKey === null ? 'none' : JSON.stringify(targetKey);
  return `${KIND_WORDS[kind].padEnd(12)} ${JSON.stringify(id)}  source key ${JSON.stringify(sourceKey)}  target key ${key}`;
}
