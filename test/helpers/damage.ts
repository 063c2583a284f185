/** Damages a database file, its log and its index of the log as failing disks, operators and copies do. */
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import type { Random } from '../../src/lib/random.ts';

const PAGE_BYTES = 4096;
const SECTOR_BYTES = 512;
/** The log is this header, then frames: a header of 24 bytes and a page each. */
const LOG_HEADER_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;

/** Earlier states of the database and of its log, which a damage may put back. */
export interface OlderFiles {
  readonly wal: readonly Buffer[];
  readonly database?: readonly Buffer[];
}

type Damage = (path: string, random: Random, older: OlderFiles) => string | undefined;

function edited(path: string, edit: (bytes: Buffer) => string | undefined): string | undefined {
  const bytes = readFileSync(path);
  const what = edit(bytes);
  if (what !== undefined) writeFileSync(path, bytes);
  return what;
}

function pageOf(bytes: Buffer, page: number): Buffer {
  return bytes.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
}

/** The file to damage: the log is damaged as often as the database, if it is there. */
function one(path: string, random: Random): string {
  const wal = `${path}-wal`;
  return existsSync(wal) && readFileSync(wal).length > 0 && random.below(2) === 0 ? wal : path;
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  'a zeroed sector': (path, random) => {
    const file = one(path, random);
    return edited(file, (bytes) => {
      const at = random.below(Math.ceil(bytes.length / SECTOR_BYTES)) * SECTOR_BYTES;
      bytes.fill(0, at, at + SECTOR_BYTES);
      return `${file.slice(path.length)} at ${at}`;
    });
  },
  'a zeroed sector at the end of a page': (path, random) =>
    edited(path, (bytes) => {
      const page = random.below(bytes.length / PAGE_BYTES);
      bytes.fill(0, (page + 1) * PAGE_BYTES - SECTOR_BYTES, (page + 1) * PAGE_BYTES);
      return `page ${page}`;
    }),
  'a zeroed page': (path, random) =>
    edited(path, (bytes) => {
      const page = random.below(bytes.length / PAGE_BYTES);
      bytes.fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
      return `page ${page}`;
    }),
  'a page over another': (path, random) =>
    edited(path, (bytes) => {
      const pages = bytes.length / PAGE_BYTES;
      const [from, to] = [random.below(pages), random.below(pages)];
      bytes.copy(bytes, to * PAGE_BYTES, from * PAGE_BYTES, (from + 1) * PAGE_BYTES);
      return `page ${from} over ${to}`;
    }),
  'two pages for each other': (path, random) =>
    edited(path, (bytes) => {
      const pages = bytes.length / PAGE_BYTES;
      const [one, other] = [random.below(pages), random.below(pages)];
      const page = Buffer.from(pageOf(bytes, one));
      pageOf(bytes, other).copy(pageOf(bytes, one));
      page.copy(pageOf(bytes, other));
      return `page ${one} and ${other}`;
    }),
  'an older page': (path, random, { database = [] }) =>
    edited(path, (bytes) => {
      const older = database[random.below(database.length)] ?? Buffer.of();
      const pages = Math.min(bytes.length, older.length) / PAGE_BYTES;
      const changed = Array.from({ length: pages }, (_, page) => page).filter(
        (page) => !pageOf(bytes, page).equals(pageOf(older, page)),
      );
      if (changed.length === 0) return undefined;
      const page = changed[random.below(changed.length)] ?? 0;
      pageOf(older, page).copy(pageOf(bytes, page));
      return `page ${page}`;
    }),
  'an older database': (path, random, { database = [] }) => {
    const older = database[random.below(database.length)];
    if (older === undefined) return undefined;
    writeFileSync(path, older);
    return `of ${older.length} bytes`;
  },
  'a frame of the log over another': (path, random) => {
    const log = `${path}-wal`;
    if (!existsSync(log)) return undefined;
    return edited(log, (bytes) => {
      const frames = Math.floor((bytes.length - LOG_HEADER_BYTES) / FRAME_BYTES);
      if (frames < 2) return undefined;
      const [from, to] = [random.below(frames), random.below(frames)];
      const start = LOG_HEADER_BYTES + from * FRAME_BYTES;
      bytes.copy(bytes, LOG_HEADER_BYTES + to * FRAME_BYTES, start, start + FRAME_BYTES);
      return `frame ${from} over ${to}`;
    });
  },
  'flipped bits': (path, random) => {
    const file = one(path, random);
    return edited(file, (bytes) => {
      const places = Array.from({ length: 1 + random.below(3) }, () => random.below(bytes.length));
      for (const at of places) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return `${file.slice(path.length)} at ${places.join()}`;
    });
  },
  garbage: (path, random) => {
    const file = one(path, random);
    return edited(file, (bytes) => {
      const at = random.below(bytes.length);
      const end = Math.min(bytes.length, at + 1 + random.below(5000));
      for (let i = at; i < end; i += 1) bytes[i] = random.below(256);
      return `${file.slice(path.length)} from ${at} to ${end}`;
    });
  },
  'cut off': (path, random) => {
    const file = one(path, random);
    const to = random.below(readFileSync(file).length);
    truncateSync(file, to);
    return `${file.slice(path.length)} to ${to}`;
  },
  'cut off at a page': (path, random) => {
    const to = random.below(readFileSync(path).length / PAGE_BYTES) * PAGE_BYTES;
    truncateSync(path, to);
    return `to ${to}`;
  },
  'the log removed': (path) => {
    if (!existsSync(`${path}-wal`)) return undefined;
    rmSync(`${path}-wal`);
    return '';
  },
  'an older log': (path, random, { wal }) => {
    const older = wal[random.below(wal.length)];
    if (older === undefined || !existsSync(`${path}-wal`)) return undefined;
    writeFileSync(`${path}-wal`, older);
    return `of ${older.length} bytes`;
  },
  'the log and its index removed': (path) => {
    if (!existsSync(`${path}-wal`)) return undefined;
    for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true });
    return '';
  },
  'a damaged index of the log': (path, random) => {
    if (!existsSync(`${path}-shm`)) return undefined;
    return edited(`${path}-shm`, (bytes) => {
      for (let i = 0; i < bytes.length; i += 1 + random.below(64)) bytes[i] = random.below(256);
      return '';
    });
  },
};

const ENDINGS = ['', '-wal', '-shm'];

function bytesOf(path: string): Buffer {
  return Buffer.concat(
    ENDINGS.map((ending) => (existsSync(path + ending) ? readFileSync(path + ending) : Buffer.of(0))),
  );
}

/** Does one random damage that changes something; returns a description. */
export function damage(path: string, random: Random, older: OlderFiles = { wal: [] }): string {
  const names = Object.keys(DAMAGES);
  const before = bytesOf(path);
  for (;;) {
    const name = names[random.below(names.length)] ?? '';
    const what = DAMAGES[name]?.(path, random, older);
    if (what !== undefined && !bytesOf(path).equals(before)) return `${name} ${what}`.trim();
  }
}
