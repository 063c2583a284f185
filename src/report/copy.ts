/** The result of a run of the engine (copy, tail, retry), as text for people and as JSON for scripts. */
import type { RunSnapshot } from '../engine/progress/snapshot.ts';
import { describeAdoption } from '../engine/map/adoption-counts.ts';
import { formatCount } from '../lib/counting.ts';
import type { CosmigError } from '../lib/errors.ts';
import { errorJson, formatDuration, formatRu, longIntegerRows, table, type TextRow } from './format.ts';
import type { RunResult } from './json/run-results.ts';
import { phaseOfEnded } from './status/status.ts';

/** Returns the result for `--json`. Its names are part of the public contract. */
export function runJson(
  command: string,
  {
    goal: _goal,
    waitsFor: _waitsFor,
    outlook: _outlook,
    load: _load,
    sweepPending,
    ...snapshot
  }: RunSnapshot,
  error?: CosmigError,
): RunResult {
  return { command, ...snapshot, ...(sweepPending ? { sweepPending } : {}), ...errorJson(error) };
}

/** Returns the result of a retry of dead letters as text for people: it reads no range of the source. */
export function retryText({ documents, ru, throttled, durationMs, migration }: RunSnapshot): string {
  return table([
    ['migration', migration],
    ['written', formatCount(documents.written)],
    ['dead letters', `${formatCount(documents.deadLettered)} still open`],
    ...usedRows({ ru, throttled, durationMs }),
  ]);
}

function usedRows({
  ru,
  throttled,
  durationMs,
}: Pick<RunSnapshot, 'ru' | 'throttled' | 'durationMs'>): TextRow[] {
  return [
    ['RU', `${formatRu(ru)}, ${formatCount(throttled)} throttled`],
    ['took', formatDuration(durationMs)],
  ];
}

/** Returns the result as text for people. `isBack`: the run was in a turn that leads back. */
export function runText(snapshot: RunSnapshot, isBack: boolean): string {
  const { goal, complete, documents, lagSeconds, ranges, phase, migration, adoption } = snapshot;
  const copying = ranges.filter((range) => range.phase === 'copy').length;
  const rows: TextRow[] = [
    ['migration', migration],
    ['phase', phaseOfEnded(phase, { isBack, isCopy: goal === 'copy' })],
    ...(adoption === undefined ? [] : ([['found', describeAdoption(adoption)]] as const)),
    ['read', formatCount(documents.read)],
    ['written', formatCount(documents.written)],
    ['moved', `${formatCount(documents.moved)} to a new key, since an update changed its value`],
    ['deleted', formatCount(documents.deleted)],
    ['dead letters', formatCount(documents.deadLettered)],
    ...longIntegerRows(documents.longIntegers),
    ['ranges', copying === 0 ? `${ranges.length}` : `${ranges.length - copying} of ${ranges.length} copied`],
    ...usedRows(snapshot),
  ];
  // The age of the last change that was read would look like something that is left.
  if (goal === 'catch-up' && complete) rows.push(['lag', 'none: what was there is replicated']);
  else if (lagSeconds !== null) rows.push(['lag', `${lagSeconds} s`]);
  if (snapshot.sweepPending)
    rows.push([
      'deletes',
      'the change feed has lost some, or renames; compare both sides before the cutover',
    ]);
  return table(rows);
}
