/**
 * Pages of a change feed that cost the server almost nothing: a page is built once, then a few digits of each
 * document are overwritten in place. Invariant: each document of a container has its own id, etag and LSN, and all
 * its documents have the same size.
 */
import { documentTemplate } from './documents.ts';

const PAGE_DOCUMENTS = 1000;
/** How many ranges a source has, unless its name says another number. */
export const RANGES = 8;
/**
 * The LSN before the first document. It is this large so that every LSN has eight digits, since a number in JSON
 * cannot have leading zeros.
 */
export const FIRST_LSN = 10_000_000;

/** The numbers of distinct keys in source and target. Many documents share each key. */
const DEVICES = 1_000_000;
const TENANTS = 10_000;

const MARKS =
  '"_rid":"a1B2AO~~~~~~~~AAAA==","_self":"dbs/a1B2AA==/colls/a1B2AOx7xJA=/docs/a1B2AO~~~~~~~~AAAA==/","_etag":"\\"~~~~~~~~-0000-0700-0000-65a1f3d20000\\"","_attachments":"attachments/","_ts":1705112530,"_lsn":^^^^^^^^}';
/** The most bytes of a page, as with the service. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

const HEAD = Buffer.from('{"_rid":"a1B2AOx7xJA=","Documents":[');
const TAIL_ROOM = 32;

/** A range of a container that has so many ranges. */
export interface Part {
  readonly range: number;
  readonly ranges: number;
}

/** Returns how many documents of a container are in one of its ranges. */
export function documentsIn({ range, ranges }: Part, documents: number): number {
  return Math.floor((documents + ranges - 1 - range) / ranges);
}

/** A page in memory. After a call of `free`, its memory is used for another page. */
export interface Lent {
  readonly bytes: Buffer;
  readonly free: () => void;
}

/** Pages with documents of one size. */
export class Pages {
  /** How many documents a page has at most. */
  readonly documentsMax: number;
  readonly #block: Buffer;
  readonly #template: Buffer;
  /** Where the marks of a document are, in bytes. */
  readonly #places;
  readonly #idle: Buffer[] = [];

  constructor(sizeBytes: number) {
    const own = documentTemplate(sizeBytes).replace('tenant-0042', 'tenant-%%%%').slice(0, -1);
    const document = `${own},${MARKS}`;
    // Offsets in bytes are larger than those in characters behind the letters that take two bytes in UTF-8.
    const placeOf = (mark: string, after = ''): number =>
      Buffer.byteLength(document.slice(0, document.indexOf(mark, document.indexOf(after))));
    this.#places = {
      id: placeOf('########'),
      device: placeOf('@@@@@@'),
      tenant: placeOf('%%%%'),
      rid: placeOf('~~~~~~~~'),
      self: placeOf('~~~~~~~~', '_self'),
      etag: placeOf('~~~~~~~~', '_etag'),
      lsn: placeOf('^^^^^^^^'),
    };
    this.#block = Buffer.from(`${document},`);
    this.documentsMax = Math.min(PAGE_DOCUMENTS, Math.floor(PAGE_BYTES_MAX / this.#block.length));
    this.#template = Buffer.concat([HEAD, ...Array.from({ length: this.documentsMax }, () => this.#block)]);
  }

  /** Returns a page with `count` documents of a range, beginning with number `first`. */
  lend(part: Part, first: number, count: number): Lent {
    const template = this.#template;
    const buffer = this.#idle.pop() ?? Buffer.concat([template, Buffer.alloc(TAIL_ROOM)]);
    const size = this.#block.length;
    for (let i = 0; i < count; i += 1) this.#fill(buffer, HEAD.length + i * size, part, first + i);
    const end = HEAD.length + count * size - 1; // without the last comma
    const length = end + buffer.write(`],"_count":${count}}`, end, 'latin1');
    return {
      bytes: buffer.subarray(0, length),
      free: () => {
        template.copy(buffer, end, end, Math.min(template.length, length));
        this.#idle.push(buffer);
      },
    };
  }

  #fill(buffer: Buffer, at: number, { range, ranges }: Part, n: number): void {
    const places = this.#places;
    const number = n * ranges + range;
    digits(buffer, at + places.id, 8, number);
    digits(buffer, at + places.device, 6, (number * 31) % DEVICES);
    digits(buffer, at + places.tenant, 4, (number * 7919) % TENANTS);
    digits(buffer, at + places.rid, 8, number);
    digits(buffer, at + places.self, 8, number);
    digits(buffer, at + places.etag, 8, number);
    digits(buffer, at + places.lsn, 8, FIRST_LSN + 1 + n);
  }
}

function digits(buffer: Buffer, at: number, count: number, value: number): void {
  let rest = value;
  for (let i = at + count - 1; i >= at; i -= 1) {
    const tenth = Math.trunc(rest / 10);
    buffer[i] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
}
