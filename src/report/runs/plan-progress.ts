/** The live line of a plan: how much was read, and what it waits for while nothing arrives. */
import type { Reporter } from '../../cli/command.ts';
import { formatCount, formatShare } from '../../lib/counting.ts';
import type { PlanParts } from '../../plan/plan.ts';

/** Returns what a plan calls with its cost, its progress and its waits. */
export function planProgress(
  out: Pick<Reporter, 'note' | 'progress'>,
): Pick<PlanParts, 'onCost' | 'onProgress' | 'onWait'> {
  let expected: number | null = null;
  let read = { documents: 0, ru: 0 };
  const show = (waitsFor: string | null): void =>
    out.progress({ ...read, expected, waitsFor }, () => planLine({ ...read, expected, waitsFor }));
  return {
    onCost: ({ ru, documents, share }) => {
      if (ru === null || documents === null) return;
      expected = Math.round(documents * share);
      const what =
        share < 1
          ? `a sample of about ${formatCount(expected)} documents`
          : `about ${formatCount(expected)} documents`;
      out.note(`reading ${what} will cost about ${formatCount(ru)} RU`);
    },
    onProgress: (progress) => {
      read = progress;
      show(null);
    },
    onWait: (reason) => show(reason),
  };
}

interface Picture {
  readonly documents: number;
  readonly expected: number | null;
  readonly ru: number;
  readonly waitsFor: string | null;
}

function planLine({ documents, expected, ru, waitsFor }: Picture): string {
  const share =
    expected === null || expected === 0 ? '' : ` (${formatShare(Math.min(1, documents / expected))})`;
  const waits = waitsFor === null ? '' : `, waits: ${waitsFor}`;
  return `plan: ${formatCount(documents)} documents read${share}, ${formatCount(Math.round(ru))} RU${waits}`;
}
