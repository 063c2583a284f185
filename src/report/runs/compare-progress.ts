/** Shows the progress of a comparison, for every command that makes one. */
import type { Context } from '../../cli/command.ts';
import type { VerifyProgress } from '../../verify/verify.ts';
import type { CompareProgress } from '../json/results.ts';
import { Speed, verifyLine } from '../live-line.ts';

/** Returns a function that shows how far a comparison has come. */
export function progressShower({
  clock,
  out,
}: Pick<Context, 'clock' | 'out'>): (progress: VerifyProgress) => void {
  const speed = new Speed();
  return (progress) => {
    const { expected: _expected, budgetRu: _budgetRu, ...shown } = progress;
    const picture: CompareProgress = shown;
    const rates = speed.measure({ atMs: clock.monotonicMs(), documents: progress.source, ru: progress.ru });
    out.progress(picture, (columns) => verifyLine(progress, rates, columns));
  };
}
