/** Seeds of fault runs, and how a person has one of them again. */

export function freshSeed(): number {
  return Math.trunc(Math.random() * 0x1_0000_0000);
}

export function replayCommand(seed: number): string {
  return `COSMIG_SEED=${seed} npm run torture -- --runs 1`;
}

/** The one that COSMIG_SEED names; without it the fixed ones, and so many that nobody has run before. */
export function seedsOf(fixed: readonly number[], fresh = 0): readonly number[] {
  const given = process.env['COSMIG_SEED'] ?? '';
  return given === '' ? [...fixed, ...Array.from({ length: fresh }, freshSeed)] : [Number(given)];
}
