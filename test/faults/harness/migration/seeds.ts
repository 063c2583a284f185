/** Seeds of fault runs, and how to repeat one of them. */

export function freshSeed(): number {
  return Math.trunc(Math.random() * 0x1_0000_0000);
}

export function replayCommand(seed: number): string {
  return `COSMIG_SEED=${seed} npm run torture -- --runs 1`;
}

/** The one that COSMIG_SEED names; without it the fixed ones and as many fresh ones. */
export function seedsOf(fixed: readonly number[], fresh = 0): readonly number[] {
  const given = process.env['COSMIG_SEED'] ?? '';
  return given === '' ? [...fixed, ...Array.from({ length: fresh }, freshSeed)] : [Number(given)];
}
