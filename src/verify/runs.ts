/**
 * Who has contributed what to the sums, packed, on shelves by identity: `identity, contribution, name`, one after the
 * other. What always holds: a run is written with the sums it belongs to, in one transaction.
 */
import { ByteOutput } from '../documents/byte-output.ts';
import { endOfName, putName, type NameParts } from './names.ts';

const SHELF_BITS = 8;
export const SHELVES = 1 << SHELF_BITS;
/** Of a run; most shelves have less at a checkpoint. */
const RUN_BYTES = 4096;
const HEAD_BYTES = 32;

/** The shelf of a bucket: neighbours share one. */
export function shelfOf(bucket: number): number {
  return bucket >>> (12 - SHELF_BITS);
}

/** Runs in memory, until the next checkpoint. */
export class Runs {
  sizeBytes = 0;
  readonly #shelves = Array.from({ length: SHELVES }, () => new ByteOutput(RUN_BYTES));

  /** The identity and the contribution of a document are eight words, as bytes. */
  add(shelf: number, head: Uint8Array, name: NameParts): void {
    const out = this.#shelves[shelf];
    if (out === undefined) return;
    const { length } = out;
    out.putBytes(head);
    putName(out, name);
    this.sizeBytes += out.length - length;
  }

  /** Gives all that there is, and forgets it. */
  take(give: (shelf: number, entries: Buffer) => void): void {
    this.#shelves.forEach((out, shelf) => {
      if (out.length === 0) return;
      give(shelf, out.view());
      out.clear();
    });
    this.sizeBytes = 0;
  }
}

export interface Entry {
  /** 16 bytes each; they stand in the run. */
  readonly identity: Buffer;
  readonly contribution: Buffer;
  readonly name: Buffer;
}

/** The entries of one run. */
export function* entriesOf(run: Buffer): Generator<Entry> {
  for (let at = 0; at < run.length;) {
    const end = endOfName(run, at + HEAD_BYTES);
    yield {
      identity: run.subarray(at, at + 16),
      contribution: run.subarray(at + 16, at + HEAD_BYTES),
      name: run.subarray(at + HEAD_BYTES, end),
    };
    at = end;
  }
}
