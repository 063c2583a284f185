/** A report of many ranges, written to the path that is given: as a process, whose files may be kept small. */
import { writeReport } from '../../../src/report/verify-report-file.ts';
import { must } from '../../../src/lib/assert.ts';
import type { Verdict } from '../../../src/verify/verdict.ts';
import { VERDICT } from '../../unit/report/verdict.ts';

const ranges = Array.from({ length: 1000 }, (_, n) => ({
  id: String(n),
  min: `${n}`.padStart(40, '0'),
  max: `${n + 1}`.padStart(40, '0'),
  documents: n,
}));
const verdict: Verdict = {
  ...VERDICT,
  details: { ...VERDICT.details, ranges: { source: ranges, target: ranges } },
};
const path = must(process.argv[2], 'a report is written somewhere');
process.stdout.write(writeReport(path, verdict, { named: null, proofMs: null })?.message ?? 'written');
