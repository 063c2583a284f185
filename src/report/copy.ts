/** A picture of a run as people and scripts read it. */
import type { Snapshot } from '../engine/progress/snapshot.ts';
import type { CosmigError } from '../lib/errors.ts';
import { count, table } from './format.ts';

/** The result for `--json` (the public contract: names stay). */
export function moveJson(
  command: string,
  { goal: _goal, waitsFor: _waitsFor, outlook: _outlook, sweepPending, ...snapshot }: Snapshot,
  error?: CosmigError,
): Readonly<Record<string, unknown>> {
  const told =
    error === undefined ? {} : { error: { code: error.code, message: error.message, hint: error.hint } };
  return { command, ...snapshot, ...(sweepPending ? { sweepPending } : {}), ...told };
}

/** The result for people. */
export function moveText(snapshot: Snapshot): string {
  const { documents, ru, throttled, durationMs, lagSeconds, ranges, phase, migration } = snapshot;
  const copying = ranges.filter((range) => range.phase === 'copy').length;
  const rows: (readonly [string, string])[] = [
    ['migration', migration],
    ['phase', phase],
    ['read', count(documents.read)],
    ['written', count(documents.written)],
    ['moved', count(documents.moved)],
    ['deleted', count(documents.deleted)],
    ['dead letters', count(documents.deadLettered)],
    ['ranges', copying === 0 ? `${ranges.length}` : `${ranges.length - copying} of ${ranges.length} copied`],
    [
      'RU',
      `${count(Math.round(ru.source))} source, ${count(Math.round(ru.target))} target, ${count(throttled)} throttled`,
    ],
    ['took', duration(durationMs)],
  ];
  if (lagSeconds !== null) rows.push(['lag', `${lagSeconds} s`]);
  if (snapshot.sweepPending)
    rows.push(['deletes', 'some were not told of; compare both sides before the cutover']);
  return table(rows);
}

function duration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
