/** The opening of the page: what was looked at, and the recommendation with its reasons. */
import { formatCount, pluralize } from '../../lib/counting.ts';
import type { PlanResult } from '../../plan/result.ts';
import { markup, type Markup } from '../svg/markup.ts';
import { bytesText, estimateText, countText, readText, sentence } from './figures.ts';
import { keyName, recommended } from './view.ts';

export function opening(result: PlanResult): Markup {
  const { source, documents, takenAt } = result;
  return markup`<header class="top">
<p class="over">cosmig plan</p>
<h1>Which partition key for <bdi class="name">${source.name}</bdi>?</h1>
<dl class="facts">${[
    fact('Present key', keyName(source.key)),
    fact('Documents', estimateText(documents, countText)),
    fact('Size', estimateText(source.bytes, bytesText)),
    fact('Physical partitions', countText(source.partitions)),
    fact('Throughput', source.throughputText),
    fact('Measured', `${takenAt.slice(0, 10)}, ${takenAt.slice(11, 16)} UTC`),
  ]}</dl>
</header>`;
}

export function recommendation(result: PlanResult): Markup {
  const { recommendation: advice, source, complete } = result;
  const [before, key] = recommended(advice, source.key);
  return markup`<section class="advice ${advice.action}" aria-labelledby="recommendation">
<h2 class="over" id="recommendation">Recommendation</h2>
<p class="verdict">${before}${key === '' ? null : markup` ${keyName(key)}`}.</p>
${complete ? null : markup`<p class="warn">The pass was stopped before its end, so these figures cover only what was read: ${readText(result)}.</p>`}
<div class="reasons">${[
    reasons('Why', advice.why),
    advice.unless.length === 0 ? null : reasons('What would change this', advice.unless),
  ]}</div>
</section>`;
}

function reasons(title: string, texts: readonly string[]): Markup {
  return markup`<div><h3>${title}</h3><ul>${texts.map((text) => markup`<li>${sentence(text)}</li>`)}</ul></div>`;
}

function fact(name: string, value: Markup | string): Markup {
  return markup`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

/** How certain the figures are, and what they do not cover. */
export function certainty(result: PlanResult): Markup {
  const { notes, observed, workload, exact, leftOut } = result;
  const texts = [
    `${sentence(readText(result))}. Reading cost ${countText(result.readRu)} RU.`,
    exact
      ? null
      : leftOut !== null
        ? 'Counts of documents and bytes are exact. The bounds of the biggest values always contain the truth; where a figure has a range, it holds in 99 of 100 cases.'
        : 'All figures are estimated from the sample. Each range holds in 95 of 100 cases at least.',
    observed === null
      ? 'The change feed was not followed (--observe): writes are counted by the time of the last write of each document, and a document that is written often counts once.'
      : `The change feed was followed for ${countText(observed.seconds)} s and showed ${pluralize(observed.writes, 'write')}, of which ${formatCount(observed.updates)} were of a document that had been seen before: a move can be seen only among those.`,
    workload === null
      ? 'No queries were given (--workload), so nothing is known about reads. cosmig plan --print-kql prints the queries that export them.'
      : null,
    ...notes,
  ].filter((text) => text !== null);
  return markup`<section aria-labelledby="certainty"><h2 id="certainty">How certain these figures are</h2><ul class="prose">${texts.map((text) => markup`<li>${sentence(text)}</li>`)}</ul></section>`;
}
