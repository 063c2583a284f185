/**
 * The page of a migration, in parts that change by themselves. The server sends a part when its markup has changed; the
 * report of `cosmig status` is the same page at one moment, without a script.
 */
import { createHash } from 'node:crypto';
import { swapWords } from '../../spec/turns/swapped-sides.ts';
import { formatTime } from '../../lib/clock.ts';
import { Markup, markup, NOTHING } from '../svg/markup.ts';
import { CLIENT } from './client.ts';
import { cutover } from './cutover.ts';
import { EVENTS_SHOWN, type Facts, type MigrationFacts } from './facts.ts';
import { history } from './history.ts';
import { deadLetters, moved } from './moved.ts';
import { plan } from './plan.ts';
import { proof } from './proof.ts';
import { NONE_FRESH, rangeList, ranges, type RangeRates } from './ranges.ts';
import { WATCH_STYLE } from './style.ts';
import { wayBack } from './way-back.ts';
import {
  eventText,
  eventTime,
  headlineOf,
  isSwitching,
  runEvent,
  stageOf,
  stagesOf,
  type Stage,
} from './words.ts';
import { work } from './work.ts';

/** The parts of the page by the id of their element, in the order of the page. */
export type PageParts = Readonly<Record<string, string>>;

/** The name of a document, or a text between two tags. */
const TEXTS = /<bdi class="key">[^<]*|>[^<]+(?=<)/g;

/** Returns the parts of a page for people, who call the containers source and target as before the first cutover. */
export function inWordsOf(facts: Facts, parts: PageParts): PageParts {
  if (facts.is !== 'known' || !facts.leadsBack) return parts;
  return Object.fromEntries(
    Object.entries(parts).map(([id, markupText]) => [
      id,
      markupText.replaceAll(TEXTS, (text) => (text.startsWith('>') ? swapWords(text) : text)),
    ]),
  );
}

export function partsOf(facts: Facts, rates: RangeRates, fresh = NONE_FRESH): PageParts {
  const known = facts.is === 'known' ? facts : null;
  const of = (make: (of: MigrationFacts) => Markup): string => (known === null ? NOTHING : make(known)).text;
  return inWordsOf(facts, {
    now: headline(facts).text,
    work: of(work),
    ranges: of((all) => ranges(all, rates, fresh)),
    each: of((all) => rangeList(all, rates, fresh)),
    history: of(history),
    moved: of(moved),
    letters: of(deadLetters),
    proof: of(proof),
    cutover: of(cutover),
    back: of((all) => wayBack(all) ?? NOTHING),
    plan: (plan(facts) ?? NOTHING).text,
    events: of(events),
    name: markup`<bdi>${nameOf(facts)}</bdi>`.text,
    asof: markup`As of ${formatTime(facts.atMs)}`.text,
  });
}

function headline(facts: Facts): Markup {
  const { title, detail, mood } = headlineOf(facts);
  const stage = stageOf(facts);
  return markup`${stage === null ? null : stages(stage, facts)}
<div class="headline ${mood}"><h1>${title}</h1><p><bdi>${detail}</bdi></p></div>`;
}

function stages(stage: Stage, facts: Facts): Markup {
  const { plan } = facts;
  const list = stagesOf(facts);
  const isBack = facts.is === 'known' && facts.leadsBack;
  // The tail continues after a comparison.
  const isProven = facts.is === 'known' && facts.status.proof !== null;
  const first = [
    ...(isSwitching(facts) ? ['switching'] : []),
    ...(stage === 'Way back' ? ['returning'] : []),
  ].join(' ');
  const at = list.indexOf(stage);
  return markup`<ol class="stages ${first}" aria-label="Stages">${list.map((name, index) => {
    const isSkipped = name === 'Plan' && index < at && plan === null && !isBack;
    const isDone = index < at || (name === 'Verify' && isProven);
    const style = index === at ? 'here' : isSkipped ? 'skipped' : isDone ? 'past' : '';
    return markup`<li class="${style}"${index === at ? new Markup(' aria-current="step"') : null}>${name}${isSkipped ? markup`<span class="hidden"> (none was made)</span>` : null}</li>`;
  })}</ol>`;
}

