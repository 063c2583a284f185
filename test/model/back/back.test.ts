/**
 * There and back, and there again: a cutover, the way back with the roles of the containers swapped, and the cutover
 * that ends it. `COSMIG_MODEL_RUNS` raises the number of journeys; `COSMIG_SEED` replays one.
 */
import { expect, test } from 'vitest';
import { cheapDraws, draws } from '../../helpers/generated.ts';
import { sized } from '../../helpers/nightly.ts';
import { describeVoyage, explore, replay, shortest, travel } from './travel.ts';

const RUNS = Number(
  process.env['COSMIG_MODEL_RUNS'] ?? cheapDraws(sized({ daily: 2_000, nightly: 100_000 })),
);
const SEED = process.env['COSMIG_SEED'];

test(
  'way back: any interleaving -> each container in its turn is what the application wrote',
  () => {
    const [first, last] = SEED === undefined || SEED === '' ? [1, RUNS] : [Number(SEED), Number(SEED)];
    for (let seed = first; seed <= last; seed += 1) {
      const voyage = explore(seed, { mutation: null });
      const report = voyage && `COSMIG_SEED=${seed} replays this:\n${describeVoyage(shortest(voyage))}`;
      expect(report).toBeNull();
    }
  },
  60_000 + RUNS * 10,
);

test('way back: a crash at each step of a journey -> each container in its turn is what the application wrote', () => {
  for (let seed = 1; seed <= draws(sized({ daily: 16, nightly: 1_000 })); seed += 1) {
    const trip = travel(seed, { mutation: null, itinerary: { strayMax: 0, loses: false } });
    const itinerary = { ...trip.itinerary, crashesMax: 1_000 };
    for (const [at, action] of trip.trace.entries()) {
      if (action === 'quiet') continue;
      const trace = trip.trace.toSpliced(at + 1, 0, 'crash', 'start');
      const failure = replay({ itinerary, mutation: null }, [...trace, 'quiet', 'cutover', 'quiet']);
      expect(failure === null ? null : `seed ${seed}, crash after step ${at + 1}: ${failure}`).toBeNull();
    }
  }
}, 600_000);
