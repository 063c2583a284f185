/** Writes the page of a plan. Its values may be personal data, so only the owner of the file can read it. */
import { writeFileSync } from 'node:fs';
import type { CosmigError } from '../../lib/errors.ts';
import { OWNER_ONLY } from '../../lib/sqlite/file.ts';
import { readVersion } from '../../lib/version.ts';
import type { PlanResult } from '../../plan/result.ts';
import { errorOfWriting } from '../runs/report-file.ts';
import { planPage } from './page.ts';

/** Returns the error if the page could not be written: the plan itself is not lost by that. */
export function writePlanPage(path: string, result: PlanResult): CosmigError | undefined {
  const hint = 'the plan is printed above; run cosmig plan again with another --report';
  return errorOfWriting(path, hint, () => {
    writeFileSync(path, planPage(result, readVersion()), { mode: OWNER_ONLY });
  });
}
