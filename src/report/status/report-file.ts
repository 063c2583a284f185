/**
 * Writes the page of a migration as it is now, with what only the report has. It names documents, so only the owner of
 * the file can read it.
 */
import { writeFileSync } from 'node:fs';
import type { CosmigError } from '../../lib/errors.ts';
import { OWNER_ONLY } from '../../lib/sqlite/file.ts';
import { readVersion } from '../../lib/version.ts';
import { errorOfWriting } from '../runs/report-file.ts';
import { readNewestFacts } from '../watch/newest-turn.ts';
import { inWordsOf, partsOf, watchPage, type PageParts } from '../watch/page.ts';
import { beforeAfter } from './before-after.ts';
import { cutoverTimeline } from './cutover-timeline.ts';
import { discardedLetters } from './discarded-letters.ts';
import { readReportFacts } from './report-facts.ts';

/** Returns the error if the page could not be written. */
export function writeWatchPage(path: string, ledger: string, nowMs: number): CosmigError | undefined {
  const hint = 'the status is printed above; run cosmig status again with another --report';
  return errorOfWriting(path, hint, () => {
    writeFileSync(path, reportPage(ledger, nowMs), { mode: OWNER_ONLY });
  });
}

/** `ledger`: the path of the first turn's ledger. The page is about the newest turn. */
export function reportPage(ledger: string, nowMs: number): string {
  const known = readNewestFacts(ledger, nowMs);
  const facts =
    known.is === 'known'
      ? { ...readReportFacts(known.status.ledger, known), isSaved: true }
      : { ...known, isSaved: true };
  const parts: PageParts = partsOf(facts, { source: new Map(), target: new Map() });
  const more =
    facts.is === 'known'
      ? inWordsOf(facts, {
          spread: beforeAfter(facts).text,
          timeline: cutoverTimeline(facts).text,
          discarded: discardedLetters(facts).text,
        })
      : {};
  const letters = `${parts['letters'] ?? ''}${more['discarded'] ?? ''}`;
  return watchPage(facts, { ...parts, ...more, letters }, { live: false, version: readVersion() });
}
