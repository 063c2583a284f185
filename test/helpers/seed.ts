/**
 * The seed of generated tests and fault runs: the one in COSMIG_SEED, or a fresh one by night. By day it is always the
 * same, so that a red run is due to what was changed. A failure prints its seed.
 */
import { isNightly } from './nightly.ts';

const DAILY_SEED = 1;

export function chosenSeed(): number {
  const given = process.env['COSMIG_SEED'] ?? '';
  if (given !== '') return Number(given);
  return isNightly ? freshSeed() : DAILY_SEED;
}

export function freshSeed(): number {
  return Math.trunc(Math.random() * 0x1_0000_0000);
}
