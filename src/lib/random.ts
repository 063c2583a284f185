/** Random numbers as a parameter: a run with the same seed gets the same numbers. */

export interface Random {
  /** Returns a number from 0 up to and excluding 1. */
  next(): number;
  /** Returns an integer from 0 up to and excluding `bound`. */
  below(bound: number): number;
}

/** Creates a small, fast generator (xorshift128, seeded through splitmix32) for jitter and tests, not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const splitmix = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  let x = splitmix();
  let y = splitmix();
  let z = splitmix();
  let w = splitmix() | 1;
  const next32 = (): number => {
    const t = x ^ (x << 11);
    x = y;
    y = z;
    z = w;
    w = (w ^ (w >>> 19) ^ (t ^ (t >>> 8))) >>> 0;
    return w;
  };
  return {
    next: () => next32() / 0x1_0000_0000,
    below: (bound) => Math.floor((next32() / 0x1_0000_0000) * bound),
  };
}

export const systemRandom: Random = {
  next: () => Math.random(),
  below: (bound) => Math.floor(Math.random() * bound),
};
