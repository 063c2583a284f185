/**
 * The kernel's pass over the rows of a page of a filled target (wasm/map.ts), which makes the segments of a map. It works in
 * the memory of the scan.
 */
import { packNodes, scanKernel } from './scan-kernel.ts';

/** The memory for hashes, and for the texts of an identity. */
const WORK_BYTES = 8 * 1024;
/** A list of segments has one more, which is empty. */
const PART_WORDS = 3;

/** What an entry has where else the etag of the source version stands. */
export const VERSION = { none: 0, content: 1, etag: 2 } as const;

/** From which nodes rows are mapped. */
export interface MapNodes {
  readonly lsn: number;
  readonly document: number;
  readonly etag: number;
  readonly version: (typeof VERSION)[keyof typeof VERSION];
  /** The id, and the levels of the source key. */
  readonly identity: readonly number[];
  /** The levels of the target key. */
  readonly key: readonly number[];
  /** A row without a value at one of these nodes is listed. */
  readonly required: readonly number[];
  /** A row with this id, as JSON text, is listed. */
  readonly idLeftOut: string;
}

/** What was made of the rows of a page up to the fence. */
export interface MappedRows {
  readonly mapped: number;
  readonly isBeyond: boolean;
  /** The rows that have to be read value by value. */
  readonly listed: Uint32Array;
  /** The segments, each with memory of its own. */
  readonly segments: ReadonlyArray<{ readonly count: number; readonly data: Buffer }>;
}

/** Returns what is asked, as the kernel reads it. */
export function askForMap(nodes: MapNodes): Uint32Array {
  const { lsn, document, etag, version, identity, key, required, idLeftOut } = nodes;
  const [id = 0] = identity;
  const single = [lsn, document, etag, version, id, Buffer.byteLength(idLeftOut)];
  const hashed = [identity, [id, ...key]].flatMap((list) => {
    const { first, others, count } = packNodes(list);
    return [first, others, count];
  });
  const numbers = [...single, ...hashed, required.length, key.length, ...required, ...key];
  const words = new Uint32Array(numbers.length + Math.ceil(Buffer.byteLength(idLeftOut) / 4));
  words.set(numbers);
  Buffer.from(words.buffer).write(idLeftOut, numbers.length * 4);
  return words;
}

/** Maps the rows of the last scan up to a fence. */
export function mapRows(asked: Uint32Array, fenceLsn: number): MappedRows {
  const kernel = scanKernel();
  const { count } = kernel;
  const askedAt = kernel.reserve(asked.byteLength);
  const workAt = kernel.reserve(WORK_BYTES);
  const listAt = kernel.reserve(count * 4);
  const partsAt = kernel.reserve((count + 1) * PART_WORDS * 4);
  const outAt = kernel.reserve(0);
  new Uint32Array(kernel.bytes.buffer, askedAt, asked.length).set(asked);
  const { exports } = kernel;
  exports.mapRows(askedAt, fenceLsn, workAt, listAt, partsAt, outAt);
  const { bytes } = kernel;
  const parts = new Uint32Array(bytes.buffer, partsAt, (count + 1) * PART_WORDS);
  const segments = [];
  for (let at = 0; (parts[at] ?? 0) > 0; at += PART_WORDS) {
    const [entries = 0, start = 0, end = 0] = parts.subarray(at, at + PART_WORDS);
    segments.push({ count: entries, data: Buffer.from(bytes.slice(outAt + start, outAt + end).buffer) });
  }
  return {
    mapped: exports.mappedCount.value,
    isBeyond: exports.beyondCount.value > 0,
    listed: new Uint32Array(bytes.buffer, listAt, exports.listedCount.value).slice(),
    segments,
  };
}
