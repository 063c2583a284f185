/**
 * Counts the operations of a batch. If all operations have the same size, the count is computed from the size of the
 * first.
 */

const READ = Buffer.from('"operationType":"Read"');
const TYPE = Buffer.from('"operationType"');
const [OPEN, CLOSE, QUOTE, BACKSLASH] = [0x7b, 0x7d, 0x22, 0x5c];

/** The sizes of operations that have occurred in batches of equal operations. A run has only a few of them. */
export class Shape {
  readonly #sizes = new Set<number>();

  knows(sizeBytes: number): boolean {
    return this.#sizes.has(sizeBytes);
  }

  add(sizeBytes: number): void {
    this.#sizes.add(sizeBytes);
  }
}

interface Counted {
  readonly count: number;
  readonly reads: boolean;
}

/**
 * Returns the number of operations in a batch, and whether they are reads. If the size of the first operation is
 * known and the length of the batch is a multiple of it, the other operations are not inspected.
 */
export function countOperations(chunks: readonly Buffer[], shape: Shape): Counted {
  const first = chunks[0] ?? Buffer.alloc(0);
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const reads = first.subarray(0, 200).includes(READ);
  const operationBytes = objectEnd(first, 1) - 1;
  const count = (sizeBytes - 1) / (operationBytes + 1);
  if (!reads && operationBytes > 0 && Number.isInteger(count) && shape.knows(operationBytes)) {
    return { count, reads };
  }
  const whole = Buffer.concat(chunks);
  let counted = 0;
  for (let at = whole.indexOf(TYPE); at >= 0; at = whole.indexOf(TYPE, at + TYPE.length)) counted += 1;
  if (!reads && counted === count) shape.add(operationBytes);
  return { count: counted, reads };
}

/** Returns where the object that starts at `start` ends; 0 when it does not end within these bytes. */
function objectEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let i = start; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (byte === BACKSLASH) i += 1;
    else if (byte === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE && (depth -= 1) === 0) return i + 1;
  }
  return 0;
}
