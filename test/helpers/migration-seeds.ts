/** Seeds of fault runs, and how a person has one of them again. */

export function freshSeed(): number {
  return Math.trunc(Math.random() * 0x1_0000_0000);
}

export function replayCommand(seed: number): string {
  return `COSMIG_SEED=${seed} npm run torture -- --runs 1`;
}
