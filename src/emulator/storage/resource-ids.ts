/**
 * Makes resource ids in the service's form: base64 with '/' written as '-'. `_self` links consist of such ids.
 *
 * Invariant: the id of a database has 4 bytes, of a container 8, of a document 16. The SDK keeps a session token only
 * if the container's id has 8 bytes.
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

/** Returns a function from number to resource id, for a container's documents or scripts. The last byte is the kind. */
export function childRidMaker(
  databaseNumber: number,
  containerNumber: number,
  kind: 'document' | 'script',
): (number: number) => string {
  const bytes = Buffer.alloc(16);
  containerBytes(databaseNumber, containerNumber).copy(bytes);
  const top = { document: 0, script: 0x80 }[kind];
  return (number) => {
    // The lowest byte comes first, as on the service. The SDK compares these ids when it resumes a sorted query.
    bytes.writeUInt32LE(number >>> 0, 8);
    bytes.writeUInt32LE(((top << 24) | Math.floor(number / 0x1_0000_0000)) >>> 0, 12);
    return encode(bytes);
  };
}

/** Returns the number of a document or script from its resource id; undefined for an id of another form. */
export function childNumber(rid: string): number | undefined {
  const bytes = Buffer.from(rid.replaceAll('-', '/'), 'base64');
  if (bytes.length !== 16) return undefined;
  return bytes.readUInt32LE(8) + (bytes.readUInt32LE(12) & 0xff) * 0x1_0000_0000;
}

/** Returns whether a text has the form of a database's resource id. */
export function isDatabaseRid(text: string): boolean {
  return /^[A-Za-z0-9+-]{6}==$/.test(text);
}
