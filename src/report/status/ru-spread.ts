/**
 * The RU that cosmig has used of each physical partition, from the last reports of its runs. Invariant: only reports
 * with the same partitions are added up, since the RU of a partition that was split belongs to none of the new ones.
 */
import type { RunReport, SideReport } from '../../state/runs.ts';
import type { SideName } from '../../cosmos/side.ts';

export interface RuSpread {
  readonly ranges: ReadonlyArray<{
    readonly id: string;
    readonly min: string;
    readonly max: string;
    readonly ru: number;
  }>;
  /** The RU of these partitions. */
  readonly ru: number;
}

/** Returns the RU of the partitions that have used most of it; null: no run has reported any. */
export function ruSpreadOf(reports: readonly RunReport[], side: SideName): RuSpread | null {
  const layouts = new Map<string, SideReport[]>();
  for (const { [side]: report } of reports) {
    const layout = JSON.stringify(report.ranges.map(({ id, min, max }) => [id, min, max]));
    const same = layouts.get(layout);
    if (same === undefined) layouts.set(layout, [report]);
    else same.push(report);
  }
  const spreads = [...layouts.values()].map(addedUp).filter(({ ru }) => ru > 0);
  return spreads.toSorted((one, other) => other.ru - one.ru)[0] ?? null;
}

function addedUp(reports: readonly SideReport[]): RuSpread {
  const [first] = reports;
  const ranges = (first?.ranges ?? []).map(({ id, min, max }, index) => {
    const ru = reports.reduce((sum, report) => sum + (report.ranges[index]?.ru ?? 0), 0);
    return { id, min, max, ru };
  });
  return { ranges, ru: ranges.reduce((sum, { ru }) => sum + ru, 0) };
}
