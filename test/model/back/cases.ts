/**
 * Owns where each mutation of the way back shows: an itinerary that keeps other trouble away, a seed that fails in it,
 * and the number of lines of the shortest trace found from there.
 */
import type { Itinerary } from './journey.ts';
import type { BackMutation } from './mutations.ts';

export interface BackCase {
  readonly seed: number;
  readonly lines: number;
  readonly itinerary: Partial<Itinerary>;
}

/** Documents that cannot be copied are tried apart. */
const FITTING = {
  waives: false,
  misfits: false,
  foreign: false,
  names: false,
  owns: false,
  loses: false,
  retention: false,
  resizing: false,
} as const;

/** A document that no other wants the slot of, and another process that writes the closed side. */
const ALONE: Partial<Itinerary> = {
  ...FITTING,
  identities: ['A7'],
  deletes: 'avad',
  strayMax: 2,
  batches: false,
};

/** Two documents that can collide, and only faults of the mover's own. */
const CALM: Partial<Itinerary> = { ...FITTING, identities: ['A7', 'C7'], strayMax: 0 };

const OWNING: Partial<Itinerary> = { ...CALM, owns: true, deletes: 'reconcile', crashesMax: 0 };

export const BACK_CASES: Readonly<Record<BackMutation, BackCase>> = {
  'etag-just-read': { seed: 1, lines: 9, itinerary: ALONE },
  'closed-side-not-watched': { seed: 159, lines: 7, itinerary: ALONE },
  'closed-side-not-counted': { seed: 1234, lines: 10, itinerary: ALONE },
  'watch-reads-behind-its-page': { seed: 1887, lines: 10, itinerary: { ...ALONE, lag: true } },
  'flag-after-the-watch': { seed: 2667, lines: 11, itinerary: { ...ALONE, crashesMax: 2 } },
  'settling-trusts-the-identity': { seed: 153, lines: 11, itinerary: { ...ALONE, crashesMax: 2 } },
  'claims-without-bytes': { seed: 3, lines: 6, itinerary: { ...CALM, crashesMax: 2 } },
  'write-claim-covers-a-removal': {
    seed: 28,
    lines: 11,
    itinerary: { ...CALM, crashesMax: 2, batches: true },
  },
  'where-is-claimed-and-not-what': { seed: 1831, lines: 16, itinerary: { ...CALM, crashesMax: 2 } },
  'own-removals-forgotten': { seed: 667, lines: 17, itinerary: { ...CALM, crashesMax: 2 } },
  'refused-create-is-a-stranger': {
    seed: 3,
    lines: 11,
    itinerary: { ...CALM, networkTrouble: true, crashesMax: 0 },
  },
  'sweep-trusts-the-identity': { seed: 5, lines: 7, itinerary: { ...ALONE, deletes: 'reconcile' } },
  'begun-not-marked': { seed: 1114, lines: 11, itinerary: { ...ALONE, loses: true } },
  'marked-before-the-map': { seed: 4, lines: 6, itinerary: { ...CALM, crashesMax: 2 } },
  'map-not-durable': { seed: 4, lines: 7, itinerary: { ...CALM, crashesMax: 2 } },
  'map-behind-the-end': { seed: 7, lines: 7, itinerary: { ...CALM, lag: true, feedKeepsToken: false } },
  'map-not-counted': { seed: 6002, lines: 13, itinerary: ALONE },
  'mapped-row-without-lsn': { seed: 4, lines: 5, itinerary: { ...CALM, deletes: 'avad' } },
  'ttl-not-paused': { seed: 6, lines: 5, itinerary: { ...ALONE, ttl: true, strayMax: 0 } },
  'ttl-paused-after-the-commit': { seed: 52, lines: 5, itinerary: { ...ALONE, ttl: true, strayMax: 0 } },
  'ttl-not-restored': { seed: 2, lines: 6, itinerary: { ...ALONE, ttl: true, strayMax: 0, lastTurn: 2 } },
  'pause-not-recorded': { seed: 7, lines: 4, itinerary: { ...ALONE, ttl: true, strayMax: 0, crashesMax: 2 } },
  'left-out-is-a-spare': { seed: 65, lines: 8, itinerary: { ...CALM, waives: true } },
  'left-out-forgotten': { seed: 65, lines: 8, itinerary: { ...CALM, waives: true, lastTurn: 2 } },
  'left-out-not-counted': { seed: 326, lines: 11, itinerary: { ...CALM, waives: true, strayMax: 1 } },
  'stale-copy-left-out': { seed: 425, lines: 6, itinerary: { ...CALM, waives: true, misfits: true } },
  'named-key-taken-out': { seed: 16, lines: 5, itinerary: { ...CALM, names: true } },
  'own-key-taken-out': { seed: 135, lines: 9, itinerary: OWNING },
  'own-key-not-in-the-map': { seed: 135, lines: 9, itinerary: OWNING },
  'goes-back-without-a-key': { seed: 6, lines: 4, itinerary: { ...CALM, names: true } },
  'spares-left-out': { seed: 7, lines: 6, itinerary: { ...CALM, deletes: 'marker' } },
  'two-directions-alive': { seed: 3, lines: 8, itinerary: CALM },
  'anchors-before-the-drain': { seed: 2584, lines: 6, itinerary: { ...CALM, deletes: 'avad' } },
  'anchors-after-the-commit': { seed: 3, lines: 4, itinerary: CALM },
  'ends-after-the-commit': { seed: 871, lines: 7, itinerary: ALONE },
  'spare-settled-as-a-copy': {
    seed: 81,
    lines: 16,
    itinerary: { ...CALM, ttl: true, deletes: 'reconcile', crashesMax: 2, appMax: 9, ranges: 4, lag: false },
  },
};
