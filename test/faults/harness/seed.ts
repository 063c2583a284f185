/** Fault runs that draw from a seed, and name it when they fail. */
import { seededRandom, type Random } from '../../../src/lib/random.ts';
import { chosenSeed } from '../../helpers/seed.ts';

/** Runs `work` with chance from a seed; whatever it throws names the seed that replays it. */
export async function seeded(work: (random: Random, seed: number) => Promise<void>): Promise<void> {
  const seed = chosenSeed();
  try {
    await work(seededRandom(seed), seed);
  } catch (error) {
    if (error instanceof Error) error.message = `${error.message}\n(replay with COSMIG_SEED=${seed})`;
    throw error;
  }
}

/** One of several. */
export function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[random.below(choices.length)];
  if (choice === undefined) throw new Error('there is nothing to choose from');
  return choice;
}
