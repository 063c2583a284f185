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

/** A document that no other wants the slot of, and another process that writes the closed side. */
const ALONE: Partial<Itinerary> = {
  identities: ['A7'],
  deletes: 'avad',
  strayMax: 2,
  loses: false,
  resizing: false,
  batches: false,
};

/** Two documents that can collide, and only faults of the mover's own. */
const CALM: Partial<Itinerary> = { identities: ['A7', 'C7'], strayMax: 0, loses: false, resizing: false };

export const BACK_CASES: Readonly<Record<BackMutation, BackCase>> = {
  'etag-just-read': { seed: 84, lines: 5, itinerary: ALONE },
  'closed-side-not-watched': { seed: 134, lines: 7, itinerary: ALONE },
  'closed-side-not-counted': { seed: 1030, lines: 8, itinerary: ALONE },
  'watch-reads-behind-its-page': { seed: 9965, lines: 12, itinerary: { ...ALONE, lag: true } },
  'flag-after-the-watch': { seed: 19189, lines: 10, itinerary: { ...ALONE, crashesMax: 2 } },
  'settling-trusts-the-identity': { seed: 74, lines: 8, itinerary: { ...ALONE, crashesMax: 2 } },
  'claims-without-bytes': { seed: 10, lines: 7, itinerary: { ...CALM, crashesMax: 2 } },
  'write-claim-covers-a-removal': {
    seed: 94,
    lines: 8,
    itinerary: { ...CALM, crashesMax: 2, batches: true },
  },
  'where-is-claimed-and-not-what': { seed: 1170, lines: 16, itinerary: { ...CALM, crashesMax: 2 } },
  'own-removals-forgotten': { seed: 2512, lines: 19, itinerary: { ...CALM, crashesMax: 2 } },
  'refused-create-is-a-stranger': {
    seed: 110,
    lines: 11,
    itinerary: { ...CALM, networkTrouble: true, crashesMax: 0 },
  },
  'sweep-trusts-the-identity': { seed: 248, lines: 7, itinerary: { ...ALONE, deletes: 'reconcile' } },
  'begun-not-marked': { seed: 4805, lines: 7, itinerary: { ...ALONE, loses: true } },
  'marked-before-the-map': { seed: 29, lines: 6, itinerary: { ...CALM, crashesMax: 2 } },
  'map-not-durable': { seed: 71, lines: 7, itinerary: { ...CALM, crashesMax: 2 } },
  'map-behind-the-end': { seed: 24, lines: 7, itinerary: { ...CALM, lag: true, feedKeepsToken: false } },
  'map-not-counted': { seed: 16022, lines: 10, itinerary: ALONE },
  'mapped-row-without-lsn': { seed: 3, lines: 5, itinerary: { ...CALM, deletes: 'avad' } },
  'two-directions-alive': { seed: 30, lines: 5, itinerary: CALM },
  'anchors-after-the-commit': { seed: 3, lines: 4, itinerary: CALM },
  'ends-after-the-commit': { seed: 1061, lines: 7, itinerary: ALONE },
};
