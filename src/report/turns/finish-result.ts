/** The result of `cosmig finish`, as text for people and as JSON for scripts: above all, what is left to do. */
import type { Result } from '../../cli/command.ts';
import { migrationName } from '../../spec/migration-name.ts';
import type { MigrationSpec } from '../../spec/migration-spec.ts';
import { ttlText } from '../../spec/refusals.ts';
import { NotReadyError } from '../../lib/errors.ts';
import type { Finished, OpenWayBack } from '../../workflows/finish.ts';
import { formatTimeLeft, table, wrapRow, type TextRow } from '../format.ts';
import { formatTime } from '../../lib/clock.ts';
import type { FINISH_RESULT } from '../json/run-results.ts';
import type { TypeOf } from '../json/schema.ts';

export function finishResult(spec: MigrationSpec, finished: Finished): Result {
  const { inUse, kept, restoredTtl, hasContinuousBackup } = finished;
  const left = leftToDo(spec, finished);
  const json: TypeOf<typeof FINISH_RESULT> = {
    command: 'finish',
    migration: migrationName(spec),
    complete: true,
    inUse,
    kept,
    restoredTtlSeconds: restoredTtl,
    hasContinuousBackup,
    left,
  };
  const ttl: readonly TextRow[] =
    restoredTtl === null ? [] : [['time to live', `of the ${kept} restored: ${ttlText(restoredTtl)}`]];
  const rows = left.map((text, index): TextRow => [index === 0 ? 'left to do' : '', text]);
  const all: readonly TextRow[] = [
    ['finished', `the ${inUse} stays in use; the ${kept} is not kept up to date any longer`],
    ...ttl,
    ...rows,
  ];
  return { json, text: table(all.flatMap((row) => wrapRow(row))) };
}

/** Returns the refusal to end a way back whose time is not over, which says what would end. */
export function stillKept({ kept, keptUntilMs, pausedTtl }: OpenWayBack, nowMs: number): NotReadyError {
  const [keeps, switches] = kept === 'source' ? ['reverse', 'rollback'] : ['tail', 'cutover'];
  const ends = `cosmig finish ends that for good: cosmig ${keeps} and cosmig ${switches} are refused from then on, and to use the ${kept} again takes a new copy`;
  const ttl =
    pausedTtl === null
      ? ''
      : `; the time to live of the ${kept} (${ttlText(pausedTtl)}) is restored, and what has expired meanwhile disappears there`;
  return new NotReadyError(
    `the ${kept} is kept for cosmig ${switches} until ${formatTime(keptUntilMs)}, which is in ${formatTimeLeft(keptUntilMs - nowMs)}`,
    { why: ends + ttl, hint: 'run cosmig finish after that time, or add --yes to end the way back now' },
  );
}

/** What the operator does after the end. cosmig deletes nothing itself. */
function leftToDo(spec: MigrationSpec, { inUse, kept, hasContinuousBackup }: Finished): string[] {
  const { database, container } = spec[kept];
  const used = spec[inUse];
  return [
    hasContinuousBackup === true
      ? `backup: the account of the ${inUse} has continuous backup; a restore reaches back to when ${used.database}/${used.container} was created`
      : `backup: check that the account of the ${inUse} is backed up as you need it; cosmig cannot see that it is`,
    `consumers: move change feed processors, Functions, Synapse or Fabric links from the ${kept} to the ${inUse}`,
    `access: give role assignments and keys of applications for the ${inUse}, and take those for the ${kept} away`,
    `alerts and dashboards: point those of the ${kept} to the ${inUse}`,
    `container: when nothing reads it any longer, delete ${database}/${container}; it costs its throughput and storage until then`,
  ];
}
