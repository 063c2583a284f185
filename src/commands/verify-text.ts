/** A verdict as people and scripts read it. */
import type { CosmigError } from '../lib/errors.ts';
import type { KINDS, Sample, Verdict } from '../verify/verdict.ts';
import { count, counted, table, tallied } from './wording.ts';

/** The result for `--json` (the public contract: names stay). */
export function verifyJson(verdict: Verdict, error?: CosmigError): Readonly<Record<string, unknown>> {
  const { details: _details, ...told } = verdict;
  const failure =
    error === undefined ? {} : { error: { code: error.code, message: error.message, hint: error.hint } };
  return { command: 'verify', ...told, ...failure };
}

/** The result for people. */
export function verifyText(verdict: Verdict): string {
  const { migration, level, source, target, differences, inFlight, letters, settings, ru, samples } = verdict;
  const rows: (readonly [string, string])[] = [
    ['migration', migration],
    ['level', level === 'count' ? 'count (says nothing about what is in the documents)' : 'digest'],
    ['equal', EQUAL[String(verdict.equal)] ?? ''],
    ['source', counted(source.count, 'document')],
    ['target', counted(target.count, 'document')],
    ['differences', tallied(differences) || 'none'],
  ];
  if (inFlight > 0) rows.push(['in flight', count(inFlight)]);
  if (letters.open + letters.discarded > 0)
    rows.push(['dead letters', `${count(letters.open)} open, ${count(letters.discarded)} discarded`]);
  for (const { setting, source: one, target: other } of settings)
    rows.push(['setting', `${setting}: ${short(one)} in the source, ${short(other)} in the target`]);
  rows.push(['RU', `${count(Math.round(ru.source))} source, ${count(Math.round(ru.target))} target`]);
  rows.push(['took', `${(verdict.durationMs / 1000).toFixed(1)} s`]);
  return [table(rows), ...samples.map(sampleText)].join('\n');
}

const EQUAL: Readonly<Record<string, string>> = { true: 'yes', false: 'NO', null: 'not proven' };

const KIND_WORDS: Readonly<Record<(typeof KINDS)[number], string>> = {
  missing: 'missing',
  extra: 'extra',
  different: 'different',
  wrongSlot: 'wrong slot',
};

function sampleText({ kind, id, sourceKey, targetKey }: Sample): string {
  const key = targetKey === null ? 'none' : JSON.stringify(targetKey);
  return `${KIND_WORDS[kind].padEnd(12)} ${JSON.stringify(id)}  source key ${JSON.stringify(sourceKey)}  target key ${key}`;
}

const SHOWN_MAX = 60;

function short(text: string): string {
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}...`;
}
