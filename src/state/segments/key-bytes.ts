/**
 * A target key as bytes: typed values, level by level. Invariant: equal keys have equal bytes (-0 is 0), and unpacking
 * restores the key. Lone surrogates in texts are preserved.
 */
import { writeUnits } from '../../documents/name-tree.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import { decodeScalar, keyStart } from '../../documents/scalar.ts';
import { FALSE, MISSING, NULL, NUMBER, TEXT, TRUE } from '../../epk/encoding.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { assert, must } from '../../lib/assert.ts';

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** An upper bound for the bytes of a value besides its text: a type and a length, or a type and a double. */
const HEAD_BYTES = 9;
/** The longest text. The service allows 2 KB for a key; this leaves space for keys that the service will refuse. */
const TEXT_BYTES_MAX = 0xff_ff;

/** Returns an upper bound for the bytes that `writeKey` writes. */
export function keyBytesMax(key: readonly KeyComponent[]): number {
  let size = 0;
  for (const value of key) size += HEAD_BYTES + (typeof value === 'string' ? value.length * 3 : 0);
  return size;
}

/** Writes the key at `at` and returns the offset after it. `out` must have enough space. */
export function writeKey(out: Buffer, at: number, key: readonly KeyComponent[]): number {
  let end = at;
  for (const value of key) {
    if (typeof value === 'string') {
      const next = writeUnits(out, end + 3, value);
      const sizeBytes = next - end - 3;
      assert(
        sizeBytes <= TEXT_BYTES_MAX,
        'a key value is shorter than 64 KB: longer ones become dead letters',
      );
      out[end] = TEXT;
      out.writeUInt16LE(sizeBytes, end + 1);
      end = next;
    } else if (typeof value === 'number') {
      out[end] = NUMBER;
      end = out.writeDoubleLE(value === 0 ? 0 : value, end + 1);
    } else {
      out[end] = value === undefined ? MISSING : value === null ? NULL : value ? TRUE : FALSE;
      end += 1;
    }
  }
  return end;
}

/** A key in a row of a scan: the nodes of its levels. */
export interface ScannedKey {
  readonly scan: PageScan;
  readonly row: number;
  readonly nodes: readonly number[];
}

/** Returns an upper bound for the bytes that `writeScannedKey` writes. */
export function scannedKeyBytesMax({ scan, row, nodes }: ScannedKey): number {
  let size = 0;
  for (const node of nodes) size += HEAD_BYTES + (scan.end(row, node) - scan.start(row, node)) * 3;
  return size;
}

/** Writes the key in a row of a page as `writeKey` does, and returns the offset after it. Texts are not decoded. */
export function writeScannedKey(out: Buffer, at: number, { scan, row, nodes }: ScannedKey): number {
  const { page } = scan;
  let end = at;
  for (const node of nodes) {
    const from = keyStart(scan, row, node);
    const until = scan.end(row, node);
    const copied = from > 0 && page[from] === QUOTE ? copyText(out, end, page, from + 1, until - 1) : 0;
    if (copied > 0) end = copied;
    else end = writeKey(out, end, [from === 0 ? undefined : decodeScalar(page, from, until)]);
  }
  return end;
}

/** Writes a text of a page as `writeKey` does, and returns the offset after it; 0: the text has an escape. */
function copyText(out: Buffer, at: number, page: Buffer, from: number, until: number): number {
  const sizeBytes = until - from;
  assert(sizeBytes <= TEXT_BYTES_MAX, 'a key value that the service has accepted is shorter than 64 KB');
  for (let i = 0; i < sizeBytes; i += 1) {
    const byte = page[from + i] ?? 0;
    if (byte === BACKSLASH) return 0;
    out[at + 3 + i] = byte;
  }
  out[at] = TEXT;
  out[at + 1] = sizeBytes;
  out[at + 2] = sizeBytes >>> 8;
  return at + 3 + sizeBytes;
}

/** Returns the bytes of a key. */
export function packKey(key: readonly KeyComponent[]): Buffer {
  const out = Buffer.alloc(keyBytesMax(key));
  return out.subarray(0, writeKey(out, 0, key));
}

/** Returns the key that `packKey` packed. */
export function unpackKey(bytes: Uint8Array): KeyComponent[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const key: KeyComponent[] = [];
  for (let at = 0; at < view.length;) {
    const type = must(view[at], 'a value has a type');
    at += 1;
    if (type === TEXT) {
      const end = at + 2 + view.readUInt16LE(at);
      key.push(readUnits(view, at + 2, end));
      at = end;
    } else if (type === NUMBER) {
      key.push(view.readDoubleLE(at));
      at += 8;
    } else {
      assert(type <= TRUE, 'a packed key has known types');
      key.push(type === MISSING ? undefined : type === NULL ? null : type === TRUE);
    }
  }
  return key;
}

/** Reads a text that `writeUnits` wrote: UTF-8, except for lone surrogates. */
function readUnits(bytes: Buffer, start: number, end: number): string {
  let text = '';
  let from = start;
  for (let at = start; at + 2 < end; at += 1) {
    const half = bytes[at] === 0xed && (bytes[at + 1] ?? 0) >= 0xa0;
    if (!half) continue;
    const unit = 0xd000 | (((bytes[at + 1] ?? 0) & 0x3f) << 6) | ((bytes[at + 2] ?? 0) & 0x3f);
    text += bytes.toString('utf8', from, at) + String.fromCharCode(unit);
    at += 2;
    from = at + 1;
  }
  return text + bytes.toString('utf8', from, end);
}
