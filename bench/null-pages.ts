/**
 * Pages of a change feed that cost the server almost nothing: a page is built once, then a few digits of each
 * document are overwritten in place. Invariant: each document of a container has its own id, etag and LSN, and all
 * documents have the same size.
 */
import { documentTemplate } from './documents.ts';

export const PAGE_DOCUMENTS = 1000;
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

const DOCUMENT = `${documentTemplate()
  .replace('tenant-0042', 'tenant-%%%%')
  .slice(
    0,
    -1,
  )},"_rid":"a1B2AO~~~~~~~~AAAA==","_self":"dbs/a1B2AA==/colls/a1B2AOx7xJA=/docs/a1B2AO~~~~~~~~AAAA==/","_etag":"\\"~~~~~~~~-0000-0700-0000-65a1f3d20000\\"","_attachments":"attachments/","_ts":1705112530,"_lsn":^^^^^^^^}`;

/** Where the marks of a document are, in characters. */
const AT = {
  id: DOCUMENT.indexOf('########'),
  device: DOCUMENT.indexOf('@@@@@@'),
  tenant: DOCUMENT.indexOf('%%%%'),
  rid: DOCUMENT.indexOf('~~~~~~~~'),
  self: DOCUMENT.indexOf('~~~~~~~~', DOCUMENT.indexOf('_self')),
  etag: DOCUMENT.indexOf('~~~~~~~~', DOCUMENT.indexOf('_etag')),
  lsn: DOCUMENT.indexOf('^^^^^^^^'),
};
// Offsets in bytes, which are larger than offsets in characters behind the letters that take two bytes in UTF-8.
const bytesBefore = (at: number): number => Buffer.byteLength(DOCUMENT.slice(0, at));
const PLACES = Object.fromEntries(
  Object.entries(AT).map(([name, at]) => [name, bytesBefore(at)]),
) as typeof AT;

const HEAD = Buffer.from('{"_rid":"a1B2AOx7xJA=","Documents":[');
const BLOCK = Buffer.from(`${DOCUMENT},`);
const TEMPLATE = Buffer.concat([HEAD, ...Array.from({ length: PAGE_DOCUMENTS }, () => BLOCK)]);
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

export class Pages {
  readonly #idle: Buffer[] = [];

  /** Returns a page with `count` documents of a range, beginning with number `first`. */
  lend(part: Part, first: number, count: number): Lent {
    const buffer = this.#idle.pop() ?? Buffer.concat([TEMPLATE, Buffer.alloc(TAIL_ROOM)]);
    for (let i = 0; i < count; i += 1) fill(buffer, HEAD.length + i * BLOCK.length, part, first + i);
    const end = HEAD.length + count * BLOCK.length - 1; // without the last comma
    const length = end + buffer.write(`],"_count":${count}}`, end, 'latin1');
    return {
      bytes: buffer.subarray(0, length),
      free: () => {
        TEMPLATE.copy(buffer, end, end, Math.min(TEMPLATE.length, length));
        this.#idle.push(buffer);
      },
    };
  }
}

function fill(buffer: Buffer, at: number, { range, ranges }: Part, n: number): void {
  const number = n * ranges + range;
  digits(buffer, at + PLACES.id, 8, number);
  digits(buffer, at + PLACES.device, 6, (number * 31) % DEVICES);
  digits(buffer, at + PLACES.tenant, 4, (number * 7919) % TENANTS);
  digits(buffer, at + PLACES.rid, 8, number);
  digits(buffer, at + PLACES.self, 8, number);
  digits(buffer, at + PLACES.etag, 8, number);
  digits(buffer, at + PLACES.lsn, 8, FIRST_LSN + 1 + n);
}

function digits(buffer: Buffer, at: number, count: number, value: number): void {
  let rest = value;
  for (let i = at + count - 1; i >= at; i -= 1) {
    const tenth = Math.trunc(rest / 10);
    buffer[i] = 0x30 + rest - tenth * 10;
    rest = tenth;
  }
}
