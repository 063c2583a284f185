/** MurmurHash3 x64, 128 bits, seed 0, as its author wrote it: four words, lowest first. */
const MASK = (1n << 64n) - 1n;
const C1 = 0x87c37b91114253d5n;
const C2 = 0x4cf5ad432745937fn;

const turn = (x: bigint, by: bigint): bigint => ((x << by) | (x >> (64n - by))) & MASK;

function mix(half: bigint): bigint {
  let h = half;
  h = ((h ^ (h >> 33n)) * 0xff51afd7ed558ccdn) & MASK;
  h = ((h ^ (h >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK;
  return h ^ (h >> 33n);
}

export function murmur128(bytes: Uint8Array): number[] {
  const word = (at: number, size: number): bigint => {
    let value = 0n;
    for (let i = Math.min(size, 8) - 1; i >= 0; i -= 1) value = (value << 8n) | BigInt(bytes[at + i] ?? 0);
    return value;
  };
  const blocks = bytes.length >> 4;
  let [h1, h2] = [0n, 0n];
  for (let i = 0; i < blocks; i += 1) {
    h1 ^= (turn((word(i * 16, 8) * C1) & MASK, 31n) * C2) & MASK;
    h1 = ((turn(h1, 27n) + h2) * 5n + 0x52dce729n) & MASK;
    h2 ^= (turn((word(i * 16 + 8, 8) * C2) & MASK, 33n) * C1) & MASK;
    h2 = ((turn(h2, 31n) + h1) * 5n + 0x38495ab5n) & MASK;
  }
  const rest = bytes.length & 15;
  if (rest > 8) h2 ^= (turn((word(blocks * 16 + 8, rest - 8) * C2) & MASK, 33n) * C1) & MASK;
  if (rest > 0) h1 ^= (turn((word(blocks * 16, rest) * C1) & MASK, 31n) * C2) & MASK;
  h1 ^= BigInt(bytes.length);
  h2 ^= BigInt(bytes.length);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  h1 = mix(h1);
  h2 = mix(h2);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  return [h1, h2].flatMap((half) => [Number(half & 0xffffffffn), Number(half >> 32n)]);
}

/** The state after whole blocks, before anything is mixed. */
function stateOf(blocks: readonly (readonly [bigint, bigint])[]): [bigint, bigint] {
  let [h1, h2] = [0n, 0n];
  for (const [k1, k2] of blocks) {
    h1 ^= (turn((k1 * C1) & MASK, 31n) * C2) & MASK;
    h1 = ((turn(h1, 27n) + h2) * 5n + 0x52dce729n) & MASK;
    h2 ^= (turn((k2 * C2) & MASK, 33n) * C1) & MASK;
    h2 = ((turn(h2, 31n) + h1) * 5n + 0x38495ab5n) & MASK;
  }
  return [h1, h2];
}

/** Of contents: two of the above, for every other block, then both and the size together. */
export function murmurOfContent(bytes: Uint8Array): number[] {
  const padded = new DataView(new ArrayBuffer((bytes.length + 31) & ~31));
  bytes.forEach((byte, i) => padded.setUint8(i, byte));
  const blocks = Array.from(
    { length: padded.byteLength / 16 },
    (_, i) => [padded.getBigUint64(16 * i, true), padded.getBigUint64(16 * i + 8, true)] as const,
  );
  const last = new DataView(new ArrayBuffer(40));
  [
    ...stateOf(blocks.filter((_, i) => i % 2 === 0)),
    ...stateOf(blocks.filter((_, i) => i % 2 === 1)),
    BigInt(bytes.length),
  ].forEach((half, i) => last.setBigUint64(8 * i, half, true));
  return murmur128(new Uint8Array(last.buffer));
}
