/** Random damage to the ledger, in the middle of migrations and after them. */
import { expect, test } from 'vitest';
import { chosenSeed } from '../../helpers/seed.ts';
import { ROUNDS, runDamaged, type Endings } from './damaged-run.ts';

/** How many damages: few by day, and a thousand in a step of `npm run test:nightly`. */
const DAMAGES = Number(process.env['COSMIG_DAMAGES'] ?? 25);
/** A round takes about a second; a busy machine needs more. */
const ROUND_MAX_MS = 10_000;

test(
  'ledger: random damage -> exit code 7, or an equal target',
  async () => {
    const seed = chosenSeed();
    const endings: Endings = { refused: 0, equal: 0, swept: 0 };
    for (let n = 0; n < DAMAGES / ROUNDS; n += 1) await runDamaged(seed + n, endings);
    expect(endings.refused).toBeGreaterThan(0);
    expect(endings.equal).toBeGreaterThan(0);
  },
  DAMAGES * ROUND_MAX_MS,
);
