/** What a cutover has come to, for people and for scripts. */
import type { CutoverResult, SettingOutcome } from '../engine/cutover/contract.ts';
import { MismatchError, ServiceError, type CosmigError } from '../lib/errors.ts';
import { counted, instant, shortened, table } from './format.ts';

export function cutoverJson({ committedAtMs, ...told }: CutoverResult): Readonly<Record<string, unknown>> {
  const { stoppedMs, settings, lateWrites } = told;
  return { committedAt: new Date(committedAtMs).toISOString(), stoppedMs, settings, lateWrites };
}

/** Rows below those of the run. */
export function cutoverText({ committedAtMs, stoppedMs, settings, lateWrites }: CutoverResult): string {
  const late = lateWrites.map(({ ids, what }) => `${ids.join(', ') || 'not named'} ${what}`);
  return table([
    ['committed', `${instant(committedAtMs)}, writers were stopped for ${(stoppedMs / 1000).toFixed(1)} s`],
    ...settings.flatMap(settingRows),
    ['late writes', late.length === 0 ? 'none' : `NOT BROUGHT OVER: ${late.join('; ')}`],
  ]);
}

function settingRows(told: SettingOutcome): ReadonlyArray<readonly [string, string]> {
  const { setting, outcome, why } = told;
  const [source, target] = shortened(told.source, told.target);
  const below = why === undefined ? [] : [['', why] as const];
  switch (outcome) {
    case 'asked':
      return [['setting', `${setting}: ${source}, as in the source; it was: ${target}`]];
    case 'told':
      return [['setting', `${setting}: ${target}; in the source: ${source}`], ...below];
    case 'refused':
      return [['setting', `${setting}: still ${target}, and not ${source} as in the source`], ...below];
    default:
      return outcome satisfies never;
  }
}

/** What is left to do is no success, although the target is in use; what is lost comes first. */
export function troubleOf({ lateWrites, settings, trouble }: CutoverResult): CosmigError | undefined {
  if (lateWrites.length > 0) {
    const ids = new Set(lateWrites.flatMap((late) => late.ids));
    const written = ids.size === 0 ? 'somebody wrote' : `${counted(ids.size, 'document')} or more changed`;
    return new MismatchError(`${written} in the source after the commit`, {
      why: 'the target is in use, and what is written to the source is not brought over any more',
      hint: 'find who still writes to the source and stop it; then mend the documents that are named above in the target',
    });
  }
  if (trouble !== null) return trouble;
  const refused = settings.filter(({ outcome }) => outcome === 'refused');
  if (refused.length === 0) return undefined;
  return new ServiceError('the target is in use, and not all of its settings are as you have asked for', {
    why: refused.map(({ setting, why }) => `${setting}: ${why ?? ''}`).join('; '),
    hint: 'run the same cosmig cutover once more, or change them yourself',
  });
}
