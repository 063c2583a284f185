/**
 * The plan as a page: one file that loads nothing, runs nothing, and is complete without a script. It is ordered as a
 * person decides: the advice, the candidates, the evidence, the consequences, and how certain all of it is.
 */
import type { PlanResult } from '../../plan/result.ts';
import { escapeMarkup, Markup, markup } from '../svg/markup.ts';
import { comparison } from './candidates.ts';
import { breaks, costs, workload } from './consequences.ts';
import { growth } from './growth.ts';
import { certainty, opening, recommendation } from './opening.ts';
import { biggestValues, partitionBalance, writesOverTime } from './spread.ts';
import { PAGE_STYLE } from './style.ts';
import { viewsOf } from './view.ts';

/** Nothing but the style of the page itself: no script, no image, no address. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** The sections by the id of their heading, with a short name. */
const SECTIONS = {
  candidates: 'Candidates',
  values: 'Biggest values',
  balance: 'Balance',
  heat: 'Writes',
  growth: 'Growth',
  workload: 'Queries',
  costs: 'Costs',
  breaks: 'What breaks',
  certainty: 'Certainty',
};

export function planPage(result: PlanResult, version: string): string {
  const views = viewsOf(result);
  const sections = [
    recommendation(result),
    comparison(views, result),
    biggestValues(views),
    partitionBalance(views),
    writesOverTime(views),
    growth(views),
    workload(result, views),
    costs(views),
    breaks(result, views),
    certainty(result),
  ].filter(({ text }) => text !== '');
  const links = Object.entries(SECTIONS)
    .filter(([id]) => sections.some(({ text }) => text.includes(`<h2 id="${id}"`)))
    .map(([id, name]) => markup`<li><a href="#${id}">${name}</a></li>`);
  const page = markup`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="${new Markup(escapeMarkup(POLICY))}"/>
<meta name="color-scheme" content="light dark"/><meta name="referrer" content="no-referrer"/>
<title>Plan for ${result.source.name}</title>
<style>${new Markup(PAGE_STYLE)}</style></head>
<body><a class="skip" href="#recommendation">Skip to the recommendation</a>
<div class="page">${opening(result)}<nav aria-label="Sections"><ul>${links}</ul></nav><main>${sections}</main>
<footer>Made by cosmig ${version} from ${result.source.name}, ${result.takenAt}. This page loads nothing from a network.</footer></div></body></html>
`;
  return page.text;
}
