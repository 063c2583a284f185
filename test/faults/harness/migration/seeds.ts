/** Seeds of fault runs, and how to repeat one of them. */
import { freshSeed } from '../../../helpers/seed.ts';

export function replayCommand(seed: number): string {
  return `COSMIG_SEED=${seed} npm run torture -- --runs 1`;
}

/** The one that COSMIG_SEED names; without it the fixed ones and as many fresh ones. */
export function seedsOf(fixed: readonly number[], fresh = 0): readonly number[] {
  const given = process.env['COSMIG_SEED'] ?? '';
  return given === '' ? [...fixed, ...Array.from({ length: fresh }, freshSeed)] : [Number(given)];
}
