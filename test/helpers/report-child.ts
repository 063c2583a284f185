/** A report of many ranges, written to the path that is given: as a process, whose files may be kept small. */
import { must } from '../../src/lib/assert.ts';
import { writeReport } from '../../src/commands/verify-report.ts';
import { NO_DIFFERENCES, type Verdict } from '../../src/verify/verdict.ts';

const ranges = Array.from({ length: 1000 }, (_, n) => ({
  id: String(n),
  min: `${n}`.padStart(40, '0'),
  max: `${n + 1}`.padStart(40, '0'),
  documents: n,
}));
const verdict: Verdict = {
  migration: 'shop/orders--shop/by-tenant',
  level: 'count',
  equal: true,
  source: { count: 1 },
  target: { count: 1 },
  differences: NO_DIFFERENCES,
  inFlight: 0,
  samples: [],
  letters: { open: 0, discarded: 0, absent: 0 },
  settings: [],
  settingsNotSeen: [],
  ru: { source: 1, target: 1 },
  durationMs: 1,
  complete: true,
  waitsFor: null,
  details: { beganAtMs: 0, endedAtMs: 1, fingerprint: '', ranges: { source: ranges, target: ranges } },
};
const path = must(process.argv[2], 'a report is written somewhere');
process.stdout.write(writeReport(path, verdict, null)?.message ?? 'written');
