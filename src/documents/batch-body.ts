/**
 * Writes the body of a batch request: a JSON array of operations, whose documents are copied as bytes (fact SDK-8). The
 * partition key of an operation is JSON text inside a JSON string, with {} for a missing level.
 */
import type { KeyComponent } from '../epk/effective-key.ts';
import { assert } from '../lib/assert.ts';
import { ByteOutput } from './byte-output.ts';

export type Key = readonly KeyComponent[];

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

const OPENING = {
  Create: bytesOf('{"operationType":"Create","partitionKey":'),
  Replace: bytesOf('{"operationType":"Replace","partitionKey":'),
  Delete: bytesOf('{"operationType":"Delete","partitionKey":'),
  Read: bytesOf('{"operationType":"Read","partitionKey":'),
} as const;
const ID = bytesOf(',"id":');
const IF_MATCH = bytesOf(',"ifMatch":');
const RESOURCE_BODY = bytesOf(',"resourceBody":');
const KEY_OPEN = bytesOf('"[');
const TEXT_MARK = bytesOf('\\"');
const KEY_CLOSE = bytesOf(']"');
const [OPEN, CLOSE, COMMA, END] = [0x5b, 0x5d, 0x2c, 0x7d];

/** The document that an operation addresses: its id and, if required, its etag. The key is given separately. */
export interface Addressed {
  /** The id as text, or as the bytes of its JSON text with the quotes. */
  readonly id: string | Uint8Array;
  /** The operation succeeds only if the document has this etag. */
  readonly ifMatch?: string;
}

export class BatchBody {
  /** The bytes of the body. The caller writes a document here between `create` or `replace` and `end`. */
  readonly out: ByteOutput;
  #count = 0;

  constructor(out: ByteOutput = new ByteOutput()) {
    this.out = out;
    this.clear();
  }

  clear(): void {
    this.#count = 0;
    this.out.clear();
    this.out.putByte(OPEN);
  }

  /** Begins a create. The caller writes the document to `out`, then calls `end`. */
  create(key: Key): void {
    this.#open('Create', key);
    this.out.putBytes(RESOURCE_BODY);
  }

  /** Begins a replace. The caller writes the document to `out`, then calls `end`. */
  replace(key: Key, addressed: Addressed): void {
    this.#open('Replace', key);
    this.#address(addressed);
    this.out.putBytes(RESOURCE_BODY);
  }

  /** Ends a create or a replace. */
  end(): void {
    this.out.putByte(END);
  }

  delete(key: Key, addressed: Addressed): void {
    this.#open('Delete', key);
    this.#address(addressed);
    this.end();
  }

  read(key: Key, addressed: Addressed): void {
    this.#open('Read', key);
    this.#address(addressed);
    this.end();
  }

  /** Ends the body and returns its bytes, which are valid until `clear`. */
  finish(): Buffer {
    this.out.putByte(CLOSE);
    return this.out.view();
  }

  #open(type: keyof typeof OPENING, key: Key): void {
    if (this.#count > 0) this.out.putByte(COMMA);
    this.#count += 1;
    this.out.putBytes(OPENING[type]);
    putKey(this.out, key);
  }

  #address({ id, ifMatch }: Addressed): void {
    this.out.putBytes(ID);
    if (typeof id === 'string') this.out.putText(JSON.stringify(id));
    else this.out.putBytes(id);
    if (ifMatch === undefined) return;
    this.out.putBytes(IF_MATCH);
    this.out.putText(JSON.stringify(ifMatch));
  }
}

/** Writes a create operation up to its document. The caller then writes the document and `}`. */
export function putCreate(out: ByteOutput, key: Key): void {
  out.putBytes(OPENING.Create);
  putKey(out, key);
  out.putBytes(RESOURCE_BODY);
}

/** Writes a key as JSON text inside a JSON string. */
export function putKey(out: ByteOutput, key: Key): void {
  const { length } = out;
  out.putBytes(KEY_OPEN);
  for (let level = 0; level < key.length; level += 1) {
    const value = key[level];
    if (level > 0) out.putByte(COMMA);
    if (typeof value === 'string') {
      out.putBytes(TEXT_MARK);
      if (!out.putPlain(value)) {
        out.clear(length);
        return putAnyKey(out, key);
      }
      out.putBytes(TEXT_MARK);
    } else {
      assert(typeof value !== 'number' || Number.isFinite(value), 'JSON can spell a key');
      out.putText(value === undefined ? '{}' : JSON.stringify(value));
    }
  }
  out.putBytes(KEY_CLOSE);
}

/**
 * Writes a key that has a text with escapes or with other characters than ASCII. The key becomes JSON, and this JSON
 * becomes a JSON string.
 */
function putAnyKey(out: ByteOutput, key: Key): void {
  out.putText(JSON.stringify(JSON.stringify(key.map((value) => (value === undefined ? {} : value)))));
}
