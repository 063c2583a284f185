/**
 * Resource ids in the service's form: base64 with '/' written as '-'. `_self` links consist of them.
 *
 * Invariant: a database has 4 bytes, a container 8 (the SDK keeps session tokens only for such), a document 16.
 */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('/', '-');
}

export function databaseRid(number: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE((0x5a000000 + number) >>> 0);
  return encode(bytes);
}

function containerBytes(databaseNumber: number, containerNumber: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE((0x5a000000 + databaseNumber) >>> 0, 0);
  bytes.writeUInt32BE((0x80000000 + containerNumber) >>> 0, 4);
  return bytes;
}

export function containerRid(databaseNumber: number, containerNumber: number): string {
  return encode(containerBytes(databaseNumber, containerNumber));
}

/** Resource ids of the documents and scripts of a container. The last byte distinguishes the kinds. */
export function childRidMaker(
  databaseNumber: number,
  containerNumber: number,
  kind: 'document' | 'script',
): (number: number) => string {
  const bytes = Buffer.alloc(16);
  containerBytes(databaseNumber, containerNumber).copy(bytes);
  const top = { document: 0, script: 0x80 }[kind];
  return (number) => {
    // The service counts with the lowest byte first, and the SDK compares such ids when it resumes a sorted query.
    bytes.writeUInt32LE(number >>> 0, 8);
    bytes.writeUInt32LE(((top << 24) | Math.floor(number / 0x1_0000_0000)) >>> 0, 12);
    return encode(bytes);
  };
}
