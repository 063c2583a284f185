/** Writes the page of a migration as it is now. It names documents, so only the owner of the file can read it. */
import { writeFileSync } from 'node:fs';
import type { CosmigError } from '../../lib/errors.ts';
import { OWNER_ONLY } from '../../lib/sqlite/file.ts';
import { readVersion } from '../../lib/version.ts';
import { errorOfWriting } from '../runs/report-file.ts';
import { readFacts } from './facts.ts';
import { partsOf, watchPage } from './page.ts';

/** Returns the error if the page could not be written. */
export function writeWatchPage(path: string, ledger: string, nowMs: number): CosmigError | undefined {
  const hint = 'the status is printed above; run cosmig status again with another --report';
  return errorOfWriting(path, hint, () => {
    const facts = readFacts(ledger, nowMs);
    const parts = partsOf(facts, { source: new Map(), target: new Map() });
    writeFileSync(path, watchPage(facts, parts, { live: false, version: readVersion() }), {
      mode: OWNER_ONLY,
    });
  });
}
