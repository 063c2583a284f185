/**
 * The engine in the world of the model: the same application, feeds, target, network and crashes, and the same oracle.
 * The engine, the ledger and the transport are the real ones; only the network, time and the account are the model's.
 * `COSMIG_ENGINE_RUNS` raises the number of runs; `COSMIG_SEED` replays one.
 */
import { expect, test } from 'vitest';
import { draws } from '../../helpers/generated.ts';
import { sized } from '../../helpers/nightly.ts';
import { describeEngineFinding, exploreEngine } from './engine-scheduler.ts';

// Most of a run is starting and ending processes, so a few seconds of a core are some dozen runs.
const RUNS = Number(process.env['COSMIG_ENGINE_RUNS'] ?? sized({ daily: draws(48), nightly: 2000 }));
const SEED = process.env['COSMIG_SEED'];

test(
  'engine: any interleaving -> every promise holds',
  async () => {
    const seeds =
      SEED === undefined || SEED === '' ? Array.from({ length: RUNS }, (_, n) => n + 1) : [Number(SEED)];
    for (const seed of seeds) {
      const finding = await exploreEngine(seed);
      expect(finding === null ? null : describeEngineFinding(finding)).toBeNull();
    }
  },
  60_000 + RUNS * 1000,
);

test(
  'engine: documents are renamed -> a copy under an old id is suspected, and gone after a comparison',
  async () => {
    const scenario = { identities: ['A7', 'A8', 'C7'], renames: true, foreign: false };
    for (let seed = 1; seed <= Math.ceil(RUNS / 2); seed += 1) {
      const finding = await exploreEngine(seed, scenario);
      expect(finding === null ? null : describeEngineFinding(finding)).toBeNull();
    }
  },
  60_000 + RUNS * 1000,
);
