/** What a count of two containers came to. */
import type { Verdict } from '../../../src/verify/verdict.ts';

const RANGES = Array.from({ length: 11 }, (_, n) => ({
  id: `${n}`,
  min: n === 0 ? '' : `0${n.toString(16).toUpperCase()}${'F'.repeat(30)}`,
  max: n === 10 ? 'FF' : `0${(n + 1).toString(16).toUpperCase()}${'F'.repeat(30)}`,
  documents: 1000 * (n + 1),
}));
export const VERDICT: Verdict = {
  migration: 'shop/orders -> shop/by-tenant',
  level: 'count',
  equal: true,
  source: { count: 66_003 },
  target: { count: 66_000 },
  differences: { missing: 0, extra: 0, different: 0, wrongSlot: 0 },
  inFlight: 0,
  samples: [],
  letters: { open: 5, discarded: 1, absent: 3 },
  settings: [],
  settingsNotSeen: [],
  ru: { source: 12, target: 13 },
  durationMs: 900,
  complete: true,
  waitsFor: null,
  details: {
    beganAtMs: 0,
    endedAtMs: 900,
    fingerprint: 'f',
    ranges: { source: RANGES, target: RANGES.slice(0, 1) },
  },
};
