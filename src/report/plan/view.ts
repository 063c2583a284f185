/** A candidate as it is shown everywhere: with a number and a colour of its own, which no other candidate has. */
import type { CandidateResult, PlanResult, Recommendation } from '../../plan/result.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { TONES } from '../svg/theme.ts';

export interface CandidateView {
  readonly result: CandidateResult;
  /** `now` for the present key; the others have the numbers by which --write-config names them. */
  readonly mark: string;
  /** The class that sets the colour. */
  readonly tone: string;
  readonly isRecommended: boolean;
  /** What marks it out, in two words; null: nothing does. */
  readonly tag: string | null;
}

/** The present key comes first, since the others are compared with it. */
export function viewsOf({ candidates, recommendation }: PlanResult): readonly CandidateView[] {
  const advice = recommendation.action === 'index' ? 'as an index' : 'recommended';
  const ordered = [
    ...candidates.filter(({ current }) => current),
    ...candidates.filter(({ current }) => !current),
  ];
  let named = 0;
  return ordered.map((result) => {
    const index = result.current ? 0 : (named += 1);
    const chosen = isRecommended(result, recommendation);
    return {
      result,
      mark: result.current ? 'now' : String(index),
      tone: `k${index === 0 ? 0 : ((index - 1) % (TONES - 1)) + 1}`,
      isRecommended: chosen,
      tag: chosen ? advice : result.current ? 'present key' : null,
    };
  });
}

function isRecommended(result: CandidateResult, { action, key }: Recommendation): boolean {
  if (action === 'none') return false;
  return action === 'keep' ? result.current : result.key === key;
}

/** The recommendation as one sentence, in parts: the key stands apart, since it may be long. */
export function recommended(
  { action, key }: Pick<Recommendation, 'action' | 'key'>,
  present: string,
): readonly [before: string, key: string] {
  switch (action) {
    case 'migrate':
      return ['Migrate to', key ?? ''];
    case 'keep':
      return ['Keep the present key', present];
    case 'index':
      return ['Keep the present key, and add a global secondary index on', key ?? ''];
    case 'none':
      return ['Do not migrate: none of the candidates is usable', ''];
  }
}

/** The mark of a candidate in its colour. Next to the key it is decoration. */
export function chip({ mark, tone }: CandidateView): Markup {
  return markup`<span class="chip ${tone}">${mark}</span>`;
}

/** The key as code. It may be long and of any script; a line may end after a separator of its parts. */
export function keyName(key: string): Markup {
  const parts = key
    .split(/(?<=[,/|}-])(?!$)/)
    .map((part, index) => (index === 0 ? part : markup`<wbr/>${part}`));
  return markup`<bdi class="key">${parts}</bdi>`;
}

/** The heading of what is shown for one candidate. */
export function heading(view: CandidateView): Markup {
  return markup`<h3 class="heading">${chip(view)}${keyName(view.result.key)}</h3>`;
}