function events(facts: MigrationFacts): Markup {
  const { atMs, finishedAtMs } = facts;
  const list = [
    ...(finishedAtMs === null ? [] : [{ atMs: finishedAtMs, text: 'cosmig finish ended the way back' }]),
    ...facts.events.map((entry) => ({ atMs: entry.atMs, text: eventText(entry, facts) })),
    ...facts.brokenRuns.flatMap((run) => runEvent(run, facts) ?? []),
  ].toSorted((one, other) => one.atMs - other.atMs);
  if (list.length === 0) return markup`<h2>Events</h2><p class="empty">Nothing has happened yet.</p>`;
  return markup`<h2>Events <span class="muted">UTC</span></h2><ol class="events">${list
    .slice(-EVENTS_SHOWN)
    .toReversed()
    .map(
      (event) =>
        markup`<li><time datetime="${new Date(event.atMs).toISOString()}">${eventTime(event.atMs, atMs)}</time> <span>${event.text}</span></li>`,
    )}</ol>`;
}

/** The headline as the name of a tab among others; on a way back it has the words of the page. */
function titleOf(facts: Facts): string {
  const { title } = headlineOf(facts);
  return facts.is === 'known' && facts.leadsBack ? swapWords(title) : title;
}

/** The name of the migration; before it has begun the container that was measured, or the path of the ledger. */
function nameOf(facts: Facts): string {
  if (facts.is === 'known') return facts.status.migration;
  return facts.plan?.is === 'made' ? facts.plan.summary.source : facts.ledger;
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The policy of the live page: its own style and script and its own events, and nothing else. */
export const LIVE_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(WATCH_STYLE)}`,
  `script-src ${hashOf(CLIENT)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const REPORT_POLICY = `default-src 'none'; style-src ${hashOf(WATCH_STYLE)}; base-uri 'none'; form-action 'none'`;

/** What the script of the live page says: that the connection is lost, and to a screen reader each new headline. */
const LIVE_ONLY = new Markup(
  `<p id="link" role="alert"></p><p id="said" class="hidden" role="status"></p><script>${CLIENT}</script>`,
);

/** Returns the whole page. `live`: it has the script that keeps it up to date. */
export function watchPage(
  facts: Facts,
  parts: PageParts,
  { live, version }: { readonly live: boolean; readonly version: string },
): string {
  const policy = live
    ? null
    : markup`<meta http-equiv="Content-Security-Policy" content="${new Markup(REPORT_POLICY.replaceAll("'", '&#39;'))}"/>`;
  const part = (id: string, style = ''): Markup =>
    markup`<section id="${id}" class="${style}">${new Markup(parts[id] ?? '')}</section>`;
  return markup`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>${policy}
<meta name="color-scheme" content="light dark"/><meta name="referrer" content="no-referrer"/>
<title>${titleOf(facts)} · ${nameOf(facts)}</title>
<style>${new Markup(WATCH_STYLE)}</style></head>
<body class="${live ? '' : 'still'}"><div class="page"><header><p class="over">cosmig ${live ? 'watch' : 'status'}</p><p class="name" id="name">${new Markup(parts['name'] ?? '')}</p></header>
<main>${[
    part('now'),
    part('work'),
    part('ranges', 'card'),
    // What a viewer has opened stays open, because only what is in it is replaced.
    markup`<details class="card" id="partitions"><summary>Each partition in words</summary>${part('each')}</details>`,
    live ? null : part('spread', 'card'),
    part('history', 'card'),
    markup`<div class="columns">${[part('moved', 'card'), part('proof', 'card')]}</div>`,
    part('back', 'card'),
    part('cutover', 'card'),
    live ? null : part('timeline', 'card'),
    part('plan', 'card'),
    markup`<div class="columns">${[part('letters', 'card'), part('events', 'card')]}</div>`,
  ]}</main>
<footer><span id="asof">${new Markup(parts['asof'] ?? '')}</span><span>cosmig ${version}. This page changes nothing and loads nothing from a network.</span></footer></div>${live ? LIVE_ONLY : null}</body></html>
`.text;
}
