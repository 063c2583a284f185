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
  'etag-just-read': { seed: 37, lines: 5, itinerary: ALONE },
  'closed-side-not-watched': { seed: 51, lines: 7, itinerary: ALONE },
  'closed-side-not-counted': { seed: 1273, lines: 8, itinerary: ALONE },
  'watch-reads-behind-its-page': { seed: 8023, lines: 16, itinerary: { ...ALONE, lag: true } },
  'flag-after-the-watch': { seed: 1803, lines: 11, itinerary: { ...ALONE, crashesMax: 2 } },
  'settling-trusts-the-identity': { seed: 302, lines: 10, itinerary: { ...ALONE, crashesMax: 2 } },
  'claims-without-bytes': { seed: 8, lines: 6, itinerary: { ...CALM, crashesMax: 2 } },
  'write-claim-covers-a-removal': {
    seed: 79,
    lines: 10,
    itinerary: { ...CALM, crashesMax: 2, batches: true },
  },
  'where-is-claimed-and-not-what': { seed: 401, lines: 14, itinerary: { ...CALM, crashesMax: 2 } },
  'own-removals-forgotten': { seed: 1722, lines: 16, itinerary: { ...CALM, crashesMax: 2 } },
  'refused-create-is-a-stranger': {
    seed: 3,
    lines: 11,
    itinerary: { ...CALM, networkTrouble: true, crashesMax: 0 },
  },
  'sweep-trusts-the-identity': { seed: 303, lines: 7, itinerary: { ...ALONE, deletes: 'reconcile' } },
  'begun-not-marked': { seed: 3789, lines: 8, itinerary: { ...ALONE, loses: true } },
  'marked-before-the-map': { seed: 26, lines: 6, itinerary: { ...CALM, crashesMax: 2 } },
  'map-not-durable': { seed: 26, lines: 7, itinerary: { ...CALM, crashesMax: 2 } },
  'map-behind-the-end': { seed: 4, lines: 7, itinerary: { ...CALM, lag: true, feedKeepsToken: false } },
  'map-not-counted': { seed: 1369, lines: 11, itinerary: ALONE },
  'mapped-row-without-lsn': { seed: 2, lines: 5, itinerary: { ...CALM, deletes: 'avad' } },
  'ttl-not-paused': { seed: 5, lines: 5, itinerary: { ...ALONE, ttl: true, strayMax: 0 } },
  'ttl-paused-after-the-commit': { seed: 3, lines: 5, itinerary: { ...ALONE, ttl: true, strayMax: 0 } },
  'ttl-not-restored': { seed: 5, lines: 6, itinerary: { ...ALONE, ttl: true, strayMax: 0, lastTurn: 2 } },
  'pause-not-recorded': {
    seed: 87,
    lines: 4,
    itinerary: { ...ALONE, ttl: true, strayMax: 0, crashesMax: 2 },
  },
  'spares-left-out': { seed: 35, lines: 6, itinerary: { ...CALM, deletes: 'marker' } },
  'spare-settled-as-a-copy': {
    seed: 8729,
    lines: 13,
    itinerary: { ...CALM, ttl: true, crashesMax: 2, deletes: 'reconcile' },
  },
  'two-directions-alive': { seed: 3, lines: 7, itinerary: CALM },
  'anchors-before-the-drain': { seed: 72, lines: 6, itinerary: { ...CALM, deletes: 'avad' } },
  'anchors-after-the-commit': { seed: 3, lines: 4, itinerary: CALM },
  'ends-after-the-commit': { seed: 616, lines: 7, itinerary: ALONE },
};
